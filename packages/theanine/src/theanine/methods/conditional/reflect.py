"""Self-reflection: judge whether the search results suffice, and search again with keywords.

Source: section 3.2 and appendix C.3. Without a model there is one search: adding words of its
results to a second one (pseudo-relevance feedback) found no more evidence.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.bounds import ReplyBounds, number_list
from theanine.llm.prompt import load_prompt
from theanine.methods.shared.provenance import dialogue_sessions
from theanine.text.formatting import format_day, format_dialogue, one_line
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


class Reflection(BaseModel):
    """The model's verdict on search results."""

    enough: bool = Field(description="whether it is enough to answer")
    relevant: list[int] = Field(description="numbers of what bears on the last thing said")
    keywords: list[str] = Field(description="words that the missing memory is likely to contain")


REFLECT = load_prompt("theanine.methods.conditional", "conditional-reflect", 1, Reflection)


async def search_and_reflect(
    search: Search,
    query: str,
    dialogue: Sequence[Utterance],
    chat: ScopedChat | None,
    *,
    rounds: int,
    source_sessions: SourceSessions,
) -> tuple[str, SearchResults]:
    """Search, and reflect up to ``rounds`` times; return the last query and its results.

    If the model finds the results sufficient, only the relevant ones are returned. Reflection also
    ends when there are no new keywords, or when they lead to the same results. Raises ModelError
    when the model fails.
    """
    results = await search(query)
    for _ in range(rounds):
        if chat is None or not results:
            break
        verdict = await _reflect(results, dialogue, chat, source_sessions)
        if verdict.enough:
            return query, [results[number - 1] for number in sorted(set(verdict.relevant))]
        extended = extend_query(query, verdict.keywords)
        if extended == query:
            break
        new_results = await search(extended)
        if {memory.id for memory, _ in new_results} == {memory.id for memory, _ in results}:
            break
        query, results = extended, new_results
    return query, results


def extend_query(query: str, keywords: Sequence[str]) -> str:
    """Append the keywords that the query lacks, on a line of their own."""
    folded = query.casefold()
    cleaned = (one_line(keyword, KEYWORD_LIMIT) for keyword in keywords[:MAX_KEYWORDS])
    new = [keyword for keyword in cleaned if keyword and keyword.casefold() not in folded]
    return "\n".join([query, " ".join(dict.fromkeys(new))]) if new else query


async def _reflect(
    results: SearchResults,
    dialogue: Sequence[Utterance],
    chat: ScopedChat,
    source_sessions: SourceSessions,
) -> Reflection:
    formatted = "\n".join(
        f"[{number}] {format_day(memory.at, memory.dated)}{one_line(memory.text)}"
        for number, (memory, _) in enumerate(results, 1)
    )
    return await chat.ask(
        REFLECT,
        source_sessions=dialogue_sessions(dialogue)
        | source_sessions([memory for memory, _ in results]),
        check=partial(_fault, len(results)),
        bounds=ReplyBounds(
            100 + 15 * (len(results) + MAX_KEYWORDS),
            {
                **number_list("relevant", 1, len(results), len(results)),
                "keywords": {"maxItems": MAX_KEYWORDS},
                "keywords[]": {"maxLength": KEYWORD_LIMIT},
            },
        ),
        dialogue=format_dialogue(dialogue),
        found=formatted,
    )


def _fault(count: int, verdict: Reflection) -> str | None:
    if not verdict.enough:
        missing = not any(keyword.strip() for keyword in verdict.keywords)
        return "it is not enough, but no keywords say what is missing" if missing else None
    if strange := sorted(set(verdict.relevant) - set(range(1, count + 1))):
        return f"there are no {strange} among what was found, only 1 to {count}"
    return None
