"""Lay out the lines of a recollection: what holds first, and all else by session and day.

States of one matter are a part of their own, the newest first. What is linked joins the days on
which it was said, in order of time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from theanine.graph import Pair
from theanine.recall.relation_notes import RELATION_NOTES
from theanine.recall.select import Line, heading_tokens, line_order, line_tokens, newest_first
from theanine.tokenizer import count_tokens
from theanine.types import Relation


@dataclass(frozen=True, slots=True)
class LineGroup:
    """The lines of one part.

    Attributes:
        lines: the states of a matter, the newest first, or all else that was selected of some days
            of sessions, in order of time.
        path: the best timeline among them, by memory, oldest first; empty without any.
        sequels: for a line of a timeline, the next one and what it says of their relation.
    """

    lines: Sequence[Line]
    path: Mapping[int, Line]
    sequels: dict[Line, tuple[Line, str]]

    @property
    def added_tokens(self) -> int:
        """The tokens of the headings and relations."""
        moved = {line for line, _ in self.sequels.values()}
        headings = {(line.owner.session, line.day) for line in self.lines if line not in moved}
        notes = sum(_note_tokens(note) for _, note in self.sequels.values())
        return notes + sum(heading_tokens(day) for _, day in headings)

    def __str__(self) -> str:
        """The text: each line but a sequel under its day, and sequels after what they follow."""
        moved = {line for line, _ in self.sequels.values()}
        result: list[str] = []
        day = ""
        for line in self.lines:
            if line in moved:
                continue
            if line.day != day:
                result.append(f"-- {line.day}")
                day = line.day
            result.append(line.text)
            last = line
            while last in self.sequels:
                last, note = self.sequels[last]
                result.append(note + last.text)
        return "\n".join(result)


Relations = Mapping[Pair, Relation | None]
"""The relations of memories to each other, by older and newer memory, ascending."""


def lay_out(lines: Sequence[Line], relations: Relations, budget: int | None) -> list[LineGroup]:
    """Return the lines by part, within the budget; ``relations`` are those of their memories.

    ``lines`` are given in the order in which they were selected. Those of one session and day stay
    together under one heading; what is linked joins them. Headings and relations can exceed the
    budget: then lines are left out, the last ones first.
    """
    kept = list(lines)
    tokens = {line: line_tokens(line) for line in kept}
    while True:
        groups = _groups(kept, relations)
        total = sum(tokens[line] for line in kept) + sum(group.added_tokens for group in groups)
        if budget is None or total <= budget:
            return groups
        kept.pop()


def _groups(kept: Sequence[Line], relations: Relations) -> list[LineGroup]:
    """Return the parts that lines make."""
    matters: defaultdict[int, list[Line]] = defaultdict(list)
    for line in kept:
        if line.matter is not None:
            matters[line.matter].append(line)
    groups: list[LineGroup] = []
    for states in matters.values():
        if len(states) > 1:
            (path, *_) = _paths(states, relations) or [{}]
            groups.append(LineGroup(sorted(states, key=newest_first), path, {}))
    stated = {line for group in groups for line in group.lines}
    return groups + _by_day([line for line in kept if line not in stated], relations)


def _by_day(kept: Sequence[Line], relations: Relations) -> list[LineGroup]:
    """Return parts of the lines of one session and day, joined by what is linked."""
    days: dict[tuple[int, str], list[Line]] = {}
    for line in sorted(kept, key=line_order):
        days.setdefault((line.owner.session, line.day), []).append(line)
    groups: list[LineGroup] = []
    group_of: dict[Line, int] = {}
    for path in _paths(kept, relations):
        sequels = _find_sequels(path, relations)
        keys = dict.fromkeys((line.owner.session, line.day) for line in path.values())
        if days.keys() >= keys.keys():
            joined = [line for key in keys for line in days.pop(key)]
            group_of |= dict.fromkeys(joined, len(groups))
            groups.append(LineGroup(sorted(joined, key=line_order), path, sequels))
            continue
        for line, sequel in sequels.items():  # a better timeline has taken one of its days
            number = group_of.get(line)
            if number is not None and number == group_of.get(sequel[0]):
                groups[number].sequels[line] = sequel
    return groups + [LineGroup(group, {}, {}) for group in days.values()]


@lru_cache(maxsize=10_000)
def _note_tokens(note: str) -> int:
    return count_tokens(note)


def _paths(lines: Sequence[Line], relations: Relations) -> list[dict[int, Line]]:
    """Return paths of linked memories with their lines, oldest first; no line is in two paths.

    Paths start at the best line and grow to both sides, each time by the best linked line.
    """
    by_memory: dict[int, Line] = {}  # the best line of each: lines are sorted
    for line in sorted(lines, key=lambda line: -line.score):
        for memory in line.memories:
            by_memory.setdefault(memory.id, line)
    relations = {pair: relations[pair] for pair in relations if by_memory.keys() >= {*pair}}
    older_of, newer_of = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for (older, newer), relation in relations.items():
        if relation is not Relation.SAME_TOPIC:
            older_of[newer].append(older)
            newer_of[older].append(newer)
    free = set(lines)
    paths: list[dict[int, Line]] = []
    for line in sorted(lines, key=lambda line: -line.score):
        for memory in line.memories if line in free else ():
            path = [memory.id]
            taken = {line}
            for end, linked in ((0, older_of), (-1, newer_of)):
                while others := [
                    other for other in linked[path[end]] if by_memory[other] in free - taken
                ]:
                    best = max(others, key=lambda other: by_memory[other].score)
                    path.insert(len(path) if end else 0, best)
                    taken.add(by_memory[best])
            if len(path) > 1:
                free -= taken
                paths.append({memory: by_memory[memory] for memory in path})
                break
    return paths


def _find_sequels(path: Mapping[int, Line], relations: Relations) -> dict[Line, tuple[Line, str]]:
    """Return the sequels in a path, with their relations, days and years as far as they differ.

    A line whose relation has no words is none.
    """
    sequels: dict[Line, tuple[Line, str]] = {}
    for older, newer in pairwise(path):
        relation, line = relations[older, newer], path[newer]
        if words := RELATION_NOTES.get(relation) if relation else None:
            day = line.day
            if day == path[older].day or not line.owner.dated:
                day = ""
            elif line.owner.at.year == path[older].owner.at.year:
                day = day.removesuffix(f" {line.owner.at.year}")
            sequels[path[older]] = line, f"({day}{': ' * bool(day)}{words}) "
    return sequels
