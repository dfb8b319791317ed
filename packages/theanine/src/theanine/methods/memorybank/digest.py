"""The digests of MemoryBank: of a day's events and traits in one call, and of all days'."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.prompt import PromptTemplate, load_prompt
from theanine.text.formatting import day_label, group_by_day, one_line
from theanine.text.numbering import Line, format_numbered, split_windows
from theanine.types import Memory, NewMemory, Turn

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

MOST_ENTRIES = 12
LONGEST_ENTRY = 500
"""Characters of an entry; the prompt asks for 40 words."""
LONGEST_DIGEST = 2_000
"""Characters of a digest of all days; the prompt asks for 150 words."""
NOTHING = "(nothing)"


class Entry(BaseModel):
    """One line of a day's digest."""

    text: str = Field(description="the entry")
    turns: list[int] = Field(description="numbers of the turns that support it")


class Page(BaseModel):
    """The model's answer for a day."""

    events: list[Entry]
    traits: list[Entry]


_PACKAGE = "theanine.methods.memorybank"
DAY = load_prompt(_PACKAGE, "bank-day", 1, Page)
ALL_EVENTS = load_prompt(_PACKAGE, "bank-events", 1, str)
ALL_TRAITS = load_prompt(_PACKAGE, "bank-portrait", 1, str)


@dataclass(frozen=True, slots=True)
class Digest:
    """A day's events, or its traits: lines, and the turns at hand that support them."""

    lines: tuple[str, ...] = ()
    sources: tuple[int, ...] = ()


async def digest_day(
    turns: Sequence[Turn],
    before: tuple[Sequence[str], Sequence[str]],
    caller: ScopedChat,
    *,
    touches: Collection[int] = (),
) -> tuple[Digest, Digest]:
    """The day's events and traits, made anew of those ``before`` and of a session.

    A very long session is read window by window, each upon what the windows before it gave.
    ``touches`` are the sessions whose words ``before`` holds. Raises ModelError when the model
    fails or keeps answering unusably.
    """
    events, traits = (Digest(tuple(lines)) for lines in before)
    for window in split_windows(turns):
        answer = await caller.ask(
            DAY,
            source_sessions={*touches, *(line.turn.session for line in window)},
            check=partial(_fault, window, (bool(events.lines), bool(traits.lines))),
            events="\n".join(map(one_line, events.lines)) or NOTHING,
            traits="\n".join(map(one_line, traits.lines)) or NOTHING,
            turns=format_numbered(window),
        )
        events = _upon(events, answer.events, window)
        traits = _upon(traits, answer.traits, window)
    return events, traits


def _upon(until: Digest, entries: Sequence[Entry], window: Sequence[Line]) -> Digest:
    ids = {line.number: line.turn.id for line in window}
    sources = {*until.sources, *(ids[number] for entry in entries for number in entry.turns)}
    lines = tuple(" ".join(entry.text.split()) for entry in entries)
    return Digest(lines, tuple(sorted(sources)))


def _fault(window: Sequence[Line], known: tuple[bool, bool], page: Page) -> str | None:
    """What is wrong with a page, in words; None when nothing is.

    ``known`` says whether events and traits of the day stood there already.
    """
    shown = {line.number for line in window}
    lists = (("events", page.events, known[0]), ("traits", page.traits, known[1]))
    for name, entries, before in lists:
        if len(entries) > MOST_ENTRIES:
            return f"{len(entries)} {name} are too many: keep at most {MOST_ENTRIES}"
        if before and not entries:
            return f"the {name} that stood there already are lost: take them over"
        for position, entry in enumerate(entries, 1):
            if fault := _entry_fault(entry, shown, before):
                return f"{name}, entry {position}: {fault}"
    return None


def _entry_fault(entry: Entry, shown: set[int], before: bool) -> str | None:
    if not entry.text.strip():
        return "its text is empty"
    if len(entry.text) > LONGEST_ENTRY:
        return f"its text is too long, keep it under {LONGEST_ENTRY} characters"
    if wrong := sorted(set(entry.turns) - shown):
        return f"turns {wrong} were not shown; shown are {min(shown)} to {max(shown)}"
    if not entry.turns and not before:
        return "it names no turn that supports it"
    return None


@dataclass(frozen=True, slots=True)
class DayLine:
    """One line of a day's digest, with its day as it is shown."""

    day: str
    text: str


def lines_of(
    memory: Memory | NewMemory, session: int, undated: Collection[int] = ()
) -> list[DayLine]:
    """A stored or new daily digest, line by line."""
    day = day_label(memory.at, session not in undated)
    return [DayLine(day, line) for line in memory.text.splitlines() if line.strip()]


async def digest_all(
    step: PromptTemplate[str],
    days: Sequence[DayLine],
    before: str,
    caller: ScopedChat,
    *,
    touches: Collection[int],
) -> str:
    """One digest of all days: of their lines, oldest first, and of the digest of days before them.

    ``touches`` are the sessions whose words stand in any of it. Raises ModelError.
    """
    text = await caller.ask(
        step,
        source_sessions=touches,
        check=_too_long,
        before=one_line(before) or NOTHING,
        days=group_by_day((line.day, one_line(line.text)) for line in days),
    )
    return text.strip()


def _too_long(text: str) -> str | None:
    if not text.strip():
        return "it is empty"
    if len(text) > LONGEST_DIGEST:
        return f"it is too long, keep it under {LONGEST_DIGEST} characters"
    return None
