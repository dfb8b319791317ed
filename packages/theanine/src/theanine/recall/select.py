"""The lines of a recollection: which passages and statements of the ranking fit the budget."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from itertools import pairwise
from math import inf, isnan, log1p
from types import MappingProxyType

import numpy as np

from theanine.fences import one_line, with_code
from theanine.recall.resolve import Matter
from theanine.recall.verify import unverified_note
from theanine.retrieval.candidates import Candidate, RankedCandidate
from theanine.retrieval.contents import Content
from theanine.retrieval.log_index import LogIndex
from theanine.text.formatting import day_label, format_speaker
from theanine.tokenizer import count_tokens
from theanine.types import Memory, Turn

MAX_MISFITS = 20
"""Candidates that may fail to fit the budget before the search for smaller ones ends."""
SPREAD = 1.0
"""How much lower the second of a session scores, times ln 2, where a question asks for several
things."""
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
        memories: the memories that the line stands for; that of a turn for none that tells what
            holds now.
        note: what to add to the words: that they were corrected, or are to be verified.
        matter: number of the matter of which it tells a state, where another line tells one too.
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
    matter: int | None = None

    @property
    def text(self) -> str:
        """The line without its day; it never begins as a day's heading does."""
        words = self._words
        return (f"– {words[3:]}" if words.startswith("-- ") else words) + self.note

    @property
    def _other_time(self) -> str:
        """When it was said last, or first if this is the last time."""
        first, last = (
            extreme(self.repetitions, key=lambda turn: turn.at) for extreme in (min, max)
        )
        is_last = self.owner.at > last.at
        other = first if is_last else last
        day = day_label(other.at, True)
        return f", {'first' if is_last else 'last'} on {day}" if other.dated else ""

    @property
    def _words(self) -> str:
        if isinstance(self.owner, Memory):
            return one_line(self.owner.text)
        if self.passages[0].is_whole and not self.repetitions:
            words = self.owner.full_text
            return f"{format_speaker(self.owner.speaker)}: {with_code(words, 0, len(words))}"
        spans = sorted(passage.span for passage in self.passages)
        words = self.owner.full_text
        pieces = [CUT] if spans[0][0] > 0 else []
        for (start, end), (following, _) in pairwise([*spans, (len(words), 0)]):
            pieces.append(with_code(words, start, end))
            if words[end:following].strip():
                pieces.append(CUT)
        if self.repetitions:
            pieces.append(f"(said {len(self.repetitions) + 1} times{self._other_time})")
        return f"{format_speaker(self.owner.speaker)}: {' '.join(pieces)}"


@dataclass(slots=True, eq=False)
class _Choice:
    """A line that was selected by its numbers in the index, before its text is read.

    Attributes:
        tokens: tokens of the first candidate.
        found: the candidates, best first.
        repetitions: numbers of the turns that say the same.
        matter: number of the matter, of several states.
    """

    day: str
    content: Content
    tokens: int
    found: list[RankedCandidate] = field(default_factory=list[RankedCandidate])
    repetitions: list[int] = field(default_factory=list[int])
    note: str = ""
    matter: int | None = None

    @property
    def owner(self) -> tuple[int, int]:
        """The numbers of its turn and memory; one of them is 0."""
        return self.found[0].turn, self.found[0].memory


def spread(matters: Sequence[Matter], log: LogIndex) -> list[Matter]:
    """Return matters so that the best of each session come before the second best, and so on.

    A list, a count or a summary needs what was said at many times.
    """
    counts: defaultdict[int, int] = defaultdict(int)
    keys: list[float] = []
    for matter in matters:
        session = int(log.candidates.sessions[matter.states[0].position])
        keys.append(SPREAD * log1p(counts[session]) - matter.score)
        counts[session] += 1
    return [matters[number] for number in sorted(range(len(matters)), key=keys.__getitem__)]


async def select_lines(
    matters: Sequence[Matter],
    log: LogIndex,
    budget: int | None,
    notes: Mapping[int, str] = MappingProxyType({}),
    shown: Collection[int] = (),
    present: datetime | None = None,
) -> list[Line]:
    """Select candidates, matter by matter, whose lines and days fit the budget.

    An older state is only selected with the newest one of its matter. ``notes`` are added to the
    lines of candidates, by their position. A statement whose sources are selected is skipped, and
    so is what repeats a selected line: that line says how often. So are the turns ``shown``, and
    statements of them. Memories outside the bounds of ``log`` are left out of lines. What is to be
    verified at the ``present`` says so.
    """
    choices = _choose(matters, log, budget, notes, shown)
    of_turns = log.memories_of_turns([choice.owner[0] for choice in choices])
    supported = {
        choice.owner: [choice.owner[1], *log.told_by(choice.owner[1])]
        if choice.owner[1]
        else [memory for memory in of_turns[choice.owner[0]] if not log.told_by(memory)]
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
            note=choice.note or unverified_note([owner], present),
            matter=choice.matter,
        )
        lines.append(line)
    return _fold(lines)


def _choose(
    matters: Sequence[Matter],
    log: LogIndex,
    budget: int | None,
    notes: Mapping[int, str],
    shown: Collection[int],
) -> list[_Choice]:
    """Select candidates by what the index has of them, without reading their words."""
    candidates = log.candidates
    ranked = [(found, number) for number, each in enumerate(matters) for found in each.states]
    at = np.array([found.position for found, _ in ranked], np.int64)
    lengths: list[int] = candidates.tokens[at].tolist()
    sessions: list[int] = candidates.sessions[at].tolist()
    ordinals: list[float] = candidates.days[at].tolist()
    selection = _Selection(log, budget, notes, shown)
    without_newest: set[int] = set()
    for (found, number), content, tokens, session, ordinal in zip(
        ranked, candidates.contents(at), lengths, sessions, ordinals, strict=True
    ):
        if selection.is_full:
            break
        if number in without_newest:
            continue
        states = matters[number].states
        of_matter = number if len(states) > 1 else None
        day = (session, _format_day(None if isnan(ordinal) else int(ordinal)))
        is_added = selection.add(found, content, tokens, day, of_matter)
        if not is_added and found in states[:1] and matters[number].is_claimed:
            without_newest.add(number)
    return list(selection.choices.values())


class _Selection:
    """What is selected of the candidates, within a budget."""

    def __init__(
        self, log: LogIndex, budget: int | None, notes: Mapping[int, str], shown: Collection[int]
    ) -> None:
        self._log, self._notes, self._shown = log, notes, shown
        self._remaining = inf if budget is None else budget
        self._misfits = 0
        self._days: set[tuple[int, str]] = set()
        self._quoted = set(shown)
        self._same_kind: defaultdict[int, list[tuple[Content, frozenset[int], _Choice]]]
        self._same_kind = defaultdict(list)
        self.choices: dict[tuple[int, int], _Choice] = {}

    @property
    def is_full(self) -> bool:
        """Whether nothing more is likely to fit."""
        return self._remaining < MIN_LINE_TOKENS or self._misfits == MAX_MISFITS

    def add(
        self,
        found: RankedCandidate,
        content: Content,
        tokens: int,
        day: tuple[int, str],
        matter: int | None,
    ) -> bool:
        """Add a candidate of a session and day; False if it doesn't fit.

        One that is told already is only counted.
        """
        if self._is_told(found):
            return True
        note = self._notes.get(found.position, "")
        choice = self.choices.get((found.turn, found.memory))
        if repeated := self._find_repeated(found, content, choice, note):
            if found.turn not in repeated.repetitions:
                repeated.repetitions.append(found.turn)
            return True
        cost = tokens + (_CUT_TOKENS if choice else 0) + (count_tokens(note) if note else 0)
        if day not in self._days:
            cost += heading_tokens(day[1])
        if cost > self._remaining:
            self._misfits += 1
            return False
        self._remaining -= cost
        self._days.add(day)
        if choice is None:
            choice = _Choice(day[1], content, tokens, matter=matter)
            self.choices[found.turn, found.memory] = choice
        choice.found.append(found)
        choice.note = note or choice.note
        self._same_kind[content.kind].append((content, frozenset(content.words), choice))
        if found.turn:
            self._quoted.add(found.turn)
        return True

    def _is_told(self, found: RankedCandidate) -> bool:
        if found.memory:
            return _is_quoted(found, self._log, self._quoted)
        return found.turn in self._shown

    def _find_repeated(
        self, found: RankedCandidate, content: Content, choice: _Choice | None, note: str
    ) -> _Choice | None:
        if note or found.memory:
            return None
        return _find_repeated(content, choice, self._same_kind[content.kind])


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


def newest_first(line: Line) -> tuple[float, int, int]:
    return (-line.owner.at.timestamp(), -line.owner.session, -line.owner.id)


def line_order(line: Line) -> tuple[datetime, int, int]:
    return (line.owner.at, line.owner.session, line.owner.id)
