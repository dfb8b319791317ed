"""Write the diary after a session: the day's page anew, and then the digests of all days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from theanine.llm.gather import gather
from theanine.llm.prompt import PromptTemplate
from theanine.methods.base import Context
from theanine.methods.memorybank.config import MemoryBankConfig
from theanine.methods.memorybank.digest import (
    ALL_EVENTS,
    ALL_TRAITS,
    DAY,
    DayLine,
    Digest,
    digest_all,
    digest_day,
    lines_of,
)
from theanine.methods.memorybank.kinds import (
    DAY_EVENTS,
    DAY_TRAITS,
    EVENTS,
    PORTRAIT,
    live_of,
    quoted_turns,
    same_day,
)
from theanine.methods.memorybank.local_digest import local_all, local_day, quoted
from theanine.methods.shared.provenance import source_sessions
from theanine.types import LOCAL_MODEL, Memory, NewMark, NewMemory, Session, Turn


@dataclass(frozen=True, slots=True)
class Track:
    """One of the two diaries: the kinds of its memories, and what joins its days."""

    day_kind: str
    all_kind: str
    all_step: PromptTemplate[str]


TRACKS = (Track(DAY_EVENTS, EVENTS, ALL_EVENTS), Track(DAY_TRAITS, PORTRAIT, ALL_TRAITS))
"""Events, and traits: in the order in which a day's page has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """What one track got from a session.

    Attributes:
        day: the day's digest.
        day_before: the digest of the same day whose place it takes.
        whole: the digest of all days; it is made of ``day`` too, whose place in the batch is not
            known yet.
        whole_before: the digest of all days whose place it takes.
    """

    day: NewMemory
    day_before: Memory | None
    whole: NewMemory
    whole_before: Memory | None

    def bound(self, memories: list[NewMemory], exchanges: int) -> list[NewMark]:
        """Add both to a batch whose first ``exchanges`` memories the day is made of; the marks."""
        place = len(memories)
        memories.append(replace(self.day, derived_from_new=tuple(range(exchanges))))
        memories.append(replace(self.whole, derived_from_new=(place,)))
        marks: list[NewMark] = []
        for before, by, reason in (
            (self.day_before, place, "the day went on"),
            (self.whole_before, place + 1, "there was another session"),
        ):
            if before is not None:
                marks.append(NewMark(memory=before.id, kind="superseded", by=by, reason=reason))
        return marks


async def write(
    session: Session, turns: Sequence[Turn], context: Context, config: MemoryBankConfig
) -> list[Pages]:
    """The pages of each track that the session adds something to. Raises ModelError."""
    view = context.index
    before = [await same_day(track.day_kind, session, view) for track in TRACKS]
    lines = [tuple(one.text.splitlines()) if one else () for one in before]
    digests = await _days(turns, (lines[0], lines[1]), before, session, context)
    tracks = [TRACKS[0], TRACKS[1]] if config.personality else [TRACKS[0]]
    calls = [
        partial(_pages, track, _day(track, digest, turns, old, context), old, session, context)
        for track, digest, old, known in zip(tracks, digests, before, lines, strict=False)
        if digest.lines and digest.lines != known
    ]
    return await gather([partial(call, config.days) for call in calls])


async def _days(
    turns: Sequence[Turn],
    lines: tuple[Sequence[str], Sequence[str]],
    before: Sequence[Memory | None],
    session: Session,
    context: Context,
) -> tuple[Digest, Digest]:
    if context.chat is None:
        return local_day(turns, lines)
    touches = source_sessions([one for one in before if one], context.index)
    return await digest_day(turns, lines, context.chat, touches=touches)


def _day(
    track: Track, digest: Digest, turns: Sequence[Turn], before: Memory | None, context: Context
) -> NewMemory:
    by_id = {turn.id: turn for turn in turns}
    at = max((by_id[source].at for source in digest.sources), default=turns[-1].at)
    speakers = [*(before.speakers if before else ()), *(turn.speaker for turn in turns)]
    return NewMemory(
        text="\n".join(digest.lines),
        at=at,
        source_turns=digest.sources,
        speakers=tuple(dict.fromkeys(speakers)),
        derived_from=(before.id,) if before else (),
        kind=track.day_kind,
        made_by=context.chat.model if context.chat else LOCAL_MODEL,
        prompt=DAY.label if context.chat else "",
    )


async def _pages(
    track: Track,
    day: NewMemory,
    day_before: Memory | None,
    session: Session,
    context: Context,
    days: int,
) -> Pages:
    """A new day with the digest of all days, this one included."""
    view = context.index
    others = [memory for memory in live_of(track.day_kind, view) if memory != day_before]
    shown = others[len(others) - min(days - 1, len(others)) :]
    latest = next(reversed(live_of(track.all_kind, view)), None)
    # Of the days that are not shown, the digest until now speaks; else it is made afresh.
    base = latest if len(shown) < len(others) else None
    origins = [*shown, *([base] if base else [])]
    pages: list[tuple[Memory | NewMemory, int]] = [(one, one.session) for one in shown]
    pages.append((day, session.id))
    pages.sort(key=lambda page: page[0].at)
    lines = list(chain.from_iterable(lines_of(page, at, view.undated) for page, at in pages))
    behind = [*origins, *([day_before] if day_before else [])]
    text = await _all(track, lines, base, source_sessions(behind, view) | {session.id}, context)
    whole = NewMemory(
        text=text,
        at=max(page.at for page, _ in pages),
        source_turns=await _quoted(text, day, behind, context),
        speakers=tuple(dict.fromkeys(name for page, _ in pages for name in page.speakers)),
        derived_from=tuple(sorted(memory.id for memory in origins)),
        kind=track.all_kind,
        made_by=context.chat.model if context.chat else LOCAL_MODEL,
        prompt=track.all_step.label if context.chat else "",
    )
    return Pages(day=day, day_before=day_before, whole=whole, whole_before=latest)


async def _quoted(
    text: str, day: NewMemory, behind: Sequence[Memory], context: Context
) -> tuple[int, ...]:
    """The turns that a local digest quotes; a model's rests on all that its days rest on."""
    if context.chat is not None:
        return ()
    view = context.index
    sources = {
        *day.source_turns,
        *(turn for memory in behind for turn in quoted_turns(memory, view)),
    }
    return quoted(text, await view.turns(sorted(sources)))


async def _all(
    track: Track,
    lines: Sequence[DayLine],
    base: Memory | None,
    touches: set[int],
    context: Context,
) -> str:
    before = base.text if base else ""
    if context.chat is None:
        return local_all(lines, before)
    return await digest_all(track.all_step, lines, before, context.chat, touches=touches)
