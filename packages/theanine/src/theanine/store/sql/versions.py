"""Versions of scopes and of the store's settings, which order exports.

A version counts the changes that each store made to a scope: ``{store id: revision}``. A store
that restores an export takes over its version, so of two versions one is older, or both were
changed independently. Tombstones keep the version at which a scope was forgotten.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from enum import Enum
from secrets import token_hex
from typing import Any

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.types import Scope

Versions = Mapping[str, int]
"""The number of changes that each store has made, by store id."""

UNVERSIONED: Versions = {"": 1}
"""The version of what was restored from an export of an earlier theanine."""

_STORE_ID = "store_id"
_REVISION = "revision"
_RESTORED = "restored_versions"
# Names of settings: the random id of the store, and the version of its settings.


class Order(Enum):
    """How a version relates to another one."""

    SAME = "same"
    OLDER = "older"
    NEWER = "newer"
    DIVERGED = "diverged"
    UNRELATED = "unrelated"


def compare(versions: Versions, other: Versions) -> Order:
    """Return how ``versions`` relates to ``other``; an empty version is older than any."""
    behind = all(other.get(store, 0) >= count for store, count in versions.items())
    ahead = all(versions.get(store, 0) >= count for store, count in other.items())
    if behind:
        return Order.SAME if ahead else Order.OLDER
    if ahead:
        return Order.NEWER
    return Order.UNRELATED if versions.keys().isdisjoint(other) else Order.DIVERGED


# reading


def load_scope_versions(db: sa.Connection, scope_id: int) -> Versions:
    """Return the version of a scope; empty for one of which only a part was restored."""
    state = t.scope_state.c
    query = sa.select(state.revision, state.restored_versions).where(state.scope == scope_id)
    row = db.execute(query).one()
    return row_versions(row, load_store_id(db))


def row_versions(row: Any, store: str) -> Versions:
    """Return the version of a scope by its row and the id of the store."""
    own = {store: row.revision} if row.revision else {}
    return own | json.loads(row.restored_versions)


def load_store_versions(db: sa.Connection) -> Versions:
    """Return the version of the store's settings."""
    revision = load_store_revision(db)
    own = {load_store_id(db): revision} if revision else {}
    return own | json.loads(load_setting(db, _RESTORED) or "{}")


def load_store_revision(db: sa.Connection) -> int:
    """Return how many changes of its settings this store has made."""
    return int(load_setting(db, _REVISION) or 0)


def load_store_id(db: sa.Connection) -> str:
    """Return the id of this store; empty before its first scope."""
    return load_setting(db, _STORE_ID)


def load_setting(db: sa.Connection, name: str) -> str:
    """Return one of the store's settings; empty if it is not set."""
    query = sa.select(t.setting.c.value).where(t.setting.c.name == name)
    return db.execute(query).scalar() or ""


# counting


def count_store_change(db: sa.Connection) -> int:
    """Count a change of the store's settings, and return the new revision."""
    ensure_store_id(db)
    return increment_setting(db, _REVISION)


def ensure_store_id(db: sa.Connection) -> str:
    """Return the id of this store, which is made with its first scope."""
    if store := load_store_id(db):
        return store
    add_setting(db, _STORE_ID, token_hex(8))
    return load_store_id(db)  # that of another process, if it was faster


def first_revision(db: sa.Connection) -> int:
    """Return a revision for a new scope, above that of any scope that was forgotten here."""
    store = ensure_store_id(db)
    versions = db.execute(sa.select(t.erased_scope.c.versions)).scalars()
    return max((json.loads(each).get(store, 0) for each in versions), default=0) + 1


_ADD_SETTING = "INSERT INTO setting (name, value) VALUES (:name, :value) ON CONFLICT (name) DO "
"""Writers of several scopes may do it at once."""


def add_setting(db: sa.Connection, name: str, value: str) -> bool:
    """Store a setting unless there is one; return whether it was stored."""
    values = {"name": name, "value": value}
    return db.execute(sa.text(_ADD_SETTING + "NOTHING"), values).rowcount > 0


def save_setting(db: sa.Connection, name: str, value: str) -> None:
    """Set one of the store's settings."""
    values = {"name": name, "value": value}
    db.execute(sa.text(_ADD_SETTING + "UPDATE SET value = excluded.value"), values)


def increment_setting(db: sa.Connection, name: str) -> int:
    """Add 1 to a setting that is a number, 0 at first, and return it; other writers may, too."""
    increase = _ADD_SETTING + (
        "UPDATE SET value = CAST(CAST(setting.value AS BIGINT) + 1 AS TEXT) RETURNING value"
    )
    return int(db.execute(sa.text(increase), {"name": name, "value": "1"}).scalar_one())


# restoring


def scope_columns(db: sa.Connection, versions: Versions) -> dict[str, Any]:
    """Return the columns that give a scope a version."""
    store = load_store_id(db)
    others = {name: count for name, count in versions.items() if name != store}
    return {
        "revision": versions.get(store, 0),
        "restored_versions": json.dumps(others, sort_keys=True),
    }


def save_store_versions(db: sa.Connection, versions: Versions) -> None:
    """Give the store's settings a version."""
    columns = scope_columns(db, versions)
    save_setting(db, _REVISION, str(columns["revision"]))
    save_setting(db, _RESTORED, columns["restored_versions"])


# tombstones of scopes


def add_scope_tombstone(db: sa.Connection, scope: Scope, scope_id: int) -> None:
    """Record that a scope is forgotten at its present version."""
    versions = load_scope_versions(db, scope_id)
    store = ensure_store_id(db)
    versions = {**versions, store: versions.get(store, 0) + 1}
    # One salt for the whole store, so that a check hashes once however many there are.
    salts = db.execute(sa.select(t.erased_scope.c.hash)).scalars()
    salt = next((saved.partition("$")[0] for saved in salts), token_hex(8))
    save_scope_tombstone(db, _hash(scope, salt), versions)


def save_scope_tombstone(db: sa.Connection, hash_: str, versions: Versions) -> bool:
    """Add a tombstone, or merge it with the one of this hash; False if nothing changed."""
    e = t.erased_scope.c
    saved = db.execute(sa.select(e.versions).where(e.hash == hash_)).scalar()
    known = json.loads(saved or "{}")
    latest = {
        store: max(versions.get(store, 0), known.get(store, 0)) for store in {*versions, *known}
    }
    merged = json.dumps(latest, sort_keys=True)
    if merged == saved:
        return False
    db.execute(t.erased_scope.delete().where(e.hash == hash_))
    db.execute(t.erased_scope.insert().values(hash=hash_, versions=merged))
    return True


def export_scope_tombstones(db: sa.Connection) -> Iterator[dict[str, Any]]:
    """Yield the tombstones of scopes, by hash."""
    e = t.erased_scope.c
    for row in db.execute(sa.select(t.erased_scope).order_by(e.hash)):
        yield {"hash": row.hash, "versions": json.loads(row.versions)}


class ScopeTombstones:
    """All tombstones of scopes in a store."""

    def __init__(self, db: sa.Connection) -> None:
        rows = db.execute(sa.select(t.erased_scope))
        self._versions = {row.hash: json.loads(row.versions) for row in rows}
        self._salts = sorted({hash_.partition("$")[0] for hash_ in self._versions})

    def was_forgotten(self, db: sa.Connection, scope: Scope, revision: int) -> bool:
        """Return whether this store has forgotten the scope at a revision or later."""
        store = load_store_id(db)
        return any(versions.get(store, 0) >= revision for versions in self.find(scope))

    def find(self, scope: Scope) -> list[Versions]:
        """Return the versions at which a scope of these names was forgotten."""
        hashes = [_hash(scope, salt) for salt in self._salts]
        return [self._versions[hash_] for hash_ in hashes if hash_ in self._versions]


def _hash(scope: Scope, salt: str) -> str:
    names = json.dumps([scope.tenant, scope.agent, scope.user])
    return f"{salt}${hashlib.sha256(f'{salt}${names}'.encode()).hexdigest()}"
