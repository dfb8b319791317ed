"""Self-reflection: is what was found enough, and if not, which words would find the rest?

Source: section 3.2 and appendix C.3 of the paper. Without a model the search simply stops: lending
the words of what was found to a second search (pseudo-relevance feedback) found no more evidence.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.prompt import load_prompt
from theanine.text.formatting import dialogue_sessions, format_day, format_dialogue, one_line
from theanine.types import Memory, Utterance

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

MOST_KEYWORDS = 12
"""Keywords that one reflection may add; the prompt asks for 8 at most."""
LONGEST_KEYWORD = 60
"""Characters of one keyword."""

Found = Sequence[tuple[Memory, float]]
"""Memories with their scores, best first."""
Search = Callable[[str], Awaitable[Found]]
"""Finds memories for a query."""


class Reflection(BaseModel):
    """The model's verdict on what was found."""

    enough: bool = Field(description="whether it is enough to answer")
    relevant: list[int] = Field(description="numbers of what bears on the last thing said")
    keywords: list[str] = Field(description="words that the missing memory is likely to contain")


REFLECT = load_prompt("theanine.methods.conditional", "conditional-reflect", 1, Reflection)


@dataclass(frozen=True, slots=True)
class Scene:
    """What a reflection looks at beside what was found.

    Attributes:
        dialogue: the talk going on.
        undated: numbers of sessions whose dates are not shown.
        sessions_behind: the sessions that a memory's words come from.
    """

    dialogue: Sequence[Utterance]
    undated: Collection[int]
    sessions_behind: Callable[[Memory], Awaitable[set[int]]]


async def search_and_reflect(
    search: Search, query: str, scene: Scene, rounds: int, caller: ScopedChat | None
) -> tuple[str, Found]:
    """What is found for the query, or a longer one, and relevant; with the query that found it.

    Each round asks whether that is enough. It ends there when it is, with what is relevant; when
    the keywords are none that the query lacks, or find nothing else; or after ``rounds``: what the
    last search found is then given as it is, as it always is without a caller.
    Raises ModelError when the model fails or keeps answering unusably.
    """
    found = await search(query)
    for _ in range(rounds):
        if caller is None or not found:
            break
        verdict = await _ask(found, scene, caller)
        if verdict.enough:
            return query, [found[number - 1] for number in sorted(set(verdict.relevant))]
        longer = extended(query, verdict.keywords)
        if longer == query:
            break
        again = await search(longer)
        if {memory.id for memory, _ in again} == {memory.id for memory, _ in found}:
            break
        query, found = longer, again
    return query, found


def extended(query: str, keywords: Sequence[str]) -> str:
    """The query with those keywords that are not in it, on a line of their own."""
    known = query.casefold()
    cleaned = (one_line(keyword, LONGEST_KEYWORD) for keyword in keywords[:MOST_KEYWORDS])
    fresh = [keyword for keyword in cleaned if keyword and keyword.casefold() not in known]
    return "\n".join([query, " ".join(dict.fromkeys(fresh))]) if fresh else query


async def _ask(found: Found, scene: Scene, caller: ScopedChat) -> Reflection:
    touches = dialogue_sessions(scene.dialogue)
    for memory, _ in found:
        touches |= await scene.sessions_behind(memory)
    shown = "\n".join(
        f"[{number}] {format_day(memory.at, memory.dated)}{one_line(memory.text)}"
        for number, (memory, _) in enumerate(found, 1)
    )
    return await caller.ask(
        REFLECT,
        source_sessions=touches,
        check=partial(_fault, len(found)),
        dialogue=format_dialogue(scene.dialogue),
        found=shown,
    )


def _fault(count: int, verdict: Reflection) -> str | None:
    if not verdict.enough:
        missing = not any(keyword.strip() for keyword in verdict.keywords)
        return "it is not enough, but no keywords say what is missing" if missing else None
    if strange := sorted(set(verdict.relevant) - set(range(1, count + 1))):
        return f"there are no {strange} among what was found, only 1 to {count}"
    return None
