"""Row-level security keeps scopes and tenants apart, whatever a statement asks for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from support import citus
from support.postgres import MISSING, ROLE, database_url, server_url
from support.running import Terminal
from theanine.errors import StoreError
from theanine.store.postgres import PostgresStore
from theanine.store.processes import process_holder
from theanine.store.sql import schema as t
from theanine.store.sql import upgrade
from theanine.store.sql.scopes import find_scope
from theanine.store.values import JournalEntry
from theanine.types import MemoryBatch, NewMemory, Scope, Transcript, Utterance

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
    pytest.mark.slow,
]

ANA, BEN = Scope("ana", tenant="acme"), Scope("ben", tenant="it's 50% \\ of «us»")
AT = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)
ME = process_holder()
OF_SCOPES = [table for table in t.metadata.sorted_tables if "scope" in table.c]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return database_url(tmp_path)


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresStore]:
    """A store in which two users of two tenants have written."""
    store = PostgresStore(url)
    await store.open()
    await fill(store)
    yield store
    await store.close()


async def fill(store: PostgresStore) -> None:
    for scope in (ANA, BEN):
        turns = [Utterance(text=f"I am {scope.user}.", speaker=scope.user, at=AT)]
        logged = await store.log_transcript(scope, Transcript(key="t", turns=turns, at=AT), "m")
        lease = await store.acquire_lease(scope, ME, timedelta(hours=1)) or 0
        new = NewMemory(text=f"of {scope.user}", at=AT, source_turns=(1,))
        batch = MemoryBatch(memories=[new], vectors=np.eye(1, 4, dtype=np.float32))
        options: dict[str, Any] = {"embedder": "e", "lease": lease, "at": AT}
        await store.commit_batch(scope, logged.session, "m", batch, **options)
        entry = JournalEntry(key="k", step="s", version=1, model="m", at=AT, session=1)
        await store.add_journal_entry(scope, entry)


def owners(db: sa.Connection, table: sa.Table) -> set[int]:
    """Return whose rows a transaction sees in a table, without a WHERE."""
    return set(db.execute(sa.select(table.c.scope)).scalars())


async def check_walls(store: PostgresStore) -> None:
    """Check that without a WHERE, a transaction sees its own scope alone."""

    def look(db: sa.Connection, scope: Scope) -> tuple[int, list[set[int]], list[str]]:
        number = find_scope(db, scope)
        names = db.execute(sa.select(t.scope.c.user)).scalars()
        return number, [owners(db, table) for table in OF_SCOPES], list(names)

    for call in (store.read, store.write):
        seen = [await call(look, scope) for scope in (ANA, BEN)]
        assert len({number for number, _, _ in seen}) == 2
        for scope, (number, tables, names) in zip((ANA, BEN), seen, strict=True):
            assert names == [scope.user]
            assert all(rows <= {number} for rows in tables)
            assert sum(map(len, tables)) >= 8, "the tables have rows"
    assert await store.find_bypass() == ""
    everything = await store.read(lambda db: [owners(db, table) for table in OF_SCOPES])
    assert max(map(len, everything)) == 2, "the whole store is seen by what is about all of it"


async def test_a_transaction_sees_its_own_scope_alone(store: PostgresStore) -> None:
    await check_walls(store)


@pytest.mark.skipif(bool(citus.MISSING), reason=citus.MISSING)
async def test_walls_hold_on_the_workers_of_a_cluster(tmp_path: Path) -> None:
    url = sa.make_url(citus.undistributed_url(tmp_path))
    cluster = citus.shared_cluster()
    create = f"DO 'BEGIN CREATE ROLE {ROLE} LOGIN; EXCEPTION WHEN duplicate_object THEN END'"
    cluster.execute(create, nodes=cluster.nodes)
    own = f"ALTER DATABASE {url.database} OWNER TO {ROLE}"
    cluster.execute(own, nodes=cluster.nodes)
    location = url.set(username=ROLE).render_as_string(hide_password=False)
    store = PostgresStore(location)
    await store.open()
    await store.distribute(shards=4)
    await fill(store)
    await check_walls(store)
    assert [turn.text for turn in await store.turns(ANA)] == ["I am ana."]
    assert {scope.user for scope in await store.scopes()} == {"ana", "ben"}
    assert await store.check_integrity() == ""
    await store.close()


async def test_what_sets_no_scope_sees_nothing(store: PostgresStore) -> None:
    def look(db: sa.Connection, _scope: Scope) -> list[set[int]]:
        return [owners(db, table) for table in OF_SCOPES]

    assert not any(await store.read(look, Scope("nobody")))  # who has no number
    for _ in range(3):  # connections on which scopes were set before
        await store.turns(ANA, last=1)
        with store.engine.connect() as db:
            assert not any(owners(db, table) for table in OF_SCOPES)
            assert not db.execute(sa.select(t.scope)).all()


async def test_nothing_is_written_into_another_scope(store: PostgresStore) -> None:
    ben = (await store.scope_version(BEN)).scope_id

    def overwrite(db: sa.Connection, scope: Scope) -> tuple[int, int]:
        find_scope(db, scope)
        changed = db.execute(t.turn.update().values(text="overwritten")).rowcount
        return changed, db.execute(t.memory.delete()).rowcount

    def insert(db: sa.Connection, scope: Scope) -> None:
        find_scope(db, scope)
        db.execute(t.source.insert().values(scope=ben, memory=1, turn=2))

    def move(db: sa.Connection, scope: Scope) -> None:
        find_scope(db, scope)
        db.execute(t.source.update().values(scope=ben))

    assert await store.write(overwrite, ANA) == (1, 1)
    for work in (insert, move):
        with pytest.raises(StoreError, match="row-level security"):
            await store.write(work, ANA)
    assert [turn.text for turn in await store.turns(BEN)] == ["I am ben."]
    assert [memory.source_turns for memory in await store.memories(BEN)] == [(1,)]


async def test_every_table_with_a_scope_has_its_wall(store: PostgresStore) -> None:
    def load_walls(db: sa.Connection) -> set[str]:
        forced = "SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity"
        return set(db.exec_driver_sql(forced).scalars())

    assert await store.read(load_walls) == {
        table.name for table in (*OF_SCOPES, t.scope, t.webhook, t.webhook_delivery)
    }


@contextmanager
def database(folder: Path) -> Generator[sa.Connection]:
    url = sa.make_url(database_url(folder)).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url)
    with engine.begin() as db:
        yield db
    engine.dispose()


def describe(db: sa.Connection) -> dict[str, object]:
    """Return columns, keys and policies of each table, but not in which order text is sorted."""
    inspector = sa.inspect(db)
    policies = "SELECT policyname, cmd, roles, qual, with_check FROM pg_policies WHERE tablename = "
    return {
        table: (
            {c["name"]: (str(c["type"]), c["nullable"], c["default"]) for c in columns},
            inspector.get_pk_constraint(table)["constrained_columns"],
            {str(index["column_names"]) for index in inspector.get_indexes(table)},
            [str(row) for row in db.exec_driver_sql(f"{policies}'{table}'")],
        )
        for table in inspector.get_table_names()
        if table != "alembic_version"
        for columns in [without_collations(inspector.get_columns(table))]
    }


def without_collations(columns: Sequence[Any]) -> Sequence[Any]:
    for column in columns:
        if isinstance(column["type"], sa.Text):
            column["type"] = sa.Text()
            column["default"] = str(column["default"]).replace(' COLLATE "C"', "")
    return columns


def test_migrations_lead_to_the_schema_of_a_new_store(tmp_path: Path) -> None:
    with database(tmp_path / "new") as db:
        upgrade.migrate(db, "new")
        wanted = describe(db)
    with database(tmp_path / "old") as db:
        config = Config()
        config.set_main_option("script_location", str(upgrade.MIGRATIONS))
        config.attributes["connection"] = db
        command.upgrade(config, "head")
        migrated = describe(db)
    assert migrated.keys() == wanted.keys()
    for table, parts in wanted.items():
        assert migrated[table] == parts, table


def test_doctor_warns_of_roles_that_see_through_walls(tmp_path: Path, run: Terminal) -> None:
    url = sa.make_url(database_url(tmp_path))
    checked = run.bare("doctor", "--no-ask", "--store", url.render_as_string(hide_password=False))
    assert "walls  row-level security holds" in checked.out
    admin = sa.make_url(server_url())
    url = url.set(username=admin.username, password=admin.password)
    checked = run.bare("doctor", "--no-ask", "--store", url.render_as_string(hide_password=False))
    assert "is a superuser" in checked.out
    assert "CREATE ROLE" in checked.out
