"""Export of a store as JSON-ready records, without loss; see ``export_codec``."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import Any

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.export_codec import (
    COUNTERS,
    FORMAT,
    SETTINGS,
    TABLES,
    Digest,
    encode_row,
)
from theanine.store.sql.memories import group_by_memory, select_by_memory
from theanine.store.sql.remembering import load_default_method
from theanine.store.sql.scopes import load_with_scopes, scope_params
from theanine.store.sql.user_settings import load_store_retention, load_tenant_retentions
from theanine.store.sql.vectors import load_active_embedder
from theanine.store.sql.versions import (
    Versions,
    export_scope_tombstones,
    load_store_id,
    load_store_versions,
    row_versions,
)
from theanine.types import Scope

_BATCH = 500
"""Rows in memory at a time."""


def export_records(db: sa.Connection, scope: Scope | None) -> Generator[dict[str, Any]]:
    """Yield all records, and last one with their count and digest, reading as it goes.

    Of all scopes, those with a damaged value are exported up to that and named in the last record.
    """
    digest, left_out = Digest(), list[dict[str, Any]]()
    for record in _export_records(db, scope, left_out):
        digest.add(record)
        yield record
    yield {**digest.end_record(), **({"left_out": left_out} if left_out else {})}


def load_export_versions(db: sa.Connection, scope: Scope | None = None) -> dict[Scope, Versions]:
    """Return the version of each scope, or of one, also of those without data."""
    store = load_store_id(db)
    versions: dict[Scope, Versions] = {}
    for owner, row in _load_states(db, scope):
        versions[owner] = {}
        with suppress(json.JSONDecodeError):  # a damaged value, which the export will report
            versions[owner] = row_versions(row, store)
    return versions


def _load_states(db: sa.Connection, scope: Scope | None) -> list[tuple[Scope, Any]]:
    """Return the rows of ``scope_state`` in the order of their scopes' names."""
    state = t.scope_state
    rows = load_with_scopes(db, sa.select(state), state.c.scope, scope)
    return sorted(rows, key=lambda pair: (pair[0].tenant, pair[0].agent, pair[0].user))


def export_settings(db: sa.Connection) -> list[dict[str, Any]]:
    """Return the records of a whole export that belong to no scope: a header and tombstones."""
    header = _export_header(db)
    if (retention := load_store_retention(db)) is not None:
        header["retention"] = round(retention.total_seconds())
    if tenants := load_tenant_retentions(db):
        header["tenants"] = {
            tenant: {"retention": round(kept.total_seconds())} for tenant, kept in tenants.items()
        }
    header["versions"] = load_store_versions(db)
    tombstones = export_scope_tombstones(db)
    return [header, *({"type": "erased_scope", **tombstone} for tombstone in tombstones)]


def _export_header(db: sa.Connection) -> dict[str, Any]:
    return {"type": "theanine", "format": FORMAT, "method": load_default_method(db)}


def _export_records(
    db: sa.Connection, scope: Scope | None, left_out: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield a header, then each scope's records by type and number."""
    yield from [_export_header(db)] if scope else export_settings(db)
    store = load_store_id(db)
    for exported, row in _load_states(db, scope):
        names = scope_params(exported)
        owner = {n: name for n, name in names.items() if n == "user" or name != "default"}
        try:
            yield from _export_scope(db, owner, row, store)
        except json.JSONDecodeError as error:
            if scope is not None:
                raise
            left_out.append({"scope": owner, "reason": f"a stored value is damaged ({error})"})


def _export_scope(
    db: sa.Connection, owner: dict[str, str], row: Any, store: str
) -> Iterator[dict[str, Any]]:
    counters = {name: getattr(row, name) for name in COUNTERS.values()}
    own = {name: getattr(row, name) for name in SETTINGS if getattr(row, name) is not None}
    versions = row_versions(row, store)
    yield {"type": "scope", "scope": owner, **counters, **own, "versions": versions}
    for type_, table in TABLES.items():
        read = _export_vectors if type_ == "vector" else _export_rows
        for values in read(db, row.scope, table):
            yield {"type": type_, "scope": owner, **values}


def _export_rows(db: sa.Connection, scope_id: int, table: sa.Table) -> Iterator[dict[str, Any]]:
    query = sa.select(table).where(table.c.scope == scope_id).order_by(*table.primary_key.columns)
    provenance: dict[str, dict[int, tuple[int, ...]]] = {}
    if table is t.memory:
        for name, column in (("sources", t.source.c.turn), ("origins", t.origin.c.origin)):
            select = select_by_memory(column, scope_id, lambda _: sa.true())
            provenance[name] = group_by_memory(db.execute(select))
    with db.execute(query.execution_options(yield_per=_BATCH)) as rows:
        for row in rows.mappings():
            lists = {name: list(numbers.get(row["id"], ())) for name, numbers in provenance.items()}
            yield {**encode_row(row, table), **lists}


def _export_vectors(db: sa.Connection, scope_id: int, table: sa.Table) -> Iterator[dict[str, Any]]:
    """Yield the active embedder's vectors only; an unfinished re-embedding is not exported."""
    active = load_active_embedder(db)
    if active is None:
        return
    query = (
        sa.select(table)
        .where(table.c.scope == scope_id, table.c.embedder == active.id)
        .order_by(table.c.memory)
    )
    with db.execute(query.execution_options(yield_per=_BATCH)) as rows:
        for row in rows.mappings():
            yield {**encode_row(row, table), "embedder": active.name, "dimension": active.dimension}
