"""Find what holds of what a user stated: repetitions, corrections, endings and successors."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from theanine.profile.entities import Entity, ReadNames, find_entities, read_names
from theanine.profile.statements import Ending, ReadTurn, Statement, turn_order
from theanine.quotes import without_attribution
from theanine.recall.claims import replaces
from theanine.retrieval.lexical import tokenize
from theanine.sentences import sentence_spans
from theanine.types import LOCAL_MODEL, Memory, Turn

SAID_AGAIN = 0.75
"""Share of the stems of the shorter of two statements of an area that the other one repeats."""
COMPARED = 60
"""Newest statements, of an area or of all, for which later states are looked for."""
COMMON = 10
"""Statements beyond which a stem tells nothing of what they are about, such as that of "love"."""


@dataclass(slots=True, eq=False)
class ProfileState:
    """A statement, and what it became."""

    statement: Statement
    said: list[Statement] = field(default_factory=list[Statement])
    before: list[ProfileState] = field(default_factory=list["ProfileState"])
    ended: bool = False
    doubtful: bool = False
    is_correction: bool = False

    @property
    def turn(self) -> Turn:
        return self.statement.turn


CorrectedTexts = Mapping[int, Sequence[tuple[str, Sequence[ProfileState]]]]
"""By source turn, the texts of corrected memories and the states that they tell."""


@dataclass(slots=True, eq=False)
class ProfileFindings:
    """A user's states, found in what they said.

    Attributes:
        states: by area, in order of time.
        changes: what ended, and by which words.
        entities: who and what comes up.
        corrected: what the user corrected.
        corrections: the turns that correct it.
    """

    states: dict[str, list[ProfileState]]
    changes: list[tuple[ProfileState, Ending | Statement]] = field(
        default_factory=list["tuple[ProfileState, Ending | Statement]"]
    )
    entities: tuple[Entity, ...] = ()
    corrected: CorrectedTexts = field(default_factory=dict[int, Any])
    corrections: list[Turn] = field(default_factory=list[Turn])


def find_states(
    known: Sequence[tuple[ReadTurn, ReadNames]],
    turns: Sequence[Turn],
    corrections: Mapping[int, int | None],
    memories: Mapping[int, Memory],
) -> ProfileFindings:
    """Find what holds of what turns tell, and who comes up. Takes long for many turns."""
    states: defaultdict[str, list[ProfileState]] = defaultdict(list)
    for read, _ in known:
        for statement in read.statements:
            states[statement.area].append(ProfileState(statement, [statement]))
    found = ProfileFindings(states)
    found.corrected = corrected = _correct(found, turns, corrections, memories)
    endings = [ending for read, _ in known for ending in read.endings]
    for area, own in found.states.items():
        found.states[area] = _join_repetitions(own)
        _find_endings(area, found, endings)
        _find_successors(area, found)
    _leave_out_endings(found)
    found.entities = find_entities(
        [_held_names(read, corrected.get(read.turn.id, ()), names) for read, names in known]
    )
    return found


def _correct(
    found: ProfileFindings,
    turns: Sequence[Turn],
    corrections: Mapping[int, int | None],
    memories: Mapping[int, Memory],
) -> CorrectedTexts:
    """Put the user's corrections in the place of what they correct.

    Returns, by source turn, the texts of the corrected memories and the states that they tell.
    """
    sources: defaultdict[int, list[tuple[str, Sequence[ProfileState]]]] = defaultdict(list)
    by_id = {turn.id: turn for turn in turns}
    for old, new in sorted(corrections.items()):
        corrected: Sequence[ProfileState] = ()
        if old in memories:
            corrected = _stating(memories[old], found)
            for turn in memories[old].source_turns:
                sources[turn].append((_told(memories[old]), corrected))
        for state in corrected:
            state.ended = True
        added = memories[new].source_turns if new and new in memories else ()
        for turn in (by_id[source] for source in added if source in by_id):
            found.corrections.append(turn)
            _replace_by_correction(corrected, turn, found)
    return sources


def _held_names(
    read: ReadTurn, corrected: Sequence[tuple[str, Sequence[ProfileState]]], names: ReadNames
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


def _replace_by_correction(
    corrected: Sequence[ProfileState], turn: Turn, found: ProfileFindings
) -> None:
    """Put what a correction states, or else all of it, in the place of what was corrected."""
    own = [state for states in found.states.values() for state in states if state.turn is turn]
    if not own and corrected:
        first = corrected[0].statement
        text = " ".join(turn.text.split())
        terms = frozenset(tokenize(text))
        statement = replace(first, text=text, core=text, turn=turn, start=0, terms=terms)
        own = [ProfileState(statement, [statement])]
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


def _stating(memory: Memory, found: ProfileFindings) -> list[ProfileState]:
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


def _join_repetitions(states: Sequence[ProfileState]) -> list[ProfileState]:
    """Join what is said again in much the same words: the latest words stay, with the first day."""
    kept: list[ProfileState] = []
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


def _find_endings(area: str, found: ProfileFindings, endings: Sequence[Ending]) -> None:
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
            first = bisect_right(
                same, turn_order(statement.turn), key=lambda each: turn_order(each.turn)
            )
            near |= {id(each): each for each in same[first : first + COMMON]}
        for ending in sorted(near.values(), key=lambda each: turn_order(each.turn)):
            if _ends(ending, statement):
                state.ended = True
                found.changes.append((state, ending))
                break


def _leave_out_endings(found: ProfileFindings) -> None:
    """Leave out what the model read in a sentence that ended something: it says what is over."""
    over = {(by.turn.id, by.text) for _, by in found.changes if isinstance(by, Ending)}
    for area, own in found.states.items():
        found.states[area] = [
            state
            for state in own
            if not state.statement.by_model or (state.turn.id, state.statement.text) not in over
        ]


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
        and turn_order(newer.turn) > turn_order(older.turn)
    )


def _find_successors(area: str, found: ProfileFindings) -> None:
    """Find which states of an area a later one replaces."""
    states = [state for state in found.states[area] if not state.is_correction]
    replaced: set[int] = set()
    for at, later in comparable([state.statement for state in states]):
        older, newer = states[at], states[later]
        one, other = older.statement, newer.statement
        if at not in replaced and (one.single or replaces(other.core, one.core)):
            _replace(older, newer, found)
            replaced.add(at)


def _replace(older: ProfileState, newer: ProfileState, found: ProfileFindings) -> None:
    if not older.ended:
        found.changes.append((older, newer.statement))
    older.ended = True
    newer.before += [older, *older.before]
