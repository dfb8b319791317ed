"""Restoring exports: all records of some, or none.

The records of each scope are first inserted as a scope of their own, with another number and
nameless. Once all have been read, counted and compared with the digest, each gets its name. An
earlier state of a scope gives way to it, and where a later one is stored, it is dropped. If the
store holds anything else of these names, nothing is restored: two histories are never mixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import groupby, islice
from secrets import token_hex
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy import exc

from theanine.clock import load_zone
from theanine.errors import BadInput
from theanine.store.sql import schema as t
from theanine.store.sql import versions as v
from theanine.store.sql.distribution import take_number_beside
from theanine.store.sql.export_codec import (
    COUNTED_SINCE,
    COUNTERS,
    FORMAT,
    READABLE_FORMATS,
    TABLES,
    Digest,
    Record,
    current_method,
    decode_record,
    decode_scope,
    read_number,
    read_text,
    read_versions,
)
from theanine.store.sql.remembering import init_default_method, set_default_method
from theanine.store.sql.rows import insert_rows
from theanine.store.sql.scopes import create_scope, look_up_scope, update_state
from theanine.store.sql.staged_scopes import StagedScope, erase_forgotten, place_scope
from theanine.store.sql.user_settings import (
    load_store_retention,
    load_tenant_retentions,
    retention_seconds,
    set_retention,
)
from theanine.store.sql.vectors import (
    drop_vectors,
    ensure_embedder,
    load_active_embedder,
    switch_embedder,
)
from theanine.store.sql.versions import ScopeTombstones
from theanine.store.values import Restored
from theanine.types import Scope

_BATCH = 500
"""Records in memory at a time."""

_ADVICE = "give --partial (in Python partial=True) to restore what is there, or find the whole file"
_KNOWN = (v.Order.NEWER, v.Order.SAME)


def restore_records(
    db: sa.Connection, records: Iterable[Mapping[str, Any]], *, partial: bool = False
) -> Restored:
    """Bring the store to the state of an export, where that is newer than its own.

    Several exports can follow each other. Raises BadInput, naming the record, for one that is
    malformed; for a user of whom the store holds anything else; and unless ``partial`` for a part
    of an export.
    """
    restored = Restored()
    export = _Export(db, restored, partial)
    numbered = enumerate(records, 1)
    try:
        while batch := list(islice(numbered, _BATCH)):
            decoded: list[Record] = []
            for number, record in batch:
                where = f"record {number}"
                if not isinstance(cast("object", record), Mapping):
                    raise BadInput("the record is not a JSON object", where)
                type_ = record.get("type")
                if (type_ == "theanine" and export.started) or type_ == "end":
                    export.insert(decoded)
                    decoded = []
                    export.finish(record if type_ == "end" else None, where)
                    export = _Export(db, restored, partial)
                if type_ != "end" and (item := export.read(record, where)) is not None:
                    decoded.append(item)
            export.insert(decoded)
        if export.started:
            export.finish(None, "")
    except exc.IntegrityError:
        raise BadInput(
            "a record comes twice, or two sessions or turns have the same key; export the store "
            "again"
        ) from None
    return restored


class _Export:
    """What was read of one export so far."""

    def __init__(self, db: sa.Connection, restored: Restored, partial: bool) -> None:
        self._db = db
        self._restored = restored
        self._partial = partial
        self._header: Mapping[str, Any] = {}
        self._digest = Digest()
        self._staged: dict[Scope, StagedScope] = {}
        self._embedders: dict[int, tuple[str, int]] = {}
        self._tombstones: list[tuple[str, v.Versions]] = []
        self.started = False

    # reading

    def read(self, record: Mapping[str, Any], where: str) -> Record | None:
        """Read a record, and return it if it is a row's."""
        self.started = True
        self._digest.add(record)
        match record.get("type"):
            case "theanine":
                if record.get("format") not in READABLE_FORMATS:
                    raise BadInput(
                        f"the export has format {record.get('format')!r}; this version reads up to "
                        f"{FORMAT}: update theanine",
                        where,
                    )
                self._header = record
            case "scope":
                self._read_scope(record, where)
            case "erased_scope":
                hash_ = read_text(record.get("hash"), "hash", where)
                self._tombstones.append((hash_, read_versions(record.get("versions"), where)))
            case _:
                return decode_record(record, where)
        return None

    def _read_scope(self, record: Mapping[str, Any], where: str) -> None:
        staged = self._stage(decode_scope(record.get("scope"), where))
        fields = {"next_mark": 1, **record}  # early exports have no marks
        counters = {name: read_number(fields.get(name), name, where) for name in COUNTERS.values()}
        values: dict[str, Any] = dict(counters)
        if (zone := record.get("time_zone")) is not None:
            load_zone(read_text(zone, "time_zone", where))
            values["time_zone"] = zone
        if (seconds := record.get("retention")) is not None:
            values["retention"] = retention_seconds(_read_retention(seconds, where))
        update_state(self._db, staged.id, **values)
        staged.whole = True
        if "versions" in record:
            staged.versions = read_versions(record["versions"], where)

    def _stage(self, scope: Scope) -> StagedScope:
        if scope not in self._staged:
            names: dict[str, Any] = {"tenant": f"restoring {token_hex(8)}", "agent": "", "user": ""}
            if number := take_number_beside(self._db, look_up_scope(self._db, scope)):
                names["id"] = number
            self._staged[scope] = StagedScope(scope, create_scope(self._db, names))
        return self._staged[scope]

    def insert(self, records: Sequence[Record]) -> None:
        """Insert rows under the numbers of their staged scopes."""
        for (scope, type_), group in groupby(records, key=lambda item: (item.scope, item.type)):
            items = list(group)
            scope_id = self._stage(scope).id
            if type_ == "vector":
                self._number_embedders(items)
            rows = [{"scope": scope_id, **item.row} for item in items]
            insert_rows(self._db, TABLES[type_], rows)
            if type_ == "memory":
                for table, column, name in (
                    (t.source, "turn", "sources"),
                    (t.origin, "origin", "origins"),
                ):
                    pairs = [
                        {"scope": scope_id, "memory": item.row["id"], column: number}
                        for item in items
                        for number in set(item.extra[name])
                    ]
                    insert_rows(self._db, table, pairs)

    def _number_embedders(self, items: Sequence[Record]) -> None:
        """Replace the names of embedders by their numbers."""
        numbers = {embedder: number for number, embedder in self._embedders.items()}
        for item in items:
            embedder = (item.row["embedder"], item.extra["dimension"])
            if embedder not in numbers:
                active = load_active_embedder(self._db) is None
                numbers[embedder] = ensure_embedder(self._db, *embedder, active=active)
                self._embedders[numbers[embedder]] = embedder
            item.row["embedder"] = numbers[embedder]

    # restoring

    def finish(self, end: Mapping[str, Any] | None, where: str) -> None:
        """Restore what was read, which ``end`` should describe."""
        fault = self._find_fault(end, where)
        left_out = _read_left_out(end, where)
        lacks = ", ".join(map(str, left_out))
        lack = fault or (lacks and f"it lacks data of {lacks}, which was damaged in the store")
        if lack and not self._partial:
            raise BadInput(f"this is not a whole export: {lack}; {_ADVICE}")
        if self._header and not fault and end is None:
            self._restored.uncounted = True
        newer = self._restore_settings(whole=not fault)
        before = ScopeTombstones(self._db)
        for staged in self._staged.values():
            if fault or staged.scope in left_out:
                staged.whole = False
                staged.versions = None
            place_scope(self._db, staged, before, self._restored)
        if not fault:
            for hash_, versions in self._tombstones:
                self._restored.new += v.save_scope_tombstone(self._db, hash_, versions)
            if self._tombstones:  # those of this store have erased what they forget
                erase_forgotten(self._db, self._restored)
        self._choose_embedder(newer)

    def _find_fault(self, end: Mapping[str, Any] | None, where: str) -> str:
        """Return why this is not a whole export; empty if it is, or if nothing can tell."""
        if not self._header:
            return "its first line, the header, is missing"
        if end is None:
            counted = self._header["format"] >= COUNTED_SINCE
            return "its last line, the count of its records, is missing" if counted else ""
        expected = self._digest.end_record()
        if end.get("records") != expected["records"]:
            return f"of {end.get('records')} records, {expected['records']} are here"
        if end.get("digest") != expected["digest"]:
            return f"its records differ from their digest ({where}): some were changed"
        return ""

    def _restore_settings(self, *, whole: bool) -> bool:
        """Set what the store lacks, and all if the export's are newer; return whether they are."""
        db, header = self._db, self._header
        versions = header.get("versions")
        stored = v.load_store_versions(db)
        new: v.Versions = (
            {} if versions is None or not whole else read_versions(versions, "record 1")
        )
        newer = v.compare(stored, new) is v.Order.OLDER
        method = current_method(read_text(header.get("method") or "", "method", "record 1"))
        seconds = header.get("retention")
        retention = seconds and _read_retention(seconds, "record 1")
        tenants = _read_tenants(header.get("tenants", {}), "record 1")
        own = load_tenant_retentions(db)
        if newer:
            set_default_method(db, method)
            set_retention(db, None, retention or None)
            for tenant in own | tenants:
                set_retention(db, tenant, tenants.get(tenant))
            v.save_store_versions(db, new)
            return True
        if method:
            init_default_method(db, method)
        if v.compare(stored, new) in _KNOWN:
            return False
        if retention and load_store_retention(db) is None:
            set_retention(db, None, retention)
        for tenant in tenants.keys() - own.keys():
            set_retention(db, tenant, tenants[tenant])
        return False

    def _choose_embedder(self, newer: bool) -> None:
        """Switch to the export's embedder if its settings are newer; drop vectors of others."""
        active = load_active_embedder(self._db)
        for number, embedder in self._embedders.items():
            if active is not None and number == active.id:
                continue
            if not newer or not switch_embedder(self._db, *embedder):
                drop_vectors(self._db, number, self._restored.scope_ids)


def _read_left_out(end: Mapping[str, Any] | None, where: str) -> list[Scope]:
    """Return the scopes of which the export lacks something."""
    items = (end or {}).get("left_out", [])
    if not isinstance(items, list) or not all(
        isinstance(item, Mapping) for item in cast("list[Any]", items)
    ):
        raise BadInput("left_out must be a list of JSON objects", where)
    return [decode_scope(item.get("scope"), where) for item in cast("list[Any]", items)]


def _read_tenants(value: Any, where: str) -> dict[str, timedelta]:
    """Return how long the turns of tenants are kept."""
    if not isinstance(value, Mapping):
        raise BadInput("tenants must be a JSON object", where)
    retentions: dict[str, timedelta] = {}
    for tenant, settings in cast("Mapping[Any, Any]", value).items():
        if not isinstance(settings, Mapping):
            raise BadInput("the settings of a tenant must be a JSON object", where)
        seconds = cast("Mapping[Any, Any]", settings).get("retention")
        retentions[read_text(tenant, "tenants", where)] = _read_retention(seconds, where)
    return retentions


def _read_retention(seconds: Any, where: str) -> timedelta:
    try:
        return timedelta(seconds=read_number(seconds, "retention", where))
    except OverflowError:
        raise BadInput(f"retention is too long: {seconds} seconds", where) from None
