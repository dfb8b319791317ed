"""Arrange the lines of a recollection: by session and day, and what is linked in order of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType

from theanine.graph import Graph
from theanine.methods.theanine.adjust_ranking import linked_memories
from theanine.methods.theanine.recall_lines import Line, heading_tokens, line_order, line_tokens
from theanine.methods.theanine.relation_notes import RELATION_NOTES
from theanine.tokenizer import count_tokens
from theanine.types import Relation


@dataclass(frozen=True, slots=True)
class LineGroup:
    """The lines of one part, in order of time.

    Attributes:
        lines: all that was selected of some days of sessions.
        path: those of them that are linked, by memory, oldest first; empty if none is.
    """

    lines: Sequence[Line]
    path: Mapping[int, Line]


def arrange_lines(lines: Sequence[Line], graph: Graph, budget: int | None) -> list[LineGroup]:
    """Return the lines by part, within the budget.

    The lines of one session and day stay together under one heading; what is linked joins them.
    Headings and relations can exceed the budget: then timelines without a change are given up, the
    lowest scores first, and only then lines.
    """
    kept = sorted(lines, key=lambda line: -line.score)
    tokens = {line: line_tokens(line) for line in kept}
    paths = _paths(kept, graph)
    paths.sort(key=lambda path: Relation.CHANGED not in path_relations(path, graph).values())
    while True:
        days: dict[tuple[int, str], list[Line]] = {}
        for line in sorted(kept, key=line_order):
            days.setdefault((line.owner.session, line.day), []).append(line)
        excess = sum(tokens[line] for line in kept)
        excess += sum(heading_tokens(day) for _, day in days)
        groups: list[LineGroup] = []
        for path in paths:
            keys = dict.fromkeys((line.owner.session, line.day) for line in path.values())
            if days.keys() >= keys.keys():  # else a better timeline has taken one of its days
                joined = [line for key in keys for line in days.pop(key)]
                groups.append(LineGroup(sorted(joined, key=line_order), path))
                excess += sum(map(_relation_tokens, path_relations(path, graph).values()))
        groups += [LineGroup(group, {}) for group in days.values()]
        if budget is None or excess <= budget:
            return groups
        if paths:
            paths.pop()
        else:
            kept.pop()


@lru_cache(maxsize=len(Relation) + 1)
def _relation_tokens(relation: Relation | None) -> int:
    return count_tokens(_note(relation))


def _note(relation: Relation | None) -> str:
    """Return what a line says of its relation to the one before it; empty for some."""
    words = RELATION_NOTES.get(relation) if relation else None
    return f"({words}) " if words else ""


def _paths(lines: Sequence[Line], graph: Graph) -> list[dict[int, Line]]:
    """Return paths of linked memories with their lines, oldest first; no line is in two paths.

    Paths start at the best line and grow to both sides, each time by the best linked line.
    """
    by_memory = {memory.id: line for line in lines for memory in line.memories}
    free = set(lines)
    paths: list[dict[int, Line]] = []
    for line in sorted(lines, key=lambda line: -line.score):
        for memory in line.memories if line in free else ():
            path = [memory.id]
            taken = {line}
            for end in (0, -1):
                while linked := [
                    other
                    for other, link in linked_memories(path[end], graph)
                    if (link.older == other) is (end == 0)
                    and link.relation is not Relation.SAME_TOPIC
                    and by_memory.get(other) in free - taken
                ]:
                    best = max(linked, key=lambda other: by_memory[other].score)
                    path.insert(len(path) if end else 0, best)
                    taken.add(by_memory[best])
            if len(path) > 1:
                free -= taken
                paths.append({memory: by_memory[memory] for memory in path})
                break
    return paths


def path_relations(path: Mapping[int, Line], graph: Graph) -> dict[Line, Relation | None]:
    """Return the relation of each line of a path to the one before it, but for the first."""
    return {path[newer]: graph.links[older, newer].relation for older, newer in pairwise(path)}


def format_lines(
    lines: Sequence[Line], relations: Mapping[Line, Relation | None] = MappingProxyType({})
) -> str:
    """Return lines in their order; each change of day adds a heading."""
    result: list[str] = []
    day = ""
    for line in lines:
        if line.day != day:
            result.append(f"-- {line.day}")
            day = line.day
        result.append(_note(relations.get(line)) + line.text)
    return "\n".join(result)
