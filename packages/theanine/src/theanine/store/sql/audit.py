"""The audit log of the service: who read, changed and erased which user's data.

Users are named by pseudonyms, keyed hashes of their names. So a user who is forgotten leaves no
name here, and whoever knows the name can still find what was done.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import blake2b
from secrets import token_hex
from typing import Any, Literal

import sqlalchemy as sa

from theanine.clock import micros, moment
from theanine.store.sql import schema as t
from theanine.store.sql.rows import insert_rows

Action = Literal["read", "change", "erase"]
_KEY = "audit_key"  # name of the store's setting


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One request.

    Attributes:
        id: sorts by time.
        at: when it was answered, aware.
        key: id of the key; empty without one.
        user: pseudonym of the user whose data it was about; None if it was about no one user.
        agent: the user's agent; None with ``user``.
        request: method and path of the route.
        status: status of the answer.
        request_id: the answer's ``X-Request-Id``.
    """

    id: str
    at: datetime
    tenant: str
    key: str
    user: str | None
    agent: str | None
    action: Action
    request: str
    status: int
    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which entries to list; None is all.

    Attributes:
        user: a pseudonym.
        after: id of the entry after which, going back in time, the list begins.
    """

    tenant: str | None = None
    key: str | None = None
    user: str | None = None
    agent: str | None = None
    action: Action | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: str | None = None


class Pseudonyms:
    """The pseudonyms of users in one store."""

    def __init__(self, key: str) -> None:
        self._key = bytes.fromhex(key)

    def get(self, tenant: str, user: str) -> str:
        """Return the pseudonym of a user of a tenant: 16 hexadecimal digits."""
        named = f"{tenant}\0{user}".encode("utf-8", "surrogatepass")
        return blake2b(named, key=self._key, digest_size=8).hexdigest()


def load_pseudonyms(db: sa.Connection) -> Pseudonyms:
    """Return the pseudonyms of a store, whose key is made at the first call."""
    name, value = t.setting.c.name, t.setting.c.value
    query = sa.select(value).where(name == _KEY)
    key = db.execute(query).scalar_one_or_none()
    if key is None:
        key = token_hex(32)
        insert_rows(db, t.setting, [{"name": _KEY, "value": key}])
    return Pseudonyms(key)


def entry_id(at: datetime) -> str:
    """Return a new id of an entry of a time."""
    return f"{micros(at):016x}{token_hex(4)}"


def add_entries(db: sa.Connection, entries: Iterable[AuditEntry]) -> None:
    """Store entries."""
    insert_rows(db, t.audit, [asdict(entry) | {"at": micros(entry.at)} for entry in entries])


def list_entries(db: sa.Connection, wanted: AuditFilter, limit: int) -> list[AuditEntry]:
    """Return entries, the newest first."""
    a = t.audit.c
    query = sa.select(t.audit)
    for name in ("tenant", "key", "user", "agent", "action"):
        if (value := getattr(wanted, name)) is not None:
            query = query.where(a[name] == value)
    if wanted.since is not None:
        query = query.where(a.id >= f"{micros(wanted.since):016x}")
    if wanted.until is not None:
        query = query.where(a.id < f"{micros(wanted.until) + 1:016x}")
    if wanted.after is not None:
        query = query.where(a.id < wanted.after)
    rows = db.execute(query.order_by(a.id.desc()).limit(limit))
    return [_from_row(row) for row in rows]


def delete_entries(db: sa.Connection, before: datetime) -> int:
    """Delete the entries from before a time, and return how many there were."""
    return db.execute(t.audit.delete().where(t.audit.c.id < f"{micros(before):016x}")).rowcount


def _from_row(row: sa.Row[Any]) -> AuditEntry:
    return AuditEntry(
        id=row.id,
        at=moment(row.at),
        tenant=row.tenant,
        key=row.key,
        user=row.user,
        agent=row.agent,
        action=row.action,
        request=row.request,
        status=row.status,
        request_id=row.request_id,
    )
