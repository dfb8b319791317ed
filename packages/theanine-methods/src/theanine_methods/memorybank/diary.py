"""The diary: update the day's digests after a session, and then the global digests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial

from theanine.llm.gather import gather
from theanine.llm.prompt import PromptTemplate
from theanine.methods.base import Context
from theanine.methods.shared.provenance import source_sessions
from theanine.methods.shared.recall import live_by_time
from theanine.retrieval.scope_index import ScopeIndex
from theanine.text.formatting import day_label
from theanine.types import LOCAL_MODEL, Memory, NewMark, NewMemory, Session, Turn
from theanine_methods.memorybank.config import MemoryBankConfig
from theanine_methods.memorybank.digest import (
    ALL_EVENTS,
    ALL_TRAITS,
    DAY,
    DayDigest,
    DayLine,
    digest_all,
    digest_day,
)
from theanine_methods.memorybank.kinds import (
    DAY_EVENTS,
    DAY_TRAITS,
    EVENTS,
    PORTRAIT,
    quoted_turns,
)
from theanine_methods.memorybank.local_digest import (
    local_digest_all,
    local_digest_day,
    turns_quoted_in,
)

_NEAR = timedelta(days=2)
"""Sessions further apart than this are not on one day in any two UTC offsets."""


@dataclass(frozen=True, slots=True)
class DigestSeries:
    """Daily digests of events or of traits, and their global digest."""

    day_kind: str
    global_kind: str
    global_prompt: PromptTemplate[str]


SERIES = (
    DigestSeries(DAY_EVENTS, EVENTS, ALL_EVENTS),
    DigestSeries(DAY_TRAITS, PORTRAIT, ALL_TRAITS),
)
"""Events, then traits: the order in which :func:`digest_day` returns them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestUpdate:
    """New digests of one series, and the ones that they replace.

    Attributes:
        day: the day's digest.
        previous_day: the previous digest of the same day.
        whole: the global digest; it derives from ``day`` too, whose position in the batch is not
            known yet.
        previous_whole: the previous global digest.
    """

    day: NewMemory
    previous_day: Memory | None
    whole: NewMemory
    previous_whole: Memory | None

    def append_to(self, memories: list[NewMemory], exchanges: int) -> list[NewMark]:
        """Append both digests to a batch, whose first ``exchanges`` memories the day derives from.

        Returns the marks on the digests that they replace.
        """
        position = len(memories)
        memories.append(replace(self.day, derived_from_new=tuple(range(exchanges))))
        memories.append(replace(self.whole, derived_from_new=(position,)))
        replaced = (
            (self.previous_day, position, "the day went on"),
            (self.previous_whole, position + 1, "there was another session"),
        )
        return [
            NewMark(memory=memory.id, kind="superseded", by=by, reason=reason)
            for memory, by, reason in replaced
            if memory is not None
        ]


async def update_digests(
    session: Session, turns: Sequence[Turn], context: Context, config: MemoryBankConfig
) -> list[DigestUpdate]:
    """Return the updates of each series to which the session adds something. Raises ModelError."""
    index = context.index
    previous = [await _same_day(series.day_kind, session, index) for series in SERIES]
    events, traits = (tuple(old.text.splitlines()) if old else () for old in previous)
    if context.chat is None:
        digests = local_digest_day(turns, (events, traits))
    else:
        digests = await digest_day(
            turns,
            (events, traits),
            context.chat,
            source_sessions=source_sessions([old for old in previous if old], index),
        )
    calls = [
        partial(
            _update,
            series,
            _day_memory(series, digest, turns, old, context),
            old,
            session,
            context,
            config.days,
        )
        for series, digest, old, lines in zip(
            SERIES, digests, previous, (events, traits), strict=True
        )
        if digest.lines
        and digest.lines != lines
        and (config.personality or series.global_kind != PORTRAIT)
    ]
    return await gather(calls)


async def _same_day(kind: str, session: Session, index: ScopeIndex) -> Memory | None:
    """Return the live digest of the day on which a session began, if there is one."""
    day = await _day_of(session, index)
    for memory in reversed(live_by_time(index, kind)):
        other = index.sessions.get(memory.session)
        if other is None or abs(other.started_at - session.started_at) > _NEAR:
            continue
        if await _day_of(other, index) == day:
            return memory
    return None


async def _day_of(session: Session, index: ScopeIndex) -> date | int:
    """Return the day of the session's first turn in its own UTC offset.

    A session without dates is a day of its own, given by its number.
    """
    if not session.dated:
        return session.id
    turns = await index.session_turns(session.id)
    return (turns[0].at if turns else session.started_at).date()


def _day_memory(
    series: DigestSeries,
    digest: DayDigest,
    turns: Sequence[Turn],
    previous: Memory | None,
    context: Context,
) -> NewMemory:
    by_id = {turn.id: turn for turn in turns}
    speakers = [*(previous.speakers if previous else ()), *(turn.speaker for turn in turns)]
    return NewMemory(
        text="\n".join(digest.lines),
        at=max((by_id[source].at for source in digest.source_turns), default=turns[-1].at),
        source_turns=digest.source_turns,
        speakers=tuple(dict.fromkeys(speakers)),
        derived_from=(previous.id,) if previous else (),
        kind=series.day_kind,
        made_by=context.chat.model if context.chat else LOCAL_MODEL,
        prompt=DAY.label if context.chat else "",
    )


async def _update(
    series: DigestSeries,
    day: NewMemory,
    previous_day: Memory | None,
    session: Session,
    context: Context,
    days: int,
) -> DigestUpdate:
    """Make the global digest of the new day and the latest ``days - 1`` others."""
    index, chat = context.index, context.chat
    others = [memory for memory in live_by_time(index, series.day_kind) if memory != previous_day]
    shown = others[len(others) - min(days - 1, len(others)) :]
    latest = next(reversed(live_by_time(index, series.global_kind)), None)
    # The previous global digest represents the days that are not shown.
    base = latest if len(shown) < len(others) else None
    derived_from = [*shown, *([base] if base else [])]
    ancestors = [*derived_from, *([previous_day] if previous_day else [])]
    pages: list[tuple[Memory | NewMemory, bool]] = [(memory, memory.dated) for memory in shown]
    pages.append((day, session.dated))
    pages.sort(key=lambda page: page[0].at)
    lines = [
        DayLine(day_label(page.at, dated), line)
        for page, dated in pages
        for line in page.text.splitlines()
        if line.strip()
    ]
    before = base.text if base else ""
    if chat is None:
        text = local_digest_all(lines, before)
        quotable = {*day.source_turns}
        quotable.update(turn for memory in ancestors for turn in quoted_turns(memory, index))
        source_turns = turns_quoted_in(text, await index.turns(sorted(quotable)))
    else:
        sessions = source_sessions(ancestors, index) | {session.id}
        text = await digest_all(series.global_prompt, lines, before, chat, source_sessions=sessions)
        source_turns = ()  # it is supported by all turns that its days are supported by
    whole = NewMemory(
        text=text,
        at=max(page.at for page, _ in pages),
        source_turns=source_turns,
        speakers=tuple(dict.fromkeys(name for page, _ in pages for name in page.speakers)),
        derived_from=tuple(sorted(memory.id for memory in derived_from)),
        kind=series.global_kind,
        made_by=chat.model if chat else LOCAL_MODEL,
        prompt=series.global_prompt.label if chat else "",
    )
    return DigestUpdate(day=day, previous_day=previous_day, whole=whole, previous_whole=latest)
