"""Leases: the right to remember in a scope, under a number that rises with each holder.

All times are the database's, so that processes whose clocks differ agree on who holds a lease. What
a holder writes is refused as soon as its lease has expired or passed to another one.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa

from theanine.clock import duration_micros, moment
from theanine.errors import LeaseLost
from theanine.store.processes import is_dead
from theanine.store.sql import schema as t
from theanine.store.sql.holders import DatabaseTime
from theanine.store.sql.scopes import find_scope, update_state
from theanine.types import Scope

_STATE = t.scope_state.c
IS_LEASED = sa.and_(_STATE.lease_holder.is_not(None), _STATE.lease_until > DatabaseTime())
"""Whether a scope's lease is held."""

# Built once: an import takes hundreds of leases a second.
_UNTIL = DatabaseTime() + sa.bindparam("lasting", type_=sa.BigInteger)
_IS_SCOPE = _STATE.scope == sa.bindparam("scope_id")
_IS_HELD = sa.and_(
    _IS_SCOPE, _STATE.lease_number == sa.bindparam("number", type_=sa.BigInteger), IS_LEASED
)
_TAKE = (
    t.scope_state.update()
    .where(_IS_SCOPE, sa.or_(~IS_LEASED, _STATE.lease_holder == sa.bindparam("former")))
    .values(
        lease_holder=sa.bindparam("holder"),
        lease_until=_UNTIL,
        lease_number=_STATE.lease_number + 1,
    )
    .returning(_STATE.lease_number)
)
_RENEW = t.scope_state.update().where(_IS_HELD).values(lease_until=_UNTIL)
_RELEASE = t.scope_state.update().where(_IS_HELD).values(lease_holder=None, lease_until=None)
_SELECT_HOLDER = sa.select(_STATE.lease_holder).where(_IS_SCOPE)
_LOCK_HELD = sa.select(_STATE.scope).where(_IS_HELD).with_for_update()


def acquire_lease(db: sa.Connection, scope: Scope, holder: str, lasting: timedelta) -> int | None:
    """Take the scope's lease in one compare-and-set; return its number, None if it is held."""
    scope_id = find_scope(db, scope)
    params = {"scope_id": scope_id, "holder": holder, "lasting": duration_micros(lasting)}
    number = db.execute(_TAKE, {**params, "former": holder}).scalar()
    if number is None:
        former = db.execute(_SELECT_HOLDER, params).scalar()
        if former is not None and has_died(db, former):
            number = db.execute(_TAKE, {**params, "former": former}).scalar()
    return None if number is None else scope_id << 32 | number


def renew_lease(db: sa.Connection, scope: Scope, number: int, lasting: timedelta) -> bool:
    """Extend the lease; False if it has expired, was revoked or taken by another."""
    params = {**_held(find_scope(db, scope), number), "lasting": duration_micros(lasting)}
    return db.execute(_RENEW, params).rowcount > 0


def release_lease(db: sa.Connection, scope: Scope, number: int) -> None:
    """Release the lease if it is still held under this number."""
    db.execute(_RELEASE, _held(find_scope(db, scope), number))


def revoke_lease(db: sa.Connection, scope_id: int) -> None:
    """Take the lease away from whoever holds it, who can then commit nothing."""
    update_state(db, scope_id, lease_holder=None, lease_until=None)


def require_lease(db: sa.Connection, scope_id: int, number: int, session: int) -> None:
    """Lock the scope's state. Raises LeaseLost unless the lease is held under this number."""
    if db.execute(_LOCK_HELD, _held(scope_id, number)).one_or_none() is None:
        raise LeaseLost(
            f"nothing of session {session} was stored: another process took over, the lease "
            "expired, or something was forgotten meanwhile; nothing is lost, the next `remember` "
            "handles it"
        )


def _held(scope_id: int, number: int) -> dict[str, int]:
    """Return parameters that select a lease; a new user under a forgotten name never has them."""
    return {"scope_id": scope_id, "number": number - (scope_id << 32)}


def has_died(db: sa.Connection, holder: str) -> bool:
    """Return whether a process that holds something in this database is known to have ended.

    All processes that use a file share its machine, which knows them. On a server it is always
    False: what a process holds there is freed only by time.
    """
    return db.dialect.name == "sqlite" and is_dead(holder)


def claim_task(db: sa.Connection, name: str, every: timedelta) -> bool:
    """Claim a task of the whole store; False if it was claimed less than ``every`` ago."""
    c, now = t.setting.c, db.execute(sa.select(DatabaseTime())).scalar_one()
    key = f"claimed:{name}"
    last = db.execute(sa.select(c.value).where(c.name == key)).scalar()
    if last is not None and now - int(last) < duration_micros(every):
        return False
    db.execute(t.setting.delete().where(c.name == key))
    db.execute(t.setting.insert().values(name=key, value=str(now)))
    return True


def load_time(db: sa.Connection) -> datetime:
    """Return the database's time."""
    return moment(db.execute(sa.select(DatabaseTime())).scalar_one())
