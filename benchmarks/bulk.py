"""Load many users into a store in bulk: `python benchmarks/bulk.py LOCATION --users 1000`.

A few template users are made by the product itself, logged and remembered by the default method.
Their rows are copied for each user, by COPY to PostgreSQL and by `executemany` to SQLite: what is
loaded is what the product would have stored.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import sqlalchemy as sa
from natural import TURNS, material, sessions

import theanine
from theanine.embeddings.encoder import DIMENSION, NAME
from theanine.retrieval.candidates import CandidateIndex
from theanine.retrieval.snapshot import SnapshotStamp, pack, unpack
from theanine.store import open_store
from theanine.store.sql import schema as t
from theanine.store.sql.store import SqlStore
from theanine.types import History, Scope

TEMPLATES = 8
METHOD = "theanine"
_USERS_AT_ONCE = 20
_SPARE = 1.04  # turns for each memory: those that repeat another one make none
_OF_SCOPE = [table for table in t.metadata.sorted_tables if "scope" in table.c]
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """What a store has of one user.

    Attributes:
        scope: the row in the table of names, without number and user.
        rows: of each other table, without the scope's number.
        index: the stored index of the log; empty for a short log.
    """

    scope: dict[str, Any]
    rows: dict[sa.Table, list[Row]]
    index: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What was loaded, and the seconds that the rows and then the indexes of the logs took."""

    users: int
    turns: int
    memories: int
    rows: int
    seconds: float
    seconds_indexes: float


def user_name(number: int) -> str:
    """Return the name of a user, numbered from 0."""
    return f"user-{number:06d}"


async def make_templates(count: int, memories: int) -> list[Template]:
    """Let the product log and remember so many users, of about so many memories each."""
    sentences, _ = material()
    turns = -(-int(memories * _SPARE) // TURNS) * TURNS
    scopes = [Scope(user_name(number)) for number in range(count)]
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "memory.db")
        async with theanine.aopen(path, method=METHOD) as client:
            for seed, scope in enumerate(scopes):
                transcripts = tuple(sessions(sentences, turns, seed))
                user = client.user(scope.user)
                await user.log(History(name="ana", transcripts=transcripts))
                await user.remember()
                await user.warm_up()
        store = _open(path)
        await store.open()
        try:
            return [await _read_template(store, scope) for scope in scopes]
        finally:
            await store.close()


def _open(location: str) -> SqlStore:
    store = open_store(location)
    assert isinstance(store, SqlStore)
    return store


async def _read_template(store: SqlStore, scope: Scope) -> Template:
    stamp = await _stamp(store, scope)
    number = stamp.scope_id

    def read(db: sa.Connection) -> Template:
        names = dict(db.execute(sa.select(t.scope).where(t.scope.c.id == number)).mappings().one())
        del names["id"], names["user"]
        rows = {
            table: [
                tuple(row)[1:]
                for row in db.execute(sa.select(table).where(table.c.scope == number))
            ]
            for table in _OF_SCOPE
        }
        return Template(names, rows, {})

    data = await store.read_sidecar(scope, stamp.name)
    return replace(await store.read(read), index=unpack(data, stamp) or {})


async def _stamp(store: SqlStore, scope: Scope) -> SnapshotStamp:
    version = await store.scope_version(scope)
    return SnapshotStamp(
        scope_id=version.scope_id,
        epoch=version.epoch,
        method=METHOD,
        embedder=NAME,
        settings=CandidateIndex().settings,
    )


async def load(location: str, users: int, templates: Sequence[Template]) -> Loaded:
    """Add users to a store; user n is a copy of template n, modulo their number."""
    store = _open(location)
    await store.open()
    try:
        started = time.perf_counter()
        first = await store.write(_prepare)
        for start in range(0, users, _USERS_AT_ONCE):
            numbers = range(start, min(start + _USERS_AT_ONCE, users))
            await store.write(_insert, first, numbers, templates)
        with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as db:
            if db.dialect.name == "postgresql":
                top = f"setval(pg_get_serial_sequence('scope', 'id'), {first + users})"
                db.exec_driver_sql(f"SELECT {top}")
            db.exec_driver_sql("ANALYZE")
        rows_loaded = time.perf_counter()
        for number in range(users):
            if state := templates[number % len(templates)].index:
                scope = Scope(user_name(number))
                stamp = await _stamp(store, scope)
                parts = pack(state, stamp)
                await store.write_sidecar(scope, stamp.name, stamp.epoch, parts)
        ended = time.perf_counter()
    finally:
        await store.close()
    counts = [
        {table: len(rows) for table, rows in templates[n % len(templates)].rows.items()}
        for n in range(users)
    ]
    return Loaded(
        users=users,
        turns=sum(count[t.turn] for count in counts),
        memories=sum(count[t.memory] for count in counts),
        rows=sum(sum(count.values()) for count in counts),
        seconds=rows_loaded - started,
        seconds_indexes=ended - rows_loaded,
    )


def _prepare(db: sa.Connection) -> int:
    """Insert what all scopes need, embedder and default method; return the next scope's number."""
    if db.execute(sa.select(t.embedder)).first() is None:
        db.execute(t.embedder.insert().values(id=1, name=NAME, dimension=DIMENSION, active=True))
        db.execute(t.setting.insert().values(name="method", value=METHOD))
    return 1 + (db.execute(sa.select(sa.func.max(t.scope.c.id))).scalar() or 0)


def _insert(
    db: sa.Connection, first: int, numbers: Sequence[int], templates: Sequence[Template]
) -> None:
    """Insert users; ``first`` is the number of the first user's scope."""
    db.execute(
        t.scope.insert(),
        [
            {**templates[n % len(templates)].scope, "id": first + n, "user": user_name(n)}
            for n in numbers
        ],
    )
    for table in _OF_SCOPE:
        some = [(first + n, templates[n % len(templates)].rows[table]) for n in numbers]
        columns = ", ".join(f'"{column.name}"' for column in table.c)
        if db.dialect.name == "postgresql":
            raw: Any = db.connection.dbapi_connection
            with raw.cursor().copy(f'COPY "{table.name}" ({columns}) FROM STDIN') as copy:
                for scope, rows in some:
                    copy.write(b"".join(_lines(scope, rows)))
        elif inserted := [(scope, *row) for scope, rows in some for row in rows]:
            values = ", ".join("?" * len(table.c))
            db.exec_driver_sql(
                f'INSERT INTO "{table.name}" ({columns}) VALUES ({values})', inserted
            )


def _lines(scope: int, rows: Sequence[Row]) -> Iterator[bytes]:
    """Yield rows as COPY reads them."""
    for row in rows:
        yield "\t".join([str(scope), *map(_copy_value, row)]).encode() + b"\n"


def _copy_value(value: object) -> str:
    if isinstance(value, str):
        return value.translate(_ESCAPES)
    if isinstance(value, bytes):
        return rf"\\x{value.hex()}"
    return r"\N" if value is None else str(value)


def main() -> None:
    """Load and print what was loaded."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("location", help="an empty store: a file, or a URL of PostgreSQL")
    parser.add_argument("--users", type=int, default=1_000, metavar="N")
    parser.add_argument("--memories", type=int, default=1_000, metavar="N", help="of each user")
    options = parser.parse_args()
    templates = asyncio.run(make_templates(min(TEMPLATES, options.users), options.memories))
    loaded = asyncio.run(load(options.location, options.users, templates))
    print(
        f"{loaded.users:,} users, {loaded.turns:,} turns, {loaded.memories:,} memories, "
        f"{loaded.rows:,} rows in {loaded.seconds:.1f} s; their indexes in "
        f"{loaded.seconds_indexes:.1f} s"
    )


if __name__ == "__main__":
    main()
