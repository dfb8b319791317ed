"""The lines of a recollection: which passages and statements of the ranking fit the budget."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from itertools import pairwise
from math import inf, isnan
from types import MappingProxyType

import numpy as np

from theanine.retrieval.candidates import Candidate, RankedCandidate
from theanine.retrieval.contents import Content
from theanine.retrieval.log_index import LogIndex
from theanine.retrieval.scope_index import ScopeIndex
from theanine.text.formatting import day_label, format_speaker, one_line
from theanine.tokenizer import count_tokens
from theanine.types import Memory, Turn

MAX_MISFITS = 20
"""Candidates that may fail to fit the budget before the search for smaller ones ends."""
MIN_LINE_TOKENS = 5
"""Below this remaining budget no further line fits."""
CUT = "…"
"""Stands for the passages of a turn that are left out."""
_CUT_TOKENS = 3


@dataclass(slots=True, eq=False)
class Line:
    """One line of the recollection: the selected passages of a turn, or one statement.

    Attributes:
        owner: the turn or the memory.
        passages: the selected candidates of that owner.
        content: what the first of them says.
        tokens: those of that passage.
        score, relevance: the highest of a passage.
        repetitions: other turns that say the same.
        memories: the memories that the line stands for.
        note: what to add to the words: that they were corrected.
    """

    owner: Turn | Memory
    day: str
    passages: list[Candidate]
    content: Content
    tokens: int
    score: float
    relevance: float
    repetitions: list[Turn]
    memories: list[Memory]
    note: str

    @property
    def text(self) -> str:
        """The line without its day; it never begins as a day's heading does."""
        words = self._words
        return (f"– {words[3:]}" if words.startswith("-- ") else words) + self.note

    @property
    def _words(self) -> str:
        if isinstance(self.owner, Memory):
            return one_line(self.owner.text)
        if self.passages[0].is_whole and not self.repetitions:
            return f"{format_speaker(self.owner.speaker)}: {one_line(self.owner.full_text)}"
        spans = sorted(passage.span for passage in self.passages)
        words = self.owner.full_text
        pieces = [CUT] if spans[0][0] > 0 else []
        for (start, end), (following, _) in pairwise([*spans, (len(words), 0)]):
            pieces.append(one_line(words[start:end]))
            if words[end:following].strip():
                pieces.append(CUT)
        if self.repetitions:
            last = max(self.repetitions, key=lambda turn: turn.at)
            when = f", last on {day_label(last.at, True)}" if last.dated else ""
            pieces.append(f"(said {len(self.repetitions) + 1} times{when})")
        return f"{format_speaker(self.owner.speaker)}: {' '.join(pieces)}"


@dataclass(slots=True, eq=False)
class _Choice:
    """A line that was selected by its numbers in the index, before its text is read.

    Attributes:
        tokens: tokens of the first candidate.
        found: the candidates, best first.
        repetitions: numbers of the turns that say the same.
    """

    day: str
    content: Content
    tokens: int
    found: list[RankedCandidate] = field(default_factory=list[RankedCandidate])
    repetitions: list[int] = field(default_factory=list[int])
    note: str = ""

    @property
    def owner(self) -> tuple[int, int]:
        """The numbers of its turn and memory; one of them is 0."""
        return self.found[0].turn, self.found[0].memory


async def select_lines(
    ranked: Sequence[RankedCandidate],
    log: LogIndex,
    bounds: LogIndex | ScopeIndex,
    budget: int | None,
    notes: Mapping[int, str] = MappingProxyType({}),
    shown: Collection[int] = (),
) -> list[Line]:
    """Select candidates, best first, whose lines and days fit the budget.

    ``notes`` are added to the lines of candidates, by their position. A statement whose sources are
    selected is skipped, and so is what repeats a selected line: that line says how often. So are
    the turns ``shown``, and statements of them. Memories outside ``bounds`` are left out of lines.
    """
    choices = _choose(ranked, log, budget, notes, shown)
    of_turns = bounds.memories_of_turns([choice.owner[0] for choice in choices])
    supported = {
        choice.owner: [choice.owner[1]] if choice.owner[1] else of_turns[choice.owner[0]]
        for choice in choices
    }
    turns, memories = await log.read(
        [turn for choice in choices for turn in (choice.owner[0], *choice.repetitions) if turn],
        [memory for of_choice in supported.values() for memory in of_choice],
    )
    spans = log.candidates.spans([found.position for choice in choices for found in choice.found])
    lines: list[Line] = []
    for choice in choices:
        turn, memory = choice.owner
        owner = turns.get(turn) if turn else memories.get(memory)
        if owner is None:  # erased since the index was read
            continue
        line = Line(
            owner=owner,
            day=choice.day,
            passages=[Candidate(owner, spans[found.position]) for found in choice.found],
            content=choice.content,
            tokens=choice.tokens,
            score=max(found.score for found in choice.found),
            relevance=max(found.relevance for found in choice.found),
            repetitions=[turns[turn] for turn in choice.repetitions if turn in turns],
            memories=[memories[each] for each in supported[choice.owner] if each in memories],
            note=choice.note,
        )
        lines.append(line)
    return _fold(lines)


def _choose(
    ranked: Sequence[RankedCandidate],
    log: LogIndex,
    budget: int | None,
    notes: Mapping[int, str],
    shown: Collection[int],
) -> list[_Choice]:
    """Select candidates by what the index has of them, without reading their words."""
    candidates = log.candidates
    at = np.array([found.position for found in ranked], np.int64)
    columns = (candidates.tokens, candidates.sessions, candidates.days)
    choices: dict[tuple[int, int], _Choice] = {}
    same_kind: defaultdict[int, list[tuple[Content, frozenset[int], _Choice]]] = defaultdict(list)
    days: set[tuple[int, str]] = set()
    quoted = set(shown)
    remaining = budget if budget is not None else inf
    misfits = 0
    for found, content, tokens, session, ordinal in zip(
        ranked,
        candidates.contents(at),
        *(column[at].tolist() for column in columns),
        strict=True,
    ):
        if remaining < MIN_LINE_TOKENS or misfits == MAX_MISFITS:
            break
        if _is_quoted(found, log, quoted) if found.memory else found.turn in shown:
            continue
        note = notes.get(found.position, "")
        choice = choices.get((found.turn, found.memory))
        repeated = (
            None
            if note or found.memory
            else _find_repeated(content, choice, same_kind[content.kind])
        )
        if repeated:
            if found.turn not in repeated.repetitions:
                repeated.repetitions.append(found.turn)
            continue
        day = _format_day(None if isnan(ordinal) else int(ordinal))
        cost = tokens + (_CUT_TOKENS if choice else 0)
        cost += count_tokens(note) if note else 0
        if (session, day) not in days:
            cost += heading_tokens(day)
        if cost > remaining:
            misfits += 1
            continue
        remaining -= cost
        days.add((session, day))
        if choice is None:
            choice = choices[found.turn, found.memory] = _Choice(day, content, tokens)
        choice.found.append(found)
        choice.note = note or choice.note
        same_kind[content.kind].append((content, frozenset(content.words), choice))
        if found.turn:
            quoted.add(found.turn)
    return list(choices.values())


def _is_quoted(statement: RankedCandidate, log: LogIndex, quoted: Collection[int]) -> bool:
    """Whether all turns that support a statement are quoted; False without any."""
    sources = log.source_turns(statement.memory)
    return bool(sources) and all(source in quoted for source in sources)


def _find_repeated(
    content: Content,
    choice: _Choice | None,
    told: Iterable[tuple[Content, frozenset[int], _Choice]],
) -> _Choice | None:
    """Return another choice that a passage only repeats, if there is one.

    ``told`` has each other passage of its kind with its words as a set, which few contain.
    """
    words = content.words
    for earlier, earlier_words, other in told:
        if earlier_words.issuperset(words) and other is not choice and content.repeats(earlier):
            return other
    return None


@lru_cache(maxsize=10_000)
def _format_day(ordinal: int | None) -> str:
    """Return the heading of a day, given as an ordinal; None for an unknown one."""
    return day_label(date.fromordinal(ordinal or 1), ordinal is not None)


def _fold(lines: Iterable[Line]) -> list[Line]:
    """Return the lines with one for all turns of the same words: that with the most of them.

    Passages of two such turns, or one with an attachment, can have been selected side by side.
    """
    result: list[Line] = []
    by_words: defaultdict[Content, list[int]] = defaultdict(list)
    for line in lines:
        owner = line.owner
        if isinstance(owner, Memory) or line.note or not owner.text.strip():
            result.append(line)
            continue
        is_all = line.passages[0].is_whole and not owner.attachment
        same = by_words[line.content if is_all else Content.read(line.content.speaker, owner.text)]
        for place in same:
            other = result[place]
            if isinstance(other.owner, Turn) and _may_fold(owner, other.owner):
                result[place] = _folded(line, other)
                break
        else:
            same.append(len(result))
            result.append(line)
    return result


def _may_fold(one: Turn, other: Turn) -> bool:
    """Whether two turns of the same words don't differ in what they share."""
    return one.attachment == other.attachment or not (one.attachment and other.attachment)


def _folded(line: Line, other: Line) -> Line:
    """Return the line of one turn with the other turn as a repetition."""

    def fullness(line: Line) -> tuple[int, bool]:
        return len(line.passages), isinstance(line.owner, Turn) and bool(line.owner.attachment)

    kept, dropped = (line, other) if fullness(line) > fullness(other) else (other, line)
    turns = [*kept.repetitions, *dropped.repetitions, dropped.owner]
    kept.repetitions = [
        turn for turn in dict.fromkeys(turns) if isinstance(turn, Turn) and turn != kept.owner
    ]
    kept.score = max(kept.score, dropped.score)
    kept.relevance = max(kept.relevance, dropped.relevance)
    return kept


def line_tokens(line: Line) -> int:
    """Return the tokens of a line after a line break."""
    whole = len(line.passages) == 1 and not line.repetitions and not line.note
    if whole and line.passages[0].is_whole:
        return line.tokens
    return count_tokens(f"\n{line.text}")


@lru_cache(maxsize=10_000)
def heading_tokens(day: str) -> int:
    return count_tokens(f"\n-- {day}")


def line_order(line: Line) -> tuple[datetime, int, int]:
    return (line.owner.at, line.owner.session, line.owner.id)
