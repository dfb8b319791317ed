"""What is particular to stores in PostgreSQL; the contract suite tests all else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import make_url

import theanine
from support.postgres import MISSING, database_url
from support.running import Terminal
from theanine.errors import NotAStore, SettingsError, StoreError, StoreUnavailable
from theanine.store import open_store
from theanine.store.postgres import PostgresStore

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
