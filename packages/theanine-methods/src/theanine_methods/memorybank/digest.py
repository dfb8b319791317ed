"""Digests by the model: a day's events and traits in one call, and the global digests.

Source: the paper's daily event summaries and personality insights, and their global summaries.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.bounds import Keywords, ReplyBounds
from theanine.llm.prompt import PromptTemplate, load_prompt
from theanine.text.formatting import group_by_day, one_line
from theanine.text.numbering import (
    Line,
    format_numbered,
    merge_repeated,
    note_fault,
    split_windows,
    turn_numbers,
)
from theanine.types import Turn

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

MAX_ENTRIES = 12
ENTRY_LIMIT = 500
"""Maximum characters of an entry; the prompt asks for 40 words."""
GLOBAL_LIMIT = 2_000
"""Maximum characters of a global digest; the prompt asks for 150 words."""
NOTHING = "(nothing)"


class Entry(BaseModel):
    """One line of a day's digest."""

    text: str = Field(description="the entry")
    turns: list[int] = Field(description="numbers of the turns that support it")


class Page(BaseModel):
    """The model's reply for a day."""

    events: list[Entry]
    traits: list[Entry]


_PACKAGE = "theanine_methods.memorybank"
DAY = load_prompt(_PACKAGE, "bank-day", 1, Page)
ALL_EVENTS = load_prompt(_PACKAGE, "bank-events", 1, str, ReplyBounds(600))
ALL_TRAITS = load_prompt(_PACKAGE, "bank-portrait", 1, str, ReplyBounds(600))


@dataclass(frozen=True, slots=True)
class DayDigest:
    """A day's events, or its traits: lines, and the session's turns that support them."""

    lines: tuple[str, ...] = ()
    source_turns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DayLine:
    """One line of a day's digest, with the label of its day."""

    day: str
    text: str


async def digest_day(
    turns: Sequence[Turn],
    before: tuple[Sequence[str], Sequence[str]],
    chat: ScopedChat,
    *,
    source_sessions: Collection[int] = (),
) -> tuple[DayDigest, DayDigest]:
    """Return the day's events and traits, made from a session and the lines of both ``before`` it.

    A very long session is added window by window. ``source_sessions`` are the sessions that
    ``before`` may quote. Raises ModelError when the model fails.
    """
    events, traits = (DayDigest(tuple(lines)) for lines in before)
    for window in split_windows(turns):
        page = await chat.ask(
            DAY,
            source_sessions={*source_sessions, *(line.turn.session for line in window)},
            check=partial(_page_fault, window, (bool(events.lines), bool(traits.lines))),
            bounds=_page_bounds(window),
            events="\n".join(map(one_line, events.lines)) or NOTHING,
            traits="\n".join(map(one_line, traits.lines)) or NOTHING,
            turns=format_numbered(window),
        )
        events = _update(events, page.events, window)
        traits = _update(traits, page.traits, window)
    return events, traits


async def digest_all(
    prompt: PromptTemplate[str],
    days: Sequence[DayLine],
    before: str,
    chat: ScopedChat,
    *,
    source_sessions: Collection[int],
) -> str:
    """Return a global digest of the lines of days, oldest first, and of the digest ``before`` them.

    ``source_sessions`` are the sessions that these may quote. Raises ModelError.
    """
    return await chat.ask(
        prompt,
        source_sessions=source_sessions,
        check=_digest_fault,
        before=one_line(before) or NOTHING,
        days=group_by_day((line.day, one_line(line.text)) for line in days),
    )


def _update(digest: DayDigest, entries: Sequence[Entry], window: Sequence[Line]) -> DayDigest:
    ids = {line.number: line.turn.id for line in window}
    sources = {*digest.source_turns, *(ids[n] for entry in entries for n in entry.turns)}
    written = merge_repeated(entries, lambda entry: entry.text)
    lines = tuple(" ".join(entry.text.split()) for entry in written)
    return DayDigest(lines, tuple(sorted(sources)))


def _page_bounds(window: Sequence[Line]) -> ReplyBounds:
    fields: dict[str, Keywords] = {}
    for name in ("events", "traits"):
        fields |= {
            name: {"maxItems": MAX_ENTRIES},
            f"{name}[].text": {"minLength": 1, "maxLength": ENTRY_LIMIT},
            **turn_numbers(f"{name}[].turns", window),
        }
    return ReplyBounds(50 + 2 * MAX_ENTRIES * 110, fields)


def _page_fault(window: Sequence[Line], before: tuple[bool, bool], page: Page) -> str | None:
    """Return what is wrong with a page, or None.

    ``before`` is whether the day had events and traits before.
    """
    lists = (("events", page.events, before[0]), ("traits", page.traits, before[1]))
    for name, entries, had_entries in lists:
        if len(entries) > MAX_ENTRIES:
            return f"{len(entries)} {name} are too many: keep at most {MAX_ENTRIES}"
        if had_entries and not entries:
            return f"the {name} that stood there already are lost: take them over"
        for position, entry in enumerate(entries, 1):
            fault = note_fault(
                entry.text, entry.turns, window, limit=ENTRY_LIMIT, turns_required=not had_entries
            )
            if fault:
                return f"{name}, entry {position}: {fault}"
    return None


def _digest_fault(text: str) -> str | None:
    too_long = len(text) > GLOBAL_LIMIT
    return f"it is too long, keep it under {GLOBAL_LIMIT} characters" if too_long else None
