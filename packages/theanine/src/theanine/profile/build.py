"""Make a profile: read the user's turns, find what holds of what they state, and who comes up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from anyio import to_thread

from theanine.embeddings.encoder import NAME as ENCODER
from theanine.embeddings.open import runs_here
from theanine.ends import to_verify_since
from theanine.profile.doubts import find_doubts
from theanine.profile.entities import ReadNames
from theanine.profile.profile import (
    AREAS,
    Certainty,
    Profile,
    ProfileChange,
    ProfileLine,
    Quote,
    quoted,
)
from theanine.profile.reading import (
    of_user,
    read_by_model,
    read_turns,
    unsearched_turns,
    user_turns,
)
from theanine.profile.statements import ReadTurn, turn_order
from theanine.profile.states import ProfileFindings, ProfileState, find_states
from theanine.recall.context import RecallContext
from theanine.retrieval.log_index import LogIndex
from theanine.retrieval.temporal import find_date_ranges
from theanine.types import Turn

RECENT = timedelta(days=92)
"""Time before the newest turn in which a change is a late one."""
PLANNED = timedelta(days=92)
"""Time for which a plan holds that names no time of its own."""
STALE = timedelta(days=548)
"""Time after which something that was never said again may be outdated."""
_YEARLY = ("age",)
"""What changes every year."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserReading:
    """The turns of a user that were read, and what was found in them.

    Attributes:
        turns: those that were read, in order of time.
        known: what those of a language that is read tell.
        found: what holds of it.
        log: the index of the log.
    """

    turns: Sequence[Turn]
    known: Sequence[tuple[ReadTurn, ReadNames]]
    found: ProfileFindings
    log: LogIndex


async def find_profile(context: RecallContext, name: str = "") -> Profile:
    """Return what is known of the user of a scope, within the bounds of the context's options.

    Where several people speak, such as in an imported chat, only the turns of the one who is called
    ``name`` or as the scope's user count.
    """
    reading = await read_user(context, name)
    return make_profile(context, reading)


def make_profile(context: RecallContext, reading: UserReading) -> Profile:
    """Return what the turns of a user tell, in the user's own words."""
    user = context.index.scope.user
    if not reading.known:
        return Profile(user=user)
    newest, found = reading.turns[-1], reading.found
    return Profile(
        user=reading.known[-1][0].turn.speaker or user,
        lines=tuple(_lines(found, newest, context.options.present)),
        changes=tuple(_changes(found, newest)),
        entities=found.entities,
    )


async def read_user(context: RecallContext, name: str) -> UserReading:
    """Read the turns of the user of a scope; see :func:`find_profile`."""
    user = context.index.scope.user
    embedder = context.embedder if runs_here(context.embedder) else None
    log = await context.index.log(embedder, wait=False)
    own = await (user_turns(context, log) if embedder else unsearched_turns(context))
    turns = of_user(own, {user, name})
    known = await to_thread.run_sync(read_turns, turns, log)
    if known and embedder and log.embedder.name == ENCODER:
        known = await read_by_model(known, log)
    corrections = context.index.corrected
    numbers = {number for pair in corrections.items() for number in pair if number is not None}
    memories = {memory.id: memory for memory in await log.memories(numbers)}
    found = await to_thread.run_sync(find_states, known, turns, corrections, memories)
    if embedder:
        await find_doubts(found, turns, log)
    return UserReading(turns=turns, known=known, found=found, log=log)


def _lines(found: ProfileFindings, newest: Turn, present: datetime | None) -> Iterator[ProfileLine]:
    for area in AREAS:
        own = found.states.get(area, [])
        held = [state for state in own if not state.ended and not is_over(state, newest)]
        held.sort(key=_worth, reverse=True)
        for state in held:
            was = [each for each in state.before if not _is_unverified(each.turn, present)]
            before = sorted(was, key=lambda each: turn_order(each.turn), reverse=True)
            yield ProfileLine(
                **quoted(state.statement.text, state.turn),
                area=area,
                since=state.said[0].turn.at,
                before=tuple(Quote(**quoted(each.statement.text, each.turn)) for each in before),
                certainty=_certainty(state, newest, present),
                is_correction=state.is_correction,
                source_turns=tuple(dict.fromkeys(each.turn.id for each in state.said)),
            )


def _worth(state: ProfileState) -> tuple[bool, bool, datetime, int]:
    """Return what orders the lines of an area: what is sure comes first, then what is new."""
    return (not state.doubtful, not state.statement.by_model, *turn_order(state.said[-1].turn))


def _changes(found: ProfileFindings, newest: Turn) -> Iterator[ProfileChange]:
    late = [
        (state, by)
        for state, by in found.changes
        if newest.at - by.turn.at <= RECENT and state.statement.area != "plans"
    ]
    late.sort(key=lambda change: turn_order(change[1].turn), reverse=True)
    for state, by in late:
        yield ProfileChange(
            **quoted(by.text, by.turn),
            area=state.statement.area,
            before=Quote(**quoted(state.statement.text, state.turn)),
        )


def is_over(state: ProfileState, newest: Turn) -> bool:
    """Whether the time of a plan has passed."""
    statement, turn = state.said[-1], state.said[-1].turn
    if statement.area != "plans" or not turn.dated:
        return False
    day = turn.at.date()
    named = find_date_ranges(statement.text, (day.year, day.year + 1), day)
    ends = [last for _, last in named if last >= day]
    over = min(ends) if ends else (turn.at + PLANNED).date()
    return newest.at.date() > over


def _certainty(state: ProfileState, newest: Turn, present: datetime | None) -> Certainty:
    stale = STALE if state.statement.single not in _YEARLY else timedelta(days=365)
    found = certainty_of([each.turn for each in state.said], newest, present, stale)
    return "may be outdated" if state.doubtful and found != "to be verified" else found


def certainty_of(
    turns: Sequence[Turn], newest: Turn, present: datetime | None, stale: timedelta = STALE
) -> Certainty:
    """Return how sure it is that what turns tell holds, by their number and times.

    Args:
        turns: the turns that tell it, the newest last.
        newest: the newest turn of the user.
        present: the time of the recall, if it has one.
        stale: the age of what may be outdated.
    """
    last = turns[-1]
    if _is_unverified(last, present):
        return "to be verified"
    if last.dated and newest.at - last.at > stale:
        return "may be outdated"
    return "repeated" if len({turn.session for turn in turns}) > 1 else "said"


def _is_unverified(turn: Turn, present: datetime | None) -> bool:
    return present is not None and bool(to_verify_since([turn], present))
