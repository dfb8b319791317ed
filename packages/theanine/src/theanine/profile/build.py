"""Make a profile: read the user's turns, find what holds of what they state, and who comes up."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, cast

import numpy as np
from anyio import to_thread
from anyio.lowlevel import checkpoint
from numpy.typing import NDArray

from theanine.embeddings.base import Vectors, embed_queries
from theanine.embeddings.open import runs_here
from theanine.ends import to_verify_since
from theanine.profile.entities import ReadNames, find_entities, read_names
from theanine.profile.profile import (
    AREAS,
    Certainty,
    Entity,
    Profile,
    ProfileChange,
    ProfileLine,
    Quote,
)
from theanine.profile.statements import Ending, ReadTurn, Statement, read_turn
from theanine.quotes import without_attribution
from theanine.recall.claims import replaces
from theanine.recall.context import RecallContext
from theanine.recall.state_model import same_matter
from theanine.retrieval.lexical import tokenize
from theanine.retrieval.log_index import LogIndex
from theanine.retrieval.scoring import matrix_product
from theanine.retrieval.temporal import find_date_ranges
from theanine.sentences import sentence_spans
from theanine.types import LOCAL_MODEL, NO_MODEL_NOTICE, Memory, Turn

NEWEST = 10_000
"""The user's newest turns, of which a profile is made."""
RECENT = timedelta(days=92)
"""Time before the newest turn in which a change is a late one."""
PLANNED = timedelta(days=92)
"""Time for which a plan holds that names no time of its own."""
STALE = timedelta(days=548)
"""Time after which something that was never said again may be outdated."""
SAID_AGAIN = 0.75
"""Share of the stems of the shorter of two statements of an area that the other one repeats."""
ANOTHER_STATE = 0.15
"""Probability, by the model of recall, from which a later passage makes a statement doubtful."""
_UNREAD = object()
_YEARLY = ("age",)
"""What changes every year."""
_QUESTIONS = {
    "rules": "How should you answer me?",
    "about": "Who am I and how old am I?",
    "home": "Where do I live?",
    "work": "What do I do for a living?",
    "people": "Who are my family and friends?",
    "health": "What medicine do I take and what can't I eat?",
    "likes": "What are my hobbies and habits?",
    "plans": "What are my plans?",
    "possessions": "What pets and vehicles do I have?",
}
"""What the statements of each area answer, for whether a later passage tells another state."""
COMPARED = 60
"""Newest statements, of an area or of all, for which later states are looked for."""
COMMON = 10
"""Statements beyond which a stem tells nothing of what they are about, such as that of "love"."""
ALIKE = 59
"""Later passages, those most like a statement, that are looked at."""
_vectors: dict[str, Vectors] = {}
"""Their vectors, by embedder: nothing of a user."""


@dataclass(slots=True, eq=False)
class _State:
    """A statement, and what it became."""

    statement: Statement
    said: list[Statement] = field(default_factory=list[Statement])
    before: list[_State] = field(default_factory=list["_State"])
    ended: bool = False
    doubtful: bool = False
    is_correction: bool = False

    @property
    def turn(self) -> Turn:
        return self.statement.turn


@dataclass(slots=True, eq=False)
class _Found:
    """The states by area, in order of time, and the changes: what ended, by which words."""

    states: dict[str, list[_State]]
    changes: list[tuple[_State, Ending | Statement]] = field(
        default_factory=list["tuple[_State, Ending | Statement]"]
    )
    entities: tuple[Entity, ...] = ()


async def find_profile(context: RecallContext, name: str = "") -> Profile:
    """Return what is known of the user of a scope, within the bounds of the context's options.

    Where several people speak, such as in an imported chat, only the turns of the one who is called
    ``name`` or as the scope's user count.
    """
    user = context.index.scope.user
    embedder = context.embedder if runs_here(context.embedder) else None
    log = await context.index.log(embedder, wait=False)
    own = await (_user_turns(context, log) if embedder else _unsearched_turns(context))
    turns = _of_user(own, {user, name})
    known = await to_thread.run_sync(_read, turns, log)
    if not known:
        return Profile(user=user)
    corrections = context.index.corrected
    numbers = {number for pair in corrections.items() for number in pair if number is not None}
    memories = {memory.id: memory for memory in await log.memories(numbers)}
    found = await to_thread.run_sync(_find, known, turns, corrections, memories)
    if embedder:
        await _find_doubts(found, turns, log)
    newest = turns[-1]
    return Profile(
        user=known[-1][0].turn.speaker or user,
        lines=tuple(_lines(found, newest, context.options.present)),
        changes=tuple(_changes(found, newest)),
        entities=found.entities,
    )


async def _user_turns(context: RecallContext, log: LogIndex) -> list[Turn]:
    """Return the newest turns of users in order of time, without those of the dialogue."""
    candidates = log.candidates
    mask = candidates.by_user & ~candidates.notices
    within = context.index.candidate_mask(candidates)
    if within is not None:
        mask = mask & within
    numbers = np.unique(candidates.turns[mask])[-NEWEST:].tolist()
    turns = await log.turns(number for number in numbers if number not in context.current)
    return sorted(turns, key=_order)


async def _unsearched_turns(context: RecallContext) -> list[Turn]:
    """Return the same turns from the store: to search the log, its turns would be embedded."""
    turns = [
        turn
        for turn in await context.index.all_turns()
        if turn.role == "user"
        and turn.id not in context.current
        and NO_MODEL_NOTICE not in turn.text
    ]
    return sorted(turns[-NEWEST:], key=_order)


def _of_user(turns: Sequence[Turn], names: set[str]) -> list[Turn]:
    """Return the turns of the one who has one of these names, or who never talks with others."""
    wanted = {name.casefold() for name in names if name}
    speakers: defaultdict[int, set[str]] = defaultdict(set)
    for turn in turns:
        speakers[turn.session].add(turn.speaker)
    among_others = set[str]().union(*(each for each in speakers.values() if len(each) > 1))
    return [
        turn
        for turn in turns
        if turn.speaker not in among_others
        or not wanted.isdisjoint({turn.speaker.casefold(), turn.speaker.casefold().split()[0]})
    ]


def _read(turns: Sequence[Turn], log: LogIndex) -> list[tuple[ReadTurn, ReadNames]]:
    """Return what turns tell, each read once for as long as the log's index is held."""
    derived = log.derived  # which another task may empty meanwhile
    found: list[tuple[ReadTurn, ReadNames]] = []
    for turn in turns:
        known = derived.get(turn.id, _UNREAD)
        if known is _UNREAD:
            read = read_turn(turn)
            known = derived[turn.id] = read and (read, read_names(read))
        if known:
            found.append(cast("tuple[ReadTurn, ReadNames]", known))
    return found


# What holds


def _find(
    known: Sequence[tuple[ReadTurn, ReadNames]],
    turns: Sequence[Turn],
    corrections: Mapping[int, int | None],
    memories: Mapping[int, Memory],
) -> _Found:
    """Find what holds of what turns tell, and who comes up. Takes long for many turns."""
    states: defaultdict[str, list[_State]] = defaultdict(list)
    for read, _ in known:
        for statement in read.statements:
            states[statement.area].append(_State(statement, [statement]))
    found = _Found(states)
    corrected = _correct(found, turns, corrections, memories)
    endings = [ending for read, _ in known for ending in read.endings]
    for area, own in found.states.items():
        found.states[area] = _join_repetitions(own)
        _find_endings(area, found, endings)
        _find_successors(area, found)
    found.entities = find_entities(
        [_held_names(read, corrected.get(read.turn.id, ()), names) for read, names in known]
    )
    return found


def _correct(
    found: _Found,
    turns: Sequence[Turn],
    corrections: Mapping[int, int | None],
    memories: Mapping[int, Memory],
) -> Mapping[int, Sequence[tuple[str, Sequence[_State]]]]:
    """Put the user's corrections in the place of what they correct.

    Returns, by source turn, the texts of the corrected memories and the states that they tell.
    """
    sources: defaultdict[int, list[tuple[str, Sequence[_State]]]] = defaultdict(list)
    by_id = {turn.id: turn for turn in turns}
    for old, new in sorted(corrections.items()):
        corrected: Sequence[_State] = ()
        if old in memories:
            corrected = _stating(memories[old], found)
            for turn in memories[old].source_turns:
                sources[turn].append((_told(memories[old]), corrected))
        for state in corrected:
            state.ended = True
        added = memories[new].source_turns if new and new in memories else ()
        for turn in (by_id[source] for source in added if source in by_id):
            _replace_by_correction(corrected, turn, found)
    return sources


def _held_names(
    read: ReadTurn, corrected: Sequence[tuple[str, Sequence[_State]]], names: ReadNames
) -> ReadNames:
    """Return the names in a turn without those in sentences that were corrected."""
    masked = read.masked
    for start, end in sentence_spans(read.masked) if corrected else ():
        sentence = " ".join(read.turn.text[start:end].split())
        if any(
            sentence in text
            or any(
                state.statement.turn.id == read.turn.id and start <= state.statement.start < end
                for state in states
            )
            for text, states in corrected
        ):  # its last character stays: it ends the sentence
            masked = masked[:start] + "\x00" * (end - 1 - start) + masked[end - 1 :]
    return names if masked == read.masked else read_names(replace(read, masked=masked))


def _replace_by_correction(corrected: Sequence[_State], turn: Turn, found: _Found) -> None:
    """Put what a correction states, or else all of it, in the place of what was corrected."""
    own = [state for states in found.states.values() for state in states if state.turn is turn]
    if not own and corrected:
        first = corrected[0].statement
        text = " ".join(turn.text.split())
        terms = frozenset(tokenize(text))
        statement = replace(first, text=text, core=text, turn=turn, start=0, terms=terms)
        own = [_State(statement, [statement])]
        found.states[first.area].append(own[0])
    for state in own:
        for old in corrected:
            if old.statement.area != state.statement.area:
                continue
            if old.statement.terms == state.statement.terms:  # this much was right
                state.said.insert(0, old.statement)
                continue
            state.is_correction = True
            state.before += [old, *old.before]
            found.changes.append((old, state.statement))


def _stating(memory: Memory, found: _Found) -> list[_State]:
    """Return the states whose words a memory quotes or, if it isn't a quote, tells best."""
    text = _told(memory)
    states = [
        state
        for own in found.states.values()
        for state in own
        if state.turn.id in memory.source_turns
    ]
    quoted = [state for state in states if state.statement.text in text]
    if quoted or memory.made_by == LOCAL_MODEL or not states:
        return quoted
    terms = frozenset(tokenize(text))
    return [max(states, key=lambda state: len(terms & state.statement.terms))]


def _told(memory: Memory) -> str:
    return " ".join(without_attribution(memory.text).split())


def _join_repetitions(states: Sequence[_State]) -> list[_State]:
    """Join what is said again in much the same words: the latest words stay, with the first day."""
    kept: list[_State] = []
    by_term: defaultdict[str, list[int]] = defaultdict(list)
    for state in states:
        own = state.statement.terms
        near = {at for term in own for at in by_term[term][-COMPARED:]}
        for number in sorted(near, reverse=True):
            other = kept[number]
            terms = other.statement.terms
            shared, least = len(own & terms), min(len(own), len(terms))
            if (
                least
                and shared >= SAID_AGAIN * least
                and other.ended == state.ended
                and other.is_correction == state.is_correction
                and (own == terms or not (state.statement.single or other.statement.single))
                and not replaces(state.statement.core, other.statement.core)
            ):
                other.said.append(state.statement)
                if len(own) >= len(terms) or state.statement.area == "rules":
                    other.statement = state.statement
                break
        else:
            number = len(kept)
            kept.append(state)
        for term in own:
            by_term[term].append(number)
    return kept


def _find_endings(area: str, found: _Found, endings: Sequence[Ending]) -> None:
    """Find which states a later sentence says to hold no more."""
    by_term: defaultdict[str, list[Ending]] = defaultdict(list)
    for ending in endings:
        for term in ending.terms:
            by_term[term].append(ending)
    for state in found.states[area]:
        statement = state.said[-1]
        near: dict[int, Ending] = {}
        for term in statement.terms:
            same = by_term.get(term, [])
            first = bisect_right(same, _order(statement.turn), key=lambda each: _order(each.turn))
            near |= {id(each): each for each in same[first : first + COMMON]}
        for ending in sorted(near.values(), key=lambda each: _order(each.turn)):
            if _ends(ending, statement):
                state.ended = True
                found.changes.append((state, ending))
                break


def _ends(ending: Ending, statement: Statement) -> bool:
    return replaces(ending.text, statement.core) or any(
        area == statement.area and not terms.isdisjoint(statement.terms)
        for area, terms in ending.denied
    )


def comparable(statements: Sequence[Statement]) -> Iterator[tuple[int, int]]:
    """Yield the positions of an older statement and a newer one that may replace it, in order.

    That is the next one of what a person has once only, and all of the same kind among the newest
    that share a stem which few of them have: their number grows as that of the statements.
    """
    by_term: defaultdict[str, list[int]] = defaultdict(list)
    by_single: defaultdict[str, list[int]] = defaultdict(list)
    for at, statement in enumerate(statements):
        by_single[statement.single].append(at)
        if at >= len(statements) - COMPARED and not statement.single:
            for term in statement.terms:
                by_term[term].append(at)
    telling = {term: places for term, places in by_term.items() if len(places) <= COMMON}
    for older, one in enumerate(statements):
        newer = by_single[one.single]
        if not one.single:
            newer = sorted({at for term in one.terms for at in telling.get(term, ())})
        later = newer[bisect_right(newer, older) :]
        found = (at for at in later if _may_replace(statements[at], one))
        yield from ((older, at) for at in islice(found, 1 if one.single else None))


def _may_replace(newer: Statement, older: Statement) -> bool:
    return (
        newer.single == older.single
        and newer.terms != older.terms
        and _order(newer.turn) > _order(older.turn)
    )


def _find_successors(area: str, found: _Found) -> None:
    """Find which states of an area a later one replaces."""
    states = [state for state in found.states[area] if not state.is_correction]
    replaced: set[int] = set()
    for at, later in comparable([state.statement for state in states]):
        older, newer = states[at], states[later]
        one, other = older.statement, newer.statement
        if at not in replaced and (one.single or replaces(other.core, one.core)):
            _replace(older, newer, found)
            replaced.add(at)


def _replace(older: _State, newer: _State, found: _Found) -> None:
    if not older.ended:
        found.changes.append((older, newer.statement))
    older.ended = True
    newer.before += [older, *older.before]


async def _find_doubts(found: _Found, turns: Sequence[Turn], log: LogIndex) -> None:
    """Find which states a passage of later turns probably replaces, in whatever words."""
    held = [
        state
        for area, own in found.states.items()
        for state in own
        if not state.ended and not state.is_correction and area not in ("plans", "rules")
    ]
    held = sorted(held, key=lambda state: _order(state.said[-1].turn))[-COMPARED:]
    if not held:
        return
    questions = await _question_vectors(log)
    candidates = log.candidates
    numbers = [turn.id for turn in turns]
    passages = np.flatnonzero(candidates.by_user & np.isin(candidates.turns, numbers))
    positions = [_position(state.said[-1], log) for state in held]
    vectors = candidates.vectors(passages)
    alike = matrix_product(
        candidates.vectors(np.array(positions, np.int64)), np.ascontiguousarray(vectors.T)
    )
    for state, position, row in zip(held, positions, alike, strict=True):
        await checkpoint()  # not in a thread, where the index might grow meanwhile
        is_later = candidates.times[passages] > candidates.times[position]
        row[~is_later] = -1
        best = np.argsort(-row, kind="stable")[: min(ALIKE, int(is_later.sum()))]
        at = (position, *np.sort(passages[best]).tolist())
        state.doubtful = _is_doubtful(at, questions[[*AREAS].index(state.statement.area)], log)


def _is_doubtful(at: tuple[int, ...], question: NDArray[np.float32], log: LogIndex) -> bool:
    """Whether one of later passages is probably another state of the first; judged once."""
    known = log.derived.get(at)
    if known is None:
        chances = same_matter(np.array(at, np.int64), 1, log.candidates, question)
        known = log.derived[at] = bool(chances[0, 1:].max(initial=0) >= ANOTHER_STATE)
    return bool(known)


def _position(statement: Statement, log: LogIndex) -> int:
    """Return the passage in which a statement begins."""
    passages = [found.position for found in log.candidates.of_turn(statement.turn.id)]
    spans = log.candidates.spans(passages)
    return next((at for at in passages if statement.start < spans[at][1]), passages[-1])


async def _question_vectors(log: LogIndex) -> Vectors:
    embedder = log.embedder
    if embedder.name not in _vectors:
        texts = [_QUESTIONS[area] for area in AREAS]
        _vectors[embedder.name] = await embed_queries(embedder, texts)
    return _vectors[embedder.name]


# What is returned


def _lines(found: _Found, newest: Turn, present: datetime | None) -> Iterator[ProfileLine]:
    for area in AREAS:
        own = found.states.get(area, [])
        held = [state for state in own if not state.ended and not _is_over(state, newest)]
        held.sort(
            key=lambda state: (not state.doubtful, *_order(state.said[-1].turn)), reverse=True
        )
        for state in held:
            before = sorted(state.before, key=lambda each: _order(each.turn), reverse=True)
            yield ProfileLine(
                **_where(state.statement),
                area=area,
                since=state.said[0].turn.at,
                before=tuple(Quote(**_where(each.statement)) for each in before),
                certainty=_certainty(state, newest, present),
                is_correction=state.is_correction,
            )


def _changes(found: _Found, newest: Turn) -> Iterator[ProfileChange]:
    late = [
        (state, by)
        for state, by in found.changes
        if newest.at - by.turn.at <= RECENT and state.statement.area != "plans"
    ]
    late.sort(key=lambda change: _order(change[1].turn), reverse=True)
    for state, by in late:
        yield ProfileChange(
            **_where(by), area=state.statement.area, before=Quote(**_where(state.statement))
        )


def _where(words: Statement | Ending) -> Mapping[str, Any]:
    turn = words.turn
    return {
        "text": words.text,
        "turn": turn.id,
        "session": turn.session,
        "at": turn.at,
        "dated": turn.dated,
    }


def _order(turn: Turn) -> tuple[datetime, int]:
    return turn.at, turn.id


def _is_over(state: _State, newest: Turn) -> bool:
    """Whether the time of a plan has passed."""
    statement, turn = state.said[-1], state.said[-1].turn
    if statement.area != "plans" or not turn.dated:
        return False
    day = turn.at.date()
    named = find_date_ranges(statement.text, (day.year, day.year + 1), day)
    ends = [last for _, last in named if last >= day]
    over = min(ends) if ends else (turn.at + PLANNED).date()
    return newest.at.date() > over


def _certainty(state: _State, newest: Turn, present: datetime | None) -> Certainty:
    last = state.said[-1].turn
    if present and to_verify_since([last], present):
        return "to be verified"
    age = newest.at - last.at if last.dated else timedelta()
    stale = STALE if state.statement.single not in _YEARLY else timedelta(days=365)
    if state.doubtful or age > stale:
        return "may be outdated"
    days = {statement.turn.session for statement in state.said}
    return "repeated" if len(days) > 1 else "said"
