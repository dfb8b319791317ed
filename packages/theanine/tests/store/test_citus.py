"""What is particular to stores that are distributed over a Citus cluster."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy import event

import theanine
from support import citus
from support.running import Terminal
from theanine.store.postgres import PostgresStore
from theanine.store.sql.distribution import TABLES
from theanine.store.sql.fixed import FixedSelect
from theanine.types import Scope, Utterance

pytestmark = [pytest.mark.skipif(bool(citus.MISSING), reason=citus.MISSING), pytest.mark.slow]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database with the extension and two workers, in which nothing is distributed."""
    return citus.undistributed_url(tmp_path)


def test_a_store_in_use_is_distributed_once(url: str, run: Terminal) -> None:
    with theanine.open(url) as client:
        ana, ben = client.user("ana"), client.user("ben")
        ana.add("I'm terrified of ships since the storm.")
        ben.add("I moved to Ljubljana.")
        before = list(client.export())
        first = run.bare("db", "distribute", "--shards", "4", "--store", url).out
        summary = f"{len(TABLES)} tables by user, each in 4 shards over 2 workers"
        assert first == f"Distributed {len(TABLES)} tables: {summary}\n"
        assert list(client.export()) == before
        assert "terrified" in ana.recall("Shall we book that cruise on a ship?").text
        ana.add("I like tea.")
        again = run.bare("db", "distribute", "--store", url)
        assert again.out == f"Already distributed: {summary}\n"
    with psycopg.connect(url) as db:
        for name in TABLES:  # no row stays on the coordinator
            assert db.execute(f"SELECT pg_relation_size('\"{name}\"')".encode()).fetchone() == (0,)
    checked = run.bare("doctor", "--no-ask", "--store", url).out
    assert summary in checked


@contextmanager
def recorded() -> Generator[dict[str, Any]]:
    """Record each statement that is executed meanwhile, with the parameters of its first use."""
    statements: dict[str, Any] = {}

    def record(_db: Any, _cursor: Any, statement: str, params: Any, _: Any, many: bool) -> None:
        statements.setdefault(statement, params[0] if many else params)

    event.listen(sa.Engine, "before_cursor_execute", record)
    try:
        yield statements
    finally:
        event.remove(sa.Engine, "before_cursor_execute", record)


def test_a_users_statements_run_on_one_shard(tmp_path: Path) -> None:
    url = citus.database_url(tmp_path)
    with theanine.open(url) as client:
        ana = client.user("ana")
        ana.add("I moved to Ljubljana.")
        at = datetime(2024, 3, 1, tzinfo=UTC)
        turns = [theanine.Utterance(text="I keep bees.", speaker="Ana", at=at)]
        transcript = theanine.Transcript(key="bees", turns=turns, at=at)
        with recorded() as statements:
            with ana.session("thread") as live:
                live.hear("I'm terrified of ships since the storm.", id="1")
                live.hear("I like tea.", id="2")
            ana.add("I sold my boat.")
            ana.log(theanine.History(name="ana", transcripts=[transcript]))
            ana.remember()
            assert "terrified" in ana.recall("Shall we book that cruise on a ship?").text
            for read in (ana.pending, ana.costs, ana.sessions, ana.turns):
                read()
            first, second, *_ = ana.memories()
            ana.correct(first.id, "I moved to Maribor.")
            ana.pin(second.id)
            ana.set_time_zone("Europe/Ljubljana")
            ana.set_retention(timedelta(days=36_500))
            ana.expire()
            ana.rebuild()
            list(ana.export())
            ana.forget(turn=ana.turns()[0].id)
            ana.forget_all()
    dialect = sa.create_engine("postgresql+psycopg://").dialect
    values = {"thread": "support", "key": "1", "limit": 3}
    statements |= {fixed.text(dialect, "1", [1, 2], values): None for fixed in FixedSelect.made}
    shards = re.compile(r"Task Count: (\d+)")
    tables = re.compile(r" on (\w+)")
    seen: set[str] = set()
    with psycopg.connect(url) as db:
        for statement, params in statements.items():
            if not statement.startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")):
                continue
            rows = psycopg.ClientCursor(db).execute(f"EXPLAIN {statement}".encode(), params or None)
            plan = "\n".join(row[0] for row in rows)
            assert set(shards.findall(plan)) <= {"1"}, f"{statement}\n{plan}"
            if "Custom Scan (Citus" in plan:
                seen |= {name for name in TABLES if re.search(rf'\b"?{name}"?\b', statement)}
            else:
                assert not set(tables.findall(plan)) & set(TABLES), f"{statement}\n{plan}"
    assert seen >= {*TABLES} - {"given", "origin", "link", "reservation"}, {*TABLES} - seen


def test_a_user_who_was_forgotten_elsewhere_is_looked_up_again(tmp_path: Path) -> None:
    url = citus.database_url(tmp_path)
    with theanine.open(url) as one, theanine.open(url) as other:
        ana = one.user("ana")
        ana.add("I'm terrified of ships since the storm.")
        question = "Shall we book that cruise on a ship?"
        assert "terrified" in ana.recall(question).text
        for new in ("I moved to Ljubljana.", "I keep bees."):
            other.user("ana").forget_all()
            assert ana.turns() == []
            assert not ana.recall(question).parts
            other.user("ana").add(new)
            assert [turn.text for turn in ana.turns()] == [new]
        other.user("ana").forget_all()
        ana.add("I like tea.")
        assert [turn.text for turn in other.user("ana").turns()] == ["I like tea."]


@pytest.mark.anyio
async def test_distributed_tables_are_migrated(tmp_path: Path) -> None:
    url = citus.database_url(tmp_path)
    scope, at = Scope("ana"), datetime(2024, 3, 1, tzinfo=UTC)
    store = PostgresStore(url)
    await store.open()
    session = await store.start_session(scope, at)
    await store.append_turns(scope, session, [Utterance(text="I sail.", speaker="Ana", at=at)])
    await store.downgrade("0015")
    await store.close()
    await store.open()  # and migrates it again
    assert [turn.text for turn in await store.turns(scope)] == ["I sail."]
    distribution = await store.distribution()
    await store.close()
    assert distribution is not None and not distribution.missing


def test_writers_go_on_while_a_store_is_distributed(url: str, run: Terminal) -> None:
    stop, stored = Event(), list[str]()

    def write() -> None:
        with theanine.open(url) as client:
            live = client.user("ana").session("thread")
            for number in count():
                live.hear(f"Turn {number}.", id=str(number))
                stored.append(str(number))
                if stop.is_set():
                    return

    thread = Thread(target=write)
    thread.start()
    try:
        while not stored:
            assert thread.is_alive()
            stop.wait(0.05)
        run.bare("db", "distribute", "--shards", "4", "--store", url)
        before = len(stored)
        while len(stored) < before + 5:
            assert thread.is_alive()
            stop.wait(0.05)
    finally:
        stop.set()
        thread.join()
    with theanine.open(url) as client:
        assert [turn.key for turn in client.user("ana").turns()] == stored


def test_a_distribution_that_is_killed_has_changed_nothing(url: str, run: Terminal) -> None:
    with theanine.open(url) as client:
        client.user("ana").add("I moved to Ljubljana.")
        before = list(client.export())
    program = "from theanine.cli import main; main()"
    command = [sys.executable, "-c", program, "db", "distribute", "--shards", "4", "--store", url]
    at_work = (
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT create_distributed_table%' "
        "AND pid <> pg_backend_pid() AND datname = current_database()"
    )
    with psycopg.connect(url, autocommit=True) as db, subprocess.Popen(command) as process:
        while db.execute(at_work).fetchone() != (1,):
            assert process.poll() is None
            time.sleep(0.005)
        process.kill()
        process.wait()
        # The server goes on with its statement until it notices, and holds the lock until then.
        while db.execute(at_work).fetchone() != (0,):
            time.sleep(0.05)
        assert db.execute("SELECT count(*) FROM pg_dist_partition").fetchone() == (0,)
    with theanine.open(url) as client:
        assert list(client.export()) == before
    assert run.bare("db", "distribute", "--shards", "4", "--store", url).out.startswith("Dist")


def test_a_role_that_would_copy_no_rows_is_refused(url: str, run: Terminal) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE ROLE owner LOGIN; GRANT ALL ON SCHEMA public TO owner")
    owned = url.replace("postgres@", "owner@")
    try:
        with theanine.open(owned) as client:
            client.user("ana").add("I moved to Ljubljana.")
            ran = run.bare("db", "distribute", "--store", owned, fine=False)
            assert ran.code == 2 and "row-level security hides rows from this role" in ran.err
            run.bare("db", "distribute", "--shards", "4", "--store", url)
            assert [turn.text for turn in client.user("ana").turns()] == ["I moved to Ljubljana."]
    finally:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("DROP OWNED BY owner; DROP ROLE owner")


def test_a_rebalance_of_balanced_workers_moves_nothing(url: str, run: Terminal) -> None:
    ran = run.bare("db", "rebalance", "--store", url, fine=False)
    assert ran.code == 0 and ran.out.startswith("Nothing to move: 0 tables")
    run.bare("db", "distribute", "--shards", "4", "--store", url)
    assert run.bare("db", "rebalance", "--store", url).out.startswith("Nothing to move: ")


def test_only_a_superuser_rebalances(url: str, run: Terminal) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE ROLE owner LOGIN; GRANT ALL ON SCHEMA public TO owner")
    owned = url.replace("postgres@", "owner@")
    try:
        ran = run.bare("db", "rebalance", "--store", owned, fine=False)
        assert ran.code == 2 and "only a superuser can move shards" in ran.err
        assert "row-level security holds" in run.bare("doctor", "--no-ask", "--store", owned).out
    finally:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("DROP OWNED BY owner; DROP ROLE owner")
