"""Claims on requests that must be carried out once, and their stored answers.

The first change that a request makes is recorded with its claim, in the transaction of the change.
So when a process dies, it is known whether its request has changed anything; if not, it is
repeated.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

import sqlalchemy as sa

from theanine.errors import Stale
from theanine.store.sql import schema as t
from theanine.types import Scope


@dataclass(slots=True, kw_only=True)
class Claim:
    """The right of one process to carry out a request.

    Attributes:
        tenant, api_key: who sent the request.
        name: hash of its ``Idempotency-Key``.
        number: which process has it; higher for each one that takes the request over.
        ended: whether the request has been answered; later changes by its tasks are not recorded.
        withheld: whether the answer must not be stored.
    """

    tenant: str
    api_key: str
    name: str
    number: int = 1
    ended: bool = False
    withheld: bool = False

    @property
    def row(self) -> sa.ColumnElement[bool]:
        """Condition that selects the row of the request."""
        r = t.idempotent_request.c
        return sa.and_(r.tenant == self.tenant, r.api_key == self.api_key, r.name == self.name)

    @property
    def is_held(self) -> sa.ColumnElement[bool]:
        """Condition that selects the row while the claim is held: not ended, not taken over."""
        r = t.idempotent_request.c
        return sa.and_(self.row, r.taking == self.number, r.until.is_not(None))


_current: ContextVar[Claim | None] = ContextVar("theanine_claim", default=None)


def record_changes(claim: Claim) -> None:
    """Record from now on what this task, and those that it starts, change."""
    _current.set(claim)


def note_change(db: sa.Connection) -> None:
    """Record in a transaction that the current request changes something, if it is claimed.

    Raises Stale, so that nothing is changed, if another process has taken the request over.
    """
    claim = _current.get()
    if claim is None or claim.ended:
        return
    noted = t.idempotent_request.update().where(claim.is_held).values(changed=True)
    if not db.execute(noted).rowcount:
        raise Stale(
            "nothing was stored: the request took so long that another process has begun it again"
        )


def erase_answers(db: sa.Connection, scope: Scope | None) -> None:
    """Erase the stored answers about a scope, or all; running requests won't store theirs.

    The request that erases still stores its own.
    """
    r = t.idempotent_request.c
    others = t.idempotent_request.update()
    if scope is not None:
        others = others.where(
            r.tenant == scope.tenant, r.user == scope.user, r.agent == scope.agent
        )
    if (claim := _current.get()) is not None:
        others = others.where(~claim.row)
    db.execute(others.values(kept=False, headers="{}", body=None))
