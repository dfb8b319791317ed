"""Behavior of the SQLite store only: files, permissions, disks, processes, migrations."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import subprocess
import sys
import textwrap
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import event

import theanine
from support.forking import Python
from theanine.errors import NotAStore, NotFound, SettingsError, StoreError, StoreFull
from theanine.store import open_store
from theanine.store.sql import schema, upgrade
from theanine.store.sql.fixed import FixedSelect
from theanine.store.sqlite import APPLICATION_ID, SqliteStore
from theanine.types import MemoryBatch, NewMemory, Scope, Transcript, Utterance

pytestmark = pytest.mark.anyio

ANA = Scope("ana")
AT = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)


def said(text: str, minute: int = 0) -> Utterance:
    return Utterance(text=text, speaker="Ana", at=AT + timedelta(minutes=minute))


async def refused(path: Path, error: type[Exception], message: str) -> None:
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(error, match=message) as caught:
        await SqliteStore(path).open()
    assert str(path) in str(caught.value)
    if before is not None:
        assert path.read_bytes() == before, "a file that isn't ours is never changed"


def python(script: str, *arguments: object, start: bool = False) -> Python:
    """Run a script in a process of its own; waits for it unless ``start``."""
    process = Python(textwrap.dedent(script), *map(str, arguments))
    if not start:
        finish(process)
    return process


def finish(process: Python) -> None:
    with process:
        code, output, errors = process.communicate()
    assert code == 0, output + errors


# opening


async def test_locations_name_a_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    for location in (str(path), f"sqlite:///{path}"):
        store = open_store(location)
        await store.open()
        await store.open()
        assert store.location == str(path)
        await store.close()
        await store.close()
    assert path.exists()


async def test_a_missing_folder_is_named_and_not_made(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "typo" / "memory.db"))
    with pytest.raises(NotFound, match=r"there is no folder .*typo for the store memory.db"):
        await store.open()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
async def test_a_new_store_is_for_its_owner_alone(tmp_path: Path) -> None:
    private, shared = tmp_path / "private.db", tmp_path / "shared.db"
    shared.touch(mode=0o660)
    shared.chmod(0o660)
    for path, mode in ((private, 0o600), (shared, 0o660)):
        store = SqliteStore(path)
        await store.open()
        try:
            files = [file for file in store.files if file.exists()]
            assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {mode}
            assert len(files) >= 2
        finally:
            await store.close()


@pytest.mark.parametrize("location", ["", ":memory:", "postgresql://h", "redis://h"])
def test_invalid_locations(location: str) -> None:
    with pytest.raises(SettingsError):
        open_store(location)


async def test_a_closed_store_is_an_error(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db")
    with pytest.raises(StoreError, match="not open"):
        await store.scopes()


async def test_other_files_are_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("dear diary, " * 100, encoding="utf-8")
    await refused(text, NotAStore, "not an SQLite database")
    await refused(tmp_path, NotAStore, "is a folder")
    for name, statement in (("a.db", "CREATE TABLE t (x)"), ("b.db", "PRAGMA application_id=7")):
        with sqlite3.connect(tmp_path / name) as db:
            db.execute(statement)
        await refused(tmp_path / name, NotAStore, "another application's")
    inside = text / "memory.db"
    with pytest.raises(NotFound, match=r"there is no folder .*notes.txt"):
        await SqliteStore(inside).open()


async def test_a_newer_store_is_refused_unchanged(store: SqliteStore) -> None:
    await store.close()
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    await refused(store.path, NotAStore, "newer theanine .*'9999'.*update")


async def test_a_damaged_file_is_reported(store: SqliteStore) -> None:
    turns = [said("word " * 50, i) for i in range(500)]
    await store.log_transcript(ANA, Transcript(key="s", turns=turns, at=AT), "theanine")
    await store.close()
    data = bytearray(store.path.read_bytes())
    data[8192 : len(data)] = b"\x99" * (len(data) - 8192)
    store.path.write_bytes(data)
    await refused(store.path, StoreError, r"the file is damaged; .*backup")


async def test_pragmas_for_durability_and_erasing(store: SqliteStore) -> None:
    wanted = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "busy_timeout": 30000}
    with store.engine.connect() as db:
        for name, value in wanted.items():
            assert db.exec_driver_sql(f"PRAGMA {name}").scalar_one() == value


# the schema


def test_head_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(upgrade.MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_current_head() == upgrade.HEAD


def _parts(sql: str) -> list[str]:
    """Columns and constraints, in whatever order and layout they were added."""
    head, _, rest = sql.partition("(")
    body, _, tail = rest.rpartition(")")
    return [head, tail, *re.split(r",(?![^(]*\))", body)]


def test_migrations_lead_to_the_schema_of_a_new_store(tmp_path: Path) -> None:
    def tables(db: sa.Connection) -> dict[str, set[str]]:
        rows = db.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        lines = {name: {part.strip() for part in _parts(sql)} for name, sql in rows}
        return {name: lines[name] for name in lines if name != "alembic_version"}

    plain = sa.create_engine("sqlite://")
    with plain.connect() as db:
        schema.metadata.create_all(db)
        wanted = tables(db)
    plain.dispose()
    with older(tmp_path / "migrated.db", "head") as db:
        assert tables(db) == wanted


@pytest.mark.slow
def test_alembic_and_sqlalchemy_load_only_when_needed(tmp_path: Path) -> None:
    script = """
        import sys, anyio
        from theanine.store import open_store
        assert "sqlalchemy" not in sys.modules
        async def main():
            for name, migrated in (("new", False), ("new", False), ("older", True)):
                store = open_store(f"{sys.argv[1]}/{name}.db")
                await store.open()
                await store.close()
                assert ("alembic" in sys.modules) == migrated
        anyio.run(main)
        """
    with older(tmp_path / "older.db", "0005"):
        pass
    subprocess.run([sys.executable, "-c", textwrap.dedent(script), tmp_path], check=True)


@contextmanager
def older(path: Path, revision: str) -> Generator[sa.Connection]:
    """A store as the version that knew no newer revision left it."""
    config = Config()
    config.set_main_option("script_location", str(upgrade.MIGRATIONS))
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as db:
        config.attributes["connection"] = db
        command.upgrade(config, revision)
        db.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
        yield db
    engine.dispose()


@pytest.mark.parametrize(
    ("methods", "own"), [(("turn", "theanine"), "theanine"), (("turn",), "exchange"), ((), "")]
)
async def test_an_older_store_gets_a_default_method(
    tmp_path: Path, methods: tuple[str, ...], own: str
) -> None:
    path = tmp_path / "older.db"
    with older(path, "0002") as db:
        for session, method in enumerate(methods, 1):
            row = {"scope": 1, "session": session, "method": method}
            db.execute(schema.remembering.insert().values(row))
    store = SqliteStore(path)
    await store.open()
    assert await store.default_method() == own
    await store.close()


async def test_memories_of_an_older_store_get_the_zone_of_their_last_turn(tmp_path: Path) -> None:
    path = tmp_path / "older.db"
    with older(path, "0004") as db:
        db.exec_driver_sql(
            "INSERT INTO scope (tenant, agent, user, next_memory) VALUES ('t', 'a', 'ana', 5)"
        )
        session_row = "INSERT INTO session VALUES (1, ?, ?, 1, 1, TRUE, '')"
        for session in (1, 2, 9):
            db.exec_driver_sql(session_row, (session, f"s{session}"))
        turn = "INSERT INTO turn VALUES (1, ?, ?, NULL, 'Ana', 'user', ?, ?, '', '', '[]', '{}')"
        for number, session, zone in ((1, 1, -480), (2, 1, 60), (3, 2, 345)):
            db.exec_driver_sql(turn, (number, session, number, zone))
        memory = "INSERT INTO memory VALUES (1, ?, ?, 'm', 'k', '', 1, 1, '[]', 'local', '')"
        # Of one turn, of two, of other memories alone, and of a session that has no turn.
        for number, session in ((1, 1), (2, 1), (3, 2), (4, 9)):
            db.exec_driver_sql(memory, (number, session))
        for pair in ((1, 1), (2, 1), (2, 2)):
            db.exec_driver_sql("INSERT INTO source VALUES (1, ?, ?)", pair)
    store = SqliteStore(path)
    await store.open()
    memories = await store.memories(Scope("ana", agent="a", tenant="t"))
    offsets = [memory.at.utcoffset() for memory in memories]
    assert offsets == [timedelta(minutes=zone) for zone in (-480, 60, 345, 0)]
    await store.close()


@contextmanager
def plans(store: SqliteStore, part: str) -> Generator[list[str]]:
    """Collect SQLite's plans of the statements with a part that are executed in the block."""
    asked: list[tuple[str, Any]] = []
    result: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: object) -> None:
        asked.append((statement, values))

    event.listen(store.engine, "before_cursor_execute", note)
    yield result
    event.remove(store.engine, "before_cursor_execute", note)
    with store.engine.connect() as db:
        result += [
            str(db.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all())
            for statement, values in asked
            if part in statement
        ]


async def test_what_is_read_by_number_is_found_in_an_index(store: SqliteStore) -> None:
    texts = [str(fixed.select.compile(store.engine)) for fixed in FixedSelect.made]
    texts = [text for text in texts if "json_each" in text]
    assert len(texts) >= 5
    with store.engine.connect() as db:
        for text in texts:
            text = text.replace("?", "'[1]'")
            plan = str(db.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}").all())
            assert re.search(r"SEARCH \w+ USING PRIMARY KEY \(scope=\? AND \w+=\?\)'", plan), text


async def test_sums_of_costs_read_no_prompts(store: SqliteStore) -> None:
    with plans(store, "sum(") as sums:
        await store.costs(ANA)
        await store.costs()
    assert len(sums) == 2
    assert all("COVERING INDEX journal_costs" in plan for plan in sums)


async def test_sessions_are_read_without_a_scan_of_all_turns(store: SqliteStore) -> None:
    transcript = Transcript(key="s", turns=[said("Hello.")], at=AT)
    logged = await store.log_transcript(ANA, transcript, "m")
    with plans(store, "turn") as searches:
        await store.pending("m", ANA)
        await store.pending("m")
        await store.sessions(ANA, "m", ids=[logged.session])
        turns, _ = await store.pending_input(ANA, logged.session, "m")
        await store.end_idle_sessions(ANA, AT, "m")
    assert [turn.text for turn in turns] == ["Hello."]
    assert len(searches) == 5
    assert all("INDEX turn_session (scope=? AND session=?" in plan for plan in searches)
    assert not any("turn USING PRIMARY KEY (scope=?)" in plan for plan in searches)


async def test_a_thread_goes_on_without_a_scan_of_turns_or_sessions(store: SqliteStore) -> None:
    await store.continue_thread(ANA, "t", [said("Hello.")], method="m")
    with plans(store, "ORDER BY") as searches:
        await store.continue_thread(ANA, "t", [said("And?")], method="m")
        await store.open_session(ANA, "t", AT)
    assert len(searches) == 2
    assert not any("PRIMARY KEY (scope=?)" in plan for plan in searches)


@pytest.mark.slow
def test_a_kill_while_a_store_is_made_or_migrated_is_harmless(tmp_path: Path) -> None:
    with older(tmp_path / "older.db", "0001"):
        pass
    script = """
        import os, shutil, signal, sys, time, anyio, alembic.command
        from theanine.store.sqlite import SqliteStore
        async def main(path, check):
            store = SqliteStore(path)
            await store.open()
            if check:
                assert await store.scopes() == []
            await store.close()
        anyio.run(main, sys.argv[1] + "/warm.db", True)
        for i in range(12):
            path = f"{sys.argv[1]}/{i}.db"
            if i % 2:
                shutil.copy(sys.argv[1] + "/older.db", path)
            child = os.fork()
            if not child:
                anyio.run(main, path, False)
                os._exit(0)
            time.sleep(0.003 * i)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            anyio.run(main, path, True)
        """
    python(script, tmp_path)


async def test_an_unfinished_select_keeps_nothing_from_being_erased(store: SqliteStore) -> None:
    session = await store.start_session(ANA, AT)
    await store.append_turns(ANA, session, [said("Rosebud", minute) for minute in range(3)])

    def fail(db: sa.Connection) -> None:
        rows = db.execute(sa.select(schema.turn))
        raise ValueError(rows.fetchone())

    with pytest.raises(ValueError, match="Rosebud") as kept:
        await store.read(fail)
    report = await store.forget(ANA, session=session)
    assert (report.turns, report.verified, report.kept) == (3, True, ())
    assert kept.traceback, "the error still has the select"


# disks and permissions


async def test_a_full_disk_loses_nothing(store: SqliteStore) -> None:
    session = await store.start_session(ANA, AT)
    await store.append_turns(ANA, session, [said("before")])

    def limit(connection: Any, *_: object) -> None:
        connection.execute("PRAGMA max_page_count=1")

    event.listen(store.engine, "checkout", limit)
    with pytest.raises(StoreFull, match=r"memory\.db: the disk is full; free some space"):
        await store.append_turns(ANA, session, [said("x" * 1_000_000, 1)])
    event.remove(store.engine, "checkout", limit)
    with store.engine.connect() as db:
        db.exec_driver_sql("PRAGMA max_page_count=1000000")
    await store.append_turns(ANA, session, [said("after", 2)])
    assert [turn.text for turn in await store.turns(ANA)] == ["before", "after"]


@pytest.mark.slow
def test_a_limit_on_file_sizes_is_reported(tmp_path: Path) -> None:
    script = """
        import resource, sys, anyio
        from datetime import UTC, datetime
        from theanine.types import Scope, Utterance
        from theanine.errors import StoreError
        from theanine.store import open_store
        at, ana = datetime(2024, 1, 1, tzinfo=UTC), Scope("ana")
        async def main():
            store = open_store(sys.argv[1])
            await store.open()
            session = await store.start_session(ana, at)
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
            try:
                large = Utterance(text="x" * 900_000, speaker="A", at=at)
                await store.append_turns(ana, session, [large])
            except StoreError as error:
                assert sys.argv[1] in str(error) and "disk" in str(error), error
            else:
                raise SystemExit("no error")
            await store.append_turns(ana, session, [Utterance(text="small", speaker="A", at=at)])
            assert [turn.text for turn in await store.turns(ana)] == ["small"]
        anyio.run(main)
        """
    python(script, tmp_path / "memory.db")


@pytest.mark.slow
def test_what_cannot_be_written_is_reported() -> None:
    script = """
        import os, sys, tempfile, anyio
        from theanine.errors import StoreError
        from theanine.store.sqlite import SqliteStore
        from theanine.types import Scope
        async def opened(path):
            store = SqliteStore(path)
            await store.open()
            await store.close()
        async def main():
            folder = tempfile.mkdtemp()
            file, other = folder + "/memory.db", folder + "/other.db"
            await opened(file)
            os.chmod(file, 0o444)
            os.chmod(folder, 0o755)
            if os.getuid() == 0:
                os.chmod(folder, 0o777)
                os.setuid(65534)
            try:
                await opened("/proc/memory.db")
            except StoreError as error:
                assert "/proc" in str(error) and "choose another" in str(error), error
            else:
                raise SystemExit("/proc/memory.db opened")
            store = SqliteStore(file)
            await store.open()
            try:
                await store.set_time_zone(Scope(user="ana"), "Europe/Zagreb")
            except StoreError as error:
                assert file in str(error) and "read-only" in str(error), error
            else:
                raise SystemExit(f"{file} was written")
            await store.close()
        anyio.run(main)
        """
    python(script)


async def test_disk_per_memory(store: SqliteStore) -> None:
    count = 1000
    turns = [said("We sailed to the island and the storm came up.", i) for i in range(count)]
    await store.log_transcript(ANA, Transcript(key="s", turns=turns, at=AT), "theanine")
    with store.engine.connect() as db:
        db.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    before = sum(path.stat().st_size for path in store.files if path.exists())
    vectors = np.random.default_rng(0).normal(size=(count, 256)).astype(np.float32)
    text = "Ana said: “We sailed to the island and the storm came up.”"
    memories = [
        NewMemory(text=text, at=AT, source_turns=(i + 1,), speakers=("Ana",)) for i in range(count)
    ]
    lease = await store.acquire_lease(ANA, "h:1:1", timedelta(hours=1)) or 0
    what = MemoryBatch(memories=memories, vectors=vectors)
    await store.commit_batch(ANA, 1, "theanine", what, embedder="e", lease=lease, at=AT)
    with store.engine.connect() as db:
        db.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    after = sum(path.stat().st_size for path in store.files if path.exists())
    assert (after - before) / count <= 1500


# other processes

_WRITER = """
    import sys, anyio
    import numpy as np
    from datetime import UTC, datetime, timedelta
    from theanine.types import Scope, Utterance
    from theanine.types import MemoryBatch, NewMemory
    from theanine.store import open_store
    from theanine.store.processes import process_holder
    at, me = datetime(2024, 1, 1, tzinfo=UTC), process_holder()
    async def main(path, name):
        ana, own = Scope("ana"), Scope(name)
        store = open_store(path)
        await store.open()
        for i in range(15):
            for scope in (ana, own):
                session = await store.start_session(scope, at)
                say = Utterance(text=f"{name} {i}", speaker=name, at=at)
                [turn] = await store.append_turns(scope, session, [say])
                await store.end_session(scope, session, at, "theanine")
            lease = await store.acquire_lease(own, me, timedelta(hours=1))
            new = NewMemory(text=f"{name} {i}", at=at, source_turns=(turn.id,))
            what = MemoryBatch(memories=[new], vectors=np.ones((1, 4), dtype=np.float32) / 2)
            await store.commit_batch(
                own, session, "theanine", what, embedder="e", lease=lease, at=at
            )
            await store.scope_version(ana)
        await store.close()
    anyio.run(main, sys.argv[1], sys.argv[2])
    """


@pytest.mark.slow
async def test_processes_write_concurrently_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    names = ["one", "two", "three"]
    for process in [python(_WRITER, path, name, start=True) for name in names]:
        finish(process)
    store = SqliteStore(path)
    await store.open()
    shared = await store.turns(ANA)
    assert sorted(turn.text for turn in shared) == sorted(
        f"{n} {i}" for n in names for i in range(15)
    )
    assert [turn.id for turn in shared] == list(range(1, 46))
    for name in names:
        assert len(await store.memories(Scope(name))) == 15
        assert await store.pending("theanine", Scope(name)) == []
    await store.close()


async def test_only_commits_that_can_be_repeated_do_not_wait_for_the_disk(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db")
    await store.open()
    levels: list[tuple[str, int]] = []

    def note_level(db: Any, _: Any, statement: str, *__: Any) -> None:
        if statement.startswith("INSERT INTO"):
            raw = db.connection.dbapi_connection
            table = statement.split()[2].strip('"')
            levels.append((table, raw.execute("PRAGMA synchronous").fetchone()[0]))

    event.listen(store.engine, "before_cursor_execute", note_level)
    try:
        logged = await store.log_transcript(
            ANA, Transcript(key="a", turns=[said("I like tea.")], at=AT), "theanine"
        )
        lease = await store.acquire_lease(ANA, "me", timedelta(days=9)) or 0
        vectors = np.ones((1, 4), np.float32) / 2
        for made_by in ("local", "gpt"):
            batch = MemoryBatch(
                memories=[NewMemory(text="Tea.", at=AT, source_turns=(1,), made_by=made_by)],
                vectors=vectors,
            )
            await store.commit_batch(
                ANA, logged.session, made_by, batch, embedder="test", lease=lease, at=AT
            )
        await store.log_transcript(
            ANA, Transcript(key="b", turns=[said("I like rum.")], at=AT), "theanine"
        )
    finally:
        await store.close()
    normal, full = 1, 2
    assert [level for table, level in levels if table == "turn"] == [full, full]
    assert [level for table, level in levels if table == "memory"] == [normal, full]


def test_a_client_stays_on_its_file_wherever_the_process_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with theanine.open("memory.db") as client, ThreadPoolExecutor(4) as threads:
        ana = client.user("ana")
        ana.add("I live in Lisbon.")
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert all(threads.map(ana.recall, ["Where do I live?"] * 8))
        ana.forget(memory=ana.memories()[0].id)
    assert [*(tmp_path / "elsewhere").iterdir()] == []
