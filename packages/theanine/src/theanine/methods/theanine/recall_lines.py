"""The lines of a recollection: which passages and statements of the ranking fit the budget."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from math import inf
from types import MappingProxyType

from theanine.retrieval.candidates import Candidate, Content, RankedCandidate
from theanine.retrieval.log_index import LogIndex
from theanine.retrieval.scope_index import ScopeIndex
from theanine.text.formatting import day_label, format_speaker, one_line
from theanine.tokenizer import count_tokens
from theanine.types import Memory, Turn

MAX_MISFITS = 20
"""Candidates that may fail to fit the budget before the search for smaller ones ends."""
LOADED = 48
"""Candidates that are read from the store at once."""
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
        score, relevance: the highest of a passage.
        repetitions: other turns that say the same.
        note: what to add to the words: that they were corrected.
        memories: the memories that the line stands for.
    """

    owner: Turn | Memory
    day: str
    passages: list[Candidate] = field(default_factory=list[Candidate])
    score: float = -inf
    relevance: float = 0.0
    repetitions: list[Turn] = field(default_factory=list[Turn])
    memories: list[Memory] = field(default_factory=list[Memory])
    note: str = ""

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


class _Told:
    """The selected passages by each of their words, of which a repetition has no others."""

    def __init__(self) -> None:
        self._by_word: defaultdict[str, list[tuple[Content, Line]]] = defaultdict(list)

    def add(self, content: Content, line: Line) -> None:
        for word in content.words or ("",):
            self._by_word[word].append((content, line))

    def find_repeated(self, content: Content, line: Line) -> Line | None:
        """Return another line that a passage only repeats, if there is one."""
        same_word = self._by_word.get(content.words[0] if content.words else "", ())
        return next(
            (other for told, other in same_word if other is not line and content.repeats(told)),
            None,
        )


async def select_lines(
    ranked: Sequence[RankedCandidate],
    log: LogIndex,
    budget: int | None,
    notes: Mapping[int, str] = MappingProxyType({}),
    shown: Collection[int] = (),
) -> list[Line]:
    """Select candidates, best first, whose lines and days fit the budget.

    ``notes`` are added to the lines of candidates, by their position. A statement whose sources are
    selected is skipped, and so is what repeats a selected line: that line says how often. So are
    the turns ``shown``, and statements of them.
    """
    lines: dict[Turn | Memory, Line] = {}
    told = _Told()
    days: set[tuple[int, str]] = set()
    quoted = set(shown)
    remaining = budget if budget is not None else inf
    misfits = 0
    loaded: list[Candidate] = []
    for place, found in enumerate(ranked):
        if remaining < MIN_LINE_TOKENS or misfits == MAX_MISFITS:
            break
        if place == len(loaded):
            loaded += await log.load(ranked[place : place + LOADED])
        candidate = loaded[place]
        owner = candidate.owner
        sources = owner.source_turns if isinstance(owner, Memory) else ()
        if (sources and quoted.issuperset(sources)) or (not sources and found.turn in shown):
            continue
        line = lines.get(owner) or Line(owner, day_label(owner.at, owner.dated))
        content = candidate.content
        note = notes.get(found.position, "")
        repeated = None if note else told.find_repeated(content, line)
        if isinstance(owner, Turn) and repeated:
            if owner not in repeated.repetitions:
                repeated.repetitions.append(owner)
            continue
        day = (owner.session, line.day)
        cost = candidate.tokens + (_CUT_TOKENS if line.passages else 0)
        cost += count_tokens(note) if note else 0
        if day not in days:
            cost += heading_tokens(line.day)
        if cost > remaining:
            misfits += 1
            continue
        remaining -= cost
        days.add(day)
        line.passages.append(candidate)
        line.note = note or line.note
        line.score = max(line.score, found.score)
        line.relevance = max(line.relevance, found.relevance)
        lines[owner] = line
        told.add(content, line)
        if isinstance(owner, Turn):
            quoted.add(owner.id)
    return _fold(lines.values())


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
        whole = line.passages[0]  # it has read its content already, and keeps it for later recalls
        same = by_words[
            whole.content
            if whole.is_whole and not owner.attachment
            else Content.read(owner.speaker, owner.text)
        ]
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


async def add_memories(lines: Sequence[Line], log: LogIndex, bounds: LogIndex | ScopeIndex) -> None:
    """Add the memories that the lines stand for."""
    numbers = {
        line: [line.owner.id]
        if isinstance(line.owner, Memory)
        else bounds.memories_of_turn(line.owner.id)
        for line in lines
    }
    wanted = (number for of_line in numbers.values() for number in of_line)
    memories = {memory.id: memory for memory in await log.memories(wanted)}
    for line, of_line in numbers.items():
        line.memories = [memories[number] for number in of_line]


def line_tokens(line: Line) -> int:
    """Return the tokens of a line after a line break."""
    whole = len(line.passages) == 1 and not line.repetitions and not line.note
    if whole and line.passages[0].is_whole:
        return line.passages[0].tokens
    return count_tokens(f"\n{line.text}")


@lru_cache(maxsize=10_000)
def heading_tokens(day: str) -> int:
    return count_tokens(f"\n-- {day}")


def line_order(line: Line) -> tuple[datetime, int, int]:
    return (line.owner.at, line.owner.session, line.owner.id)
