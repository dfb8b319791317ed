"""What is particular to stores in PostgreSQL; the contract suite tests all else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import event, make_url

import theanine
from support import debian_postgres
from support.postgres import MISSING, database_url
from support.running import Terminal
from theanine.errors import NotAStore, SettingsError, StoreError, StoreUnavailable
from theanine.store import open_store
from theanine.store.postgres import PostgresStore
from theanine.store.sql.upgrade import HEAD
from theanine.testing import Outcome, ScriptedServer, answer
from theanine.testing.contract.histories import demo

pytestmark = [pytest.mark.skipif(bool(MISSING), reason=MISSING), pytest.mark.slow]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return database_url(tmp_path)


@pytest.fixture
def client(url: str) -> Iterator[theanine.Client]:
    with theanine.open(url) as client:
        yield client


@pytest.mark.parametrize("location", ["postgresql://host", "postgresql://host:port/database"])
def test_a_url_that_cannot_be_used_is_told(location: str) -> None:
    with pytest.raises(SettingsError, match="postgresql://USER@HOST:PORT/DATABASE"):
        open_store(location)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("pool_size=0", "pool_size .* whole number, at least 1"),
        ("pool_timeout=soon", "pool_timeout .* whole number, at least 1"),
        ("statement_timeout=-1", "statement_timeout .* whole number, at least 0"),
        ("pool_size=1&pool_size=2", "pool_size"),
        ("pol_size=3", "pol_size"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(url: str, query: str, message: str) -> None:
    separator = "&" if "?" in url else "?"
    with pytest.raises(SettingsError, match=message), theanine.open(f"{url}{separator}{query}"):
        pass


@pytest.mark.parametrize(
    ("change", "message"),
    [({"database": "nowhere"}, "no such database"), ({"username": "nobody"}, "refuses this user")],
)
def test_a_refused_connection_says_what_to_do(
    url: str, change: dict[str, Any], message: str
) -> None:
    location = make_url(url).set(**change).render_as_string(hide_password=False)
    with pytest.raises(StoreError, match=message) as raised, theanine.open(location):
        pass
    assert not isinstance(raised.value, StoreUnavailable)


def test_no_password_is_shown() -> None:
    store = PostgresStore("postgres://ana:secret-word@127.0.0.1:1/memory")
    assert "secret-word" not in store.location
    with (
        pytest.raises(StoreUnavailable, match="can't be reached") as raised,
        theanine.open("postgres://ana:secret-word@127.0.0.1:1/memory"),
    ):
        pass
    assert "secret-word" not in str(raised.value)


def test_a_database_of_another_application_is_left_alone(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE TABLE orders (id int)")
        with pytest.raises(NotAStore, match="orders"), theanine.open(url):
            pass
        tables = db.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
        assert tables.fetchone() == (1,)


def test_writers_at_once_lose_and_double_nothing(url: str) -> None:
    """Clients open, create the tables and write at the same time."""

    def write(number: int) -> None:
        with theanine.open(url) as client:
            live = client.user("ana").session("thread")
            for turn in range(10):
                live.hear(f"Turn {turn} of writer {number}.", id=f"{number}-{turn}")
                live.hear(f"Turn {turn} of writer {number}.", id=f"{number}-{turn}")

    threads = [Thread(target=write, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with theanine.open(url) as client:
        turns = client.user("ana").turns()
        assert len({turn.text for turn in turns}) == len(turns) == 40
        assert [turn.id for turn in turns] == list(range(1, 41))
        assert len({turn.session for turn in turns}) == 1


def test_a_turn_waits_for_few_statements(client: theanine.Client) -> None:
    statements: list[str] = []

    def note(_db: Any, _cursor: Any, statement: str, *_: object) -> None:
        statements.append(statement)

    live = client.user("ana").session("thread")
    live.hear("I keep bees.")
    event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        live.hear("I sold my boat.")
    finally:
        event.remove(sa.Engine, "before_cursor_execute", note)
    assert [statement.split()[0] for statement in statements] == ["SELECT", "UPDATE", "INSERT"]


def test_the_main_path(client: theanine.Client, url: str, run: Terminal) -> None:
    ana = client.user("ana")
    ana.add("I'm terrified of ships since the storm.")
    ana.add("I moved to Ljubljana.")
    with theanine.open(url) as other:
        assert "terrified" in other.user("ana").recall("Shall we book that cruise on a ship?").text
    assert "terrified" in run.bare("search", "ships", "--user", "ana", "--store", url).out
    records = list(client.export())
    report = ana.forget_all()
    assert (report.turns, report.verified) == (2, False)
    assert "write-ahead log" in report.remaining
    assert ana.turns() == []
    assert records[0]["type"] == "theanine"


def test_forgetting_says_what_a_server_keeps(
    client: theanine.Client, url: str, run: Terminal
) -> None:
    client.user("ana").add("I'm vegan.")
    ran = run.bare("forget", "--user", "ana", "--yes", "--store", url)
    assert "erased from the database; the server's write-ahead log" in ran.out


def test_no_transaction_is_open_while_a_model_is_asked(url: str) -> None:
    import psycopg

    open_transactions: list[int] = []

    def look(request: Mapping[str, Any]) -> Outcome:
        """Answer once no transaction is open: one around this call would be so for ever."""
        query = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND application_name = 'theanine' AND xact_start IS NOT NULL "
            "AND pid <> pg_backend_pid()"  # a pooler may lend this one a connection of the client's
        )
        count = 1
        # A statement that the client prepares may meet another connection of a pooler.
        with psycopg.connect(url, autocommit=True, prepare_threshold=None) as db:
            for _ in range(100):
                [count] = db.execute(query).fetchone() or (1,)
                if not count:
                    break
                sleep(0.02)
        open_transactions.append(count)
        return answer(request)

    with (
        ScriptedServer(look) as server,
        theanine.open(url, model="openai:scripted", base_url=server.base_url) as client,
    ):
        ana = client.user("ana")
        ana.log(demo())
        ana.remember()
        asked = len(open_transactions)
        with ana.session() as session:
            session.hear("Are ships fine?")
            assert session.reply().text
    assert 0 < asked < len(open_transactions)
    assert set(open_transactions) == {0}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("state", "tries"),
    [("40001", 2), ("40P01", 2), ("57P01", 2), ("08006", 2), ("57014", 1), ("42501", 1)],
)
async def test_what_passes_is_repeated(url: str, state: str, tries: int) -> None:
    """The server refuses a write once, after a first statement of it."""
    calls = 0

    def work(db: sa.Connection) -> str:
        nonlocal calls
        calls += 1
        db.execute(sa.text("INSERT INTO setting VALUES ('written', 'once')"))
        if calls == 1:
            refuse = f"DO $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '{state}'; END $$"
            db.exec_driver_sql(refuse)
        return "done"

    store = PostgresStore(url)
    await store.open()
    try:
        if tries == 1:
            with pytest.raises(StoreError, match="refused"):
                await store.write(work)
        else:
            assert await store.write(work) == "done"
        assert calls == tries
    finally:
        await store.close()


@pytest.mark.skipif(bool(debian_postgres.MISSING), reason=debian_postgres.MISSING)
def test_options_that_a_pooler_refuses_are_named(tmp_path: Path) -> None:
    url = debian_postgres.pooled_url(tmp_path)
    with (
        pytest.raises(StoreError, match="PgBouncer takes no `options`"),
        theanine.open(f"{url}?options=-c%20work_mem%3D8MB"),
    ):
        pass


def test_doctor_describes_the_server(client: theanine.Client, url: str, run: Terminal) -> None:
    client.user("ana").add("I keep bees on the roof.")
    ran = run.bare("doctor", "--no-ask", "--store", url)
    assert re.search(
        rf"server +PostgreSQL \d+[\d.]*, role theanine, schema {HEAD}, \d+\.\d MB\n"
        r" +\d+ of \d+ connections in use, oldest open transaction: \d+ s",
        ran.out,
    )


def test_doctor_names_a_server_that_takes_no_writes(
    client: theanine.Client, url: str, run: Terminal
) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        name = make_url(url).database
        db.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on".encode())
        with pytest.raises(psycopg.OperationalError):  # also a pooler's connections, this one last
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() ORDER BY pid = pg_backend_pid()"
            )
    ran = run.bare("doctor", "--no-ask", "--store", url, fine=False)
    assert ran.code == 1
    assert "It takes no writes: name the primary" in ran.out


def test_a_store_without_citus_is_not_distributed(url: str, run: Terminal) -> None:
    ran = run.bare("db", "distribute", "--store", url, fine=False)
    assert ran.code == 2 and "has no Citus extension; run CREATE EXTENSION citus" in ran.err
    assert "one server without the Citus extension" in run.bare("doctor", "--store", url).out
    ran = run("db", "distribute", fine=False)
    assert ran.code == 2 and "is no PostgreSQL database" in ran.err
