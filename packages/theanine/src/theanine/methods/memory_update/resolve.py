"""What the decisions of a session do to old and new statements, without contradiction.

New statements are taken one after another, in order of time. For each pair of an older statement M
and a newer one N:

========= ================================ ==================================================
operation M                                N
========= ================================ ==================================================
PASS      stays                            kept as a ``repeat``, not given back
REPLACE   superseded by N                  stays
CHANGE    superseded by the merged         becomes one merged statement, made of N and of all
          statement                        statements that it changes
DELETE    withdrawn by N                   kept as an ``ending``, given back if so set
APPEND    stays                            stays
========= ================================ ==================================================

Where one meets several:

- M is settled once. What a later N was to do to an M that an earlier N of the session superseded or
  withdrew counts as APPEND; only PASS against an M that was replaced makes N a repeat of what
  replaced it.
- N that changes any M is merged with all that it changes, whatever else it does; else N that
  replaces any M stays as it is; else N that ends any M is an ending; else N that any M holds
  already is a repeat. What it does to each M happens all the same.

Every N that is not merely appended has the M's behind it as origins: forget one of them, and N is
decided about anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from theanine.methods.memory_update.decision import ENDING, REPEAT, Decision, Operation
from theanine.types import STATEMENT, MarkKind, Memory

_MARKS: dict[Operation, MarkKind] = {
    Operation.REPLACE: "superseded",
    Operation.CHANGE: "superseded",
    Operation.DELETE: "withdrawn",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What becomes of one new statement, and what it does to older ones.

    Attributes:
        kind: ``statement``, ``repeat`` or ``ending``.
        changes: the older statements that it is merged with, oldest first; empty: none.
        origins: ids of the older statements that decided about it, ascending.
        beside: the new statement that it repeats, by its place in the batch.
        marks: kind of mark and decision, for each older statement that it settles.
    """

    kind: str = STATEMENT
    changes: tuple[Memory, ...] = ()
    origins: tuple[int, ...] = ()
    beside: tuple[int, ...] = ()
    marks: tuple[tuple[MarkKind, Decision], ...] = ()


def resolve(count: int, decisions: Sequence[Decision]) -> list[Fate]:
    """The fates of ``count`` new statements, which are in order of time.

    ``decisions`` come grouped by new statement, in the order of the batch; of each, the nearest
    older statement first. No older statement is marked twice.
    """
    fates = [Fate()] * count
    settled: dict[int, tuple[int, Operation]] = {}
    for index, group in groupby(decisions, key=lambda decision: decision.pair.index):
        own = list(group)
        fates[index] = _fate(own, settled)
        for decision in own:
            if decision.operation in _MARKS:
                settled.setdefault(decision.pair.older.id, (index, decision.operation))
    return fates


def _fate(own: Sequence[Decision], settled: dict[int, tuple[int, Operation]]) -> Fate:
    open_ = [decision for decision in own if decision.pair.older.id not in settled]
    acting = [decision for decision in open_ if decision.operation in _MARKS]
    if not acting:
        return _repeat(own, settled)
    changed = [one.pair.older for one in acting if one.operation is Operation.CHANGE]
    ends = all(decision.operation is Operation.DELETE for decision in acting)
    return Fate(
        kind=ENDING if ends else STATEMENT,
        changes=tuple(sorted(changed, key=lambda memory: memory.order)),
        origins=tuple(sorted(decision.pair.older.id for decision in acting)),
        marks=tuple((_MARKS[decision.operation], decision) for decision in acting),
    )


def _repeat(own: Sequence[Decision], settled: dict[int, tuple[int, Operation]]) -> Fate:
    """A repeat of the nearest that holds it already, old or new; or a statement of its own."""
    for decision in own:
        if decision.operation is not Operation.PASS:
            continue
        by = settled.get(decision.pair.older.id)
        if by is None:
            return Fate(kind=REPEAT, origins=(decision.pair.older.id,))
        if by[1] is Operation.REPLACE:
            return Fate(kind=REPEAT, beside=(by[0],))
    return Fate()
