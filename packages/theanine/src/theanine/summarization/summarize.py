"""Summarize a session as statements, each with its source turns: by a model, or locally."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.bounds import ReplyBounds, one_of
from theanine.llm.prompt import load_prompt
from theanine.summarization import local_summarize
from theanine.text.formatting import format_speaker
from theanine.text.numbering import (
    Line,
    ask_windows,
    format_numbered,
    merge_repeated,
    most_notes,
    note_fault,
    split_windows,
    turn_numbers,
)
from theanine.text.words import containment, content_words
from theanine.types import NewMemory, Turn

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

STATEMENT_LIMIT = 600
"""Maximum characters of a statement; the prompt asks for 60 words."""
WRITTEN_LIMIT = 480
"""Characters to which a schema bounds a statement: 60 long words."""
WRITTEN_TOKENS = 220
"""Tokens of a statement of this length, with its speakers and turns, in indented JSON."""
REPEATED = 0.75
"""A statement with this share of its content words in recalled memories only repeats them."""
JOINED_WORDS = 2
"""Content words that a statement has in common with each memory that it repeats."""


class Statement(BaseModel):
    """One statement of the model's reply."""

    text: str = Field(description="the statement, third person")
    speakers: list[str] = Field(description="names of those it is about")
    turns: list[int] = Field(description="numbers of the turns that support it")


class Summary(BaseModel):
    """The model's reply for one window of a session."""

    statements: list[Statement]


SUMMARIZE = load_prompt("theanine.summarization", "summarize", 1, Summary)


async def summarize(
    turns: Sequence[Turn],
    chat: ScopedChat | None,
    *,
    recalled: Mapping[int, str] | None = None,
) -> list[NewMemory]:
    """Return the statements of one session; without a chat model, quotes.

    ``recalled`` are the texts, by id, of the memories in the assistant's prompts of the session: a
    statement that only repeats one of them is dropped. Raises ModelError when the model fails.
    """
    if chat is None:
        memories = local_summarize(turns, keep_notes=True)
    else:
        summaries = await ask_windows(SUMMARIZE, turns, chat, _fault, _bounds)
        memories = [
            _memory(statement, turns, chat.model)
            for summary in summaries
            for statement in merge_repeated(summary.statements, lambda written: written.text)
        ]
    return drop_recalled(memories, turns, recalled or {})


async def is_summarized(turns: Sequence[Turn], chat: ScopedChat) -> bool:
    """Whether the journal has the replies that :func:`summarize` would ask for."""
    for window in split_windows(turns):
        if not await chat.is_journalled(SUMMARIZE, turns=format_numbered(window)):
            return False
    return True


def drop_recalled(
    memories: Sequence[NewMemory], turns: Sequence[Turn], texts: Mapping[int, str]
) -> list[NewMemory]:
    """Drop memories that only repeat what the assistant had just recalled.

    A memory is dropped if all its source turns are the assistant's with recalled memories, and at
    least ``REPEATED`` of its content words are in the texts of these, of which each has
    ``JOINED_WORDS`` of them or more: one reply may join several memories.
    """
    by_id = {turn.id: turn for turn in turns}

    def repeats(memory: NewMemory) -> bool:
        sources = [by_id[source] for source in memory.source_turns]
        if not sources or any(turn.role != "assistant" or not turn.recalled for turn in sources):
            return False
        content = content_words(memory.text) - content_words(" ".join(memory.speakers))
        recalled = {id for turn in sources for id in turn.recalled if id in texts}
        shared = [content & content_words(texts[id]) for id in recalled]
        fewest = min(JOINED_WORDS, len(content))
        joined = frozenset[str]().union(*(words for words in shared if len(words) >= fewest))
        return containment(content, joined) >= REPEATED

    return [memory for memory in memories if not repeats(memory)]


def _bounds(window: Sequence[Line]) -> ReplyBounds:
    most = most_notes(window)
    names = list(dict.fromkeys(format_speaker(line.turn.speaker) for line in window))
    return ReplyBounds(
        50 + WRITTEN_TOKENS * most,
        {
            "statements": {"maxItems": most},
            "statements[].text": {"minLength": 1, "maxLength": WRITTEN_LIMIT},
            "statements[].speakers": {"maxItems": len(names)},
            "statements[].speakers[]": one_of(names),
            **turn_numbers("statements[].turns", window, least=1),
        },
    )


def _fault(window: Sequence[Line], summary: Summary) -> str | None:
    limit = max(12, 2 * len(window))
    if len(summary.statements) > limit:
        return f"{len(summary.statements)} statements are too many: keep at most {limit}"
    names = {format_speaker(line.turn.speaker).casefold() for line in window}
    for position, statement in enumerate(summary.statements, 1):
        fault = note_fault(statement.text, statement.turns, window, limit=STATEMENT_LIMIT)
        strangers = [s for s in statement.speakers if format_speaker(s).casefold() not in names]
        if not fault and strangers:
            fault = f"{strangers} do not speak here; the speakers are {sorted(names)}"
        if fault:
            return f"statement {position}: {fault}"
    return None


def _memory(statement: Statement, turns: Sequence[Turn], model: str) -> NewMemory:
    sources = [turns[number - 1] for number in sorted(set(statement.turns))]
    names = {format_speaker(turn.speaker).casefold(): turn.speaker for turn in turns}
    subjects = [names[format_speaker(speaker).casefold()] for speaker in statement.speakers]
    return NewMemory(
        text=" ".join(statement.text.split()),
        at=max(turn.at for turn in sources),
        source_turns=tuple(sorted(turn.id for turn in sources)),
        speakers=tuple(dict.fromkeys(subjects or [turn.speaker for turn in sources])),
        made_by=model,
        prompt=SUMMARIZE.label,
    )
