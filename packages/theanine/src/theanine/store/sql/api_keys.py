"""API keys: stored hashed, bound to a tenant and, if wished, to a user and an agent."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from secrets import token_hex, token_urlsafe
from typing import Any, Literal, get_args

import sqlalchemy as sa

from theanine.clock import micros, moment
from theanine.errors import BadInput, NotFound
from theanine.store.sql import schema as t
from theanine.store.sql.claims import note_change
from theanine.store.sql.rows import insert_rows
from theanine.store.validate import check_name

Right = Literal["read", "write", "reply", "administer"]
"""What a key allows: to read and recall; to log, correct and forget; to have the service's own
model reply, at the operator's cost; to manage keys, retention and operations of its tenant, which
includes replies."""
RIGHTS: tuple[Right, ...] = get_args(Right)
PREFIX = "theanine"
"""How every key begins, so that scanners of secrets find it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key as it is stored, without its secret.

    Attributes:
        id: the public part of the key.
        name: its purpose, as given by its creator.
        tenant: the tenant whose data it gives access to.
        user: the only user whose data it gives access to; None for all of the tenant.
        agent: the only agent whose data it gives access to; None for all of the tenant.
        rights: see :data:`Right`, in their order.
        rate: requests a minute; None for no limit of its own.
        created_at: when it was made, aware.
        expires_at: when it expires, aware; None for never.
        revoked_at: when it was revoked, aware; None if it wasn't.
        maker: id of the key that made it; None if the operator did.
    """

    id: str
    name: str
    tenant: str = "default"
    user: str | None = None
    agent: str | None = None
    rights: tuple[Right, ...] = ("read", "write")
    rate: int | None = None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    maker: str | None = None

    def is_valid(self, now: datetime) -> bool:
        """Whether the key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def allows(rights: Collection[Right], right: Right) -> bool:
    """Whether some rights include another one."""
    return right in rights or (right == "reply" and "administer" in rights)


def create_key(
    db: sa.Connection,
    *,
    name: str,
    at: datetime,
    tenant: str = "default",
    user: str | None = None,
    agent: str | None = None,
    rights: Collection[str] = ("read", "write"),
    rate: int | None = None,
    expires_at: datetime | None = None,
    maker: str | None = None,
) -> tuple[ApiKey, str]:
    """Store a new key and return it with its token, which can't be read again.

    Raises BadInput for an unknown right, a rate below 1, or a name that can't be stored.
    """
    for value, what in ((name, "the key's name"), (tenant, "the tenant")):
        check_name(value, what, "")
    for value, what in ((user, "the user"), (agent, "the agent")):
        if value is not None:
            check_name(value, what, "")
    if not rights or not set(rights) <= set(RIGHTS):
        raise BadInput(f"the rights must be some of {', '.join(RIGHTS)}, not {list(rights)}")
    if rate is not None and rate < 1:
        raise BadInput(f"the rate must be at least 1 request a minute, not {rate}")
    key = ApiKey(
        id=token_hex(8),
        name=name,
        tenant=tenant,
        user=user,
        agent=agent,
        rights=tuple(right for right in RIGHTS if right in rights),
        rate=rate,
        created_at=at,
        expires_at=expires_at,
        maker=maker,
    )
    secret = token_urlsafe(32)
    row = {
        "id": key.id,
        "hash": _hash(secret),
        "name": name,
        "tenant": tenant,
        "user": user,
        "agent": agent,
        "rights": " ".join(key.rights),
        "rate": rate,
        "created_at": micros(at),
        "expires_at": None if expires_at is None else micros(expires_at),
        "maker": maker,
    }
    note_change(db)
    insert_rows(db, t.api_key, [row])
    return key, f"{PREFIX}_{key.id}_{secret}"


def find_key(db: sa.Connection, token: str) -> ApiKey | None:
    """Return the key of a token, whether or not it is still valid; None for an unknown token."""
    prefix, _, rest = token.partition("_")
    number, _, secret = rest.partition("_")
    if prefix != PREFIX or not secret:
        return None
    row = db.execute(sa.select(t.api_key).where(t.api_key.c.id == number)).one_or_none()
    # Compared in any case, so that the time tells nothing about ids.
    if not compare_digest(_hash(secret), row.hash if row else _hash("")) or row is None:
        return None
    return _key_from_row(row)


def load_keys(db: sa.Connection, tenant: str | None = None) -> list[ApiKey]:
    """Return the keys of a tenant, or all keys, the oldest first."""
    query = sa.select(t.api_key).order_by(t.api_key.c.created_at, t.api_key.c.id)
    if tenant is not None:
        query = query.where(t.api_key.c.tenant == tenant)
    return [_key_from_row(row) for row in db.execute(query)]


def revoke_key(
    db: sa.Connection, key: str, at: datetime, tenant: str | None = None
) -> list[ApiKey]:
    """Revoke a key by its id, and all that it made, and those that they made.

    Returns the key and those of the others that were valid until now; a second time changes
    nothing. Raises NotFound.
    """
    keys = {each.id: each for each in load_keys(db, tenant)}
    if key not in keys:
        raise NotFound(f"there is no key {key}")
    made = [key]
    for maker in made:  # which grows
        made += [each.id for each in keys.values() if each.maker == maker]
    valid = [each for each in made if keys[each].revoked_at is None]
    if valid:
        note_change(db)
        changed = t.api_key.update().where(t.api_key.c.id.in_(valid))
        db.execute(changed.values(revoked_at=micros(at)))
    revoked = {each.id: each for each in load_keys(db, tenant)}
    return [revoked[key], *(revoked[each] for each in valid if each != key)]


def _hash(secret: str) -> str:
    # Secrets are random and of 256 bits, so they need no slow hash.
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _key_from_row(row: sa.Row[Any]) -> ApiKey:
    return ApiKey(
        id=row.id,
        name=row.name,
        tenant=row.tenant,
        user=row.user,
        agent=row.agent,
        rights=tuple(right for right in RIGHTS if right in row.rights.split()),
        rate=row.rate,
        created_at=moment(row.created_at),
        expires_at=None if row.expires_at is None else moment(row.expires_at),
        revoked_at=None if row.revoked_at is None else moment(row.revoked_at),
        maker=row.maker,
    )
