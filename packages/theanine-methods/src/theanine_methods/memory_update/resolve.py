"""Resolve the decisions of a session into consistent outcomes for old and new statements.

New statements are taken in order of time. For a pair of an older statement M and a newer one N:

========= ================================ ==================================================
operation M                                N
========= ================================ ==================================================
PASS      stays                            stored as a ``repeat``, not returned
REPLACE   superseded by N                  stays
CHANGE    superseded by the merged         becomes one merged statement of N and of all
          statement                        statements that it changes
DELETE    withdrawn by N                   stored as an ``ending``, returned if configured
APPEND    stays                            stays
========= ================================ ==================================================

Conflicts:

- M is settled once. Against an M that an earlier N of the session superseded or withdrew, later
  operations count as APPEND; only PASS against a replaced M makes N a repeat of the replacement.
- An N that changes any M is merged with all that it changes. Otherwise, one that replaces any M
  stays; otherwise, one that ends any M is an ending; otherwise, one that repeats any M is a repeat.
  Its effects on all M's happen in any case.

An N that is not merely appended is derived from the M's that decided about it: forgetting one of
them makes N's session be remembered again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from theanine.types import STATEMENT, MarkKind, Memory
from theanine_methods.memory_update.operations import ENDING, REPEAT, Decision, Operation

_MARKS: dict[Operation, MarkKind] = {
    Operation.REPLACE: "superseded",
    Operation.CHANGE: "superseded",
    Operation.DELETE: "withdrawn",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What becomes of one new statement, and what it does to older ones.

    Attributes:
        kind: ``statement``, ``repeat`` or ``ending``.
        changes: the older statements that it is merged with, oldest first.
        derived_from: ids of the older statements that decided about it, ascending.
        derived_from_new: the position in the batch of the new statement that it repeats.
        marks: kind of mark and decision, for each older statement that it settles.
    """

    kind: str = STATEMENT
    changes: tuple[Memory, ...] = ()
    derived_from: tuple[int, ...] = ()
    derived_from_new: tuple[int, ...] = ()
    marks: tuple[tuple[MarkKind, Decision], ...] = ()


def resolve(count: int, decisions: Sequence[Decision]) -> list[Outcome]:
    """Return the outcomes of ``count`` new statements, which are in order of time.

    ``decisions`` are grouped by new statement, in the order of the batch; for each, the nearest
    older statement comes first. No older statement is marked twice.
    """
    outcomes = [Outcome()] * count
    settled: dict[int, tuple[int, Operation]] = {}
    for index, group in groupby(decisions, key=lambda decision: decision.pair.newer_index):
        own = list(group)
        acting = [
            decision
            for decision in own
            if decision.operation in _MARKS and decision.pair.older.id not in settled
        ]
        outcomes[index] = _acting_outcome(acting) if acting else _repeat_outcome(own, settled)
        for decision in own:
            if decision.operation in _MARKS:
                settled.setdefault(decision.pair.older.id, (index, decision.operation))
    return outcomes


def _acting_outcome(acting: Sequence[Decision]) -> Outcome:
    changed = [decision.pair.older for decision in acting if decision.operation is Operation.CHANGE]
    ends = all(decision.operation is Operation.DELETE for decision in acting)
    return Outcome(
        kind=ENDING if ends else STATEMENT,
        changes=tuple(sorted(changed, key=lambda memory: memory.order)),
        derived_from=tuple(sorted(decision.pair.older.id for decision in acting)),
        marks=tuple((_MARKS[decision.operation], decision) for decision in acting),
    )


def _repeat_outcome(own: Sequence[Decision], settled: dict[int, tuple[int, Operation]]) -> Outcome:
    """Return a repeat of the nearest statement that contains it, old or new, or a statement."""
    for decision in own:
        if decision.operation is not Operation.PASS:
            continue
        settled_by = settled.get(decision.pair.older.id)
        if settled_by is None:
            return Outcome(kind=REPEAT, derived_from=(decision.pair.older.id,))
        index, operation = settled_by
        if operation is Operation.REPLACE:
            return Outcome(kind=REPEAT, derived_from_new=(index,))
    return Outcome()
