"""Self-reflection: judge whether the search results suffice, and search again with keywords.

Source: section 3.2 and appendix C.3. Without a model there is one search: adding words of its
results to a second one (pseudo-relevance feedback) found no more evidence.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from theanine.errors import UnusableReply
from theanine.llm.bounds import ReplyBounds, number_list
from theanine.llm.parsing import InvalidReply
from theanine.llm.prompt import load_prompt
from theanine.llm.published import partition_label
from theanine.methods.shared.provenance import dialogue_sessions
from theanine.sentences import sentence_spans
from theanine.text.formatting import (
    day_label,
    format_day,
    format_dialogue,
    group_by_day,
    one_line,
)
from theanine.text.numbering import copied_lines, copying_tokens
from theanine.types import Memory, Utterance

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

MAX_KEYWORDS = 12
"""Maximum keywords used of one reflection; the prompt asks for at most 8."""
KEYWORD_LIMIT = 60
"""Maximum characters of a keyword."""

SearchResults = Sequence[tuple[Memory, float]]
"""Memories with their scores, best first."""
Search = Callable[[str], Awaitable[SearchResults]]
"""Searches memories for a query."""
SourceSessions = Callable[[Sequence[Memory]], set[int]]
"""Returns the ids of the sessions that memories may quote."""


Selected = tuple[Memory, float, str]
"""A memory with its score, and the words of it that were selected."""
Copies = Literal["sentences", "memories"]
"""The unit that a reflection selects and copies."""


@dataclass(frozen=True, slots=True)
class Reflected:
    """The result of a search with reflections.

    Attributes:
        query: the last query.
        selected: what was selected of its results, best first.
        notes: why nothing was selected, if no reply was usable.
    """

    query: str
    selected: Sequence[Selected]
    notes: tuple[str, ...] = ()


class Reflection(BaseModel):
    """The model's verdict on search results."""

    enough: bool = Field(description="whether it is enough to answer")
    relevant: list[int] = Field(description="numbers of what bears on the last thing said")
    keywords: list[str] = Field(description="words that the missing memory is likely to contain")


def _published(reply: str, values: Mapping[str, str]) -> dict[str, object]:
    """Read what is copied out of the search results behind Memory:, or keywords behind Query:."""
    _, enough, copied = partition_label(reply, "Memory")
    _, missing, keywords = partition_label(reply, "Query")
    if enough == missing:
        raise InvalidReply("it needs <Memory>: or <Query>:, and not both")
    return {
        "enough": enough,
        "relevant": copied_lines(copied, values["found"]),
        "keywords": [word for part in keywords.split(",") if (word := part.strip(" .\n"))],
    }


_PACKAGE = "theanine_methods.conditional"
REFLECT_MEMORIES = load_prompt(_PACKAGE, "conditional-reflect", 1, Reflection, published=_published)
REFLECT_SENTENCES = load_prompt(
    _PACKAGE, "conditional-reflect", 2, Reflection, published=_published
)


async def search_and_reflect(
    search: Search,
    query: str,
    dialogue: Sequence[Utterance],
    chat: ScopedChat | None,
    *,
    rounds: int,
    copies: Copies,
    source_sessions: SourceSessions,
) -> Reflected:
    """Search, and reflect up to ``rounds`` times.

    If the model finds the results sufficient, only what is relevant of them is returned. Reflection
    also ends when there are no new keywords, when they lead to the same results, and when no reply
    of the model is usable, which is noted. Raises ModelError when the model can't be reached.
    """
    results = await search(query)
    for _ in range(rounds):
        if chat is None or not results:
            break
        excerpts = _excerpts(results, copies)
        try:
            verdict = await _reflect(excerpts, dialogue, chat, copies, source_sessions)
        except UnusableReply as error:
            note = f"nothing was selected from what was found: {error}"
            return Reflected(query, _whole(results), (note,))
        if verdict.enough:
            return Reflected(query, _select(excerpts, verdict.relevant))
        extended = extend_query(query, verdict.keywords)
        if extended == query:
            break
        new_results = await search(extended)
        if {memory.id for memory, _ in new_results} == {memory.id for memory, _ in results}:
            break
        query, results = extended, new_results
    return Reflected(query, _whole(results))


def extend_query(query: str, keywords: Sequence[str]) -> str:
    """Append the keywords that the query lacks, on a line of their own."""
    folded = query.casefold()
    cleaned = (one_line(keyword, KEYWORD_LIMIT) for keyword in keywords[:MAX_KEYWORDS])
    new = [keyword for keyword in cleaned if keyword and keyword.casefold() not in folded]
    return "\n".join([query, " ".join(dict.fromkeys(new))]) if new else query


def _whole(results: SearchResults) -> list[Selected]:
    return [(memory, score, one_line(memory.text)) for memory, score in results]


def _excerpts(results: SearchResults, copies: Copies) -> list[Selected]:
    """Return what can be selected: the results, or their sentences, best result first."""
    whole = _whole(results)
    if copies == "memories":
        return whole
    return [
        (memory, score, text[start:end])
        for memory, score, text in whole
        for start, end in sentence_spans(text)
    ]


def _select(excerpts: Sequence[Selected], numbers: Sequence[int]) -> list[Selected]:
    """Return each memory of which something is selected, with all that is, in its order."""
    selected: dict[int, Selected] = {}
    for number in sorted(set(numbers)):
        memory, score, text = excerpts[number - 1]
        if memory.id in selected:
            text = f"{selected[memory.id][2]} {text}"
        selected[memory.id] = (memory, score, text)
    return list(selected.values())


async def _reflect(
    excerpts: Sequence[Selected],
    dialogue: Sequence[Utterance],
    chat: ScopedChat,
    copies: Copies,
    source_sessions: SourceSessions,
) -> Reflection:
    if copies == "memories":
        found = "\n".join(
            f"[{number}] {format_day(memory.at, memory.dated)}{text}"
            for number, (memory, _, text) in enumerate(excerpts, 1)
        )
    else:
        order = {id: n for n, id in enumerate(dict.fromkeys(m.id for m, _, _ in excerpts), 1)}
        found = group_by_day(
            (f"M{order[memory.id]}, {day_label(memory.at, memory.dated)}", f"[{number}] {text}")
            for number, (memory, _, text) in enumerate(excerpts, 1)
        )
    step = REFLECT_MEMORIES if copies == "memories" else REFLECT_SENTENCES
    tokens = 100 + 15 * (len(excerpts) + MAX_KEYWORDS)
    if chat.replaced(step).in_published_form:
        tokens = copying_tokens(found)
    return await chat.ask(
        step,
        source_sessions=dialogue_sessions(dialogue)
        | source_sessions([memory for memory, _, _ in excerpts]),
        check=partial(_fault, len(excerpts)),
        bounds=ReplyBounds(
            tokens,
            {
                **number_list("relevant", 1, len(excerpts), len(excerpts)),
                "keywords": {"maxItems": MAX_KEYWORDS},
                "keywords[]": {"maxLength": KEYWORD_LIMIT},
            },
        ),
        dialogue=format_dialogue(dialogue),
        last=format_dialogue(dialogue[-1:]),
        found=found,
    )


def _fault(count: int, verdict: Reflection) -> str | None:
    if not verdict.enough:
        missing = not any(keyword.strip() for keyword in verdict.keywords)
        return "it is not enough, but no keywords say what is missing" if missing else None
    if strange := sorted(set(verdict.relevant) - set(range(1, count + 1))):
        return f"there are no {strange} among what was found, only 1 to {count}"
    return None
