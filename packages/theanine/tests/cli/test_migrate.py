"""``theanine db migrate``: tables are brought up to date while nobody else has the store open."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import theanine
from support.postgres import MISSING, database_url
from support.running import Terminal
from theanine.store.sql.upgrade import HEAD

OLDER = f"{int(HEAD) - 1:04}"
PLACES = [
    "file",
    pytest.param("server", marks=pytest.mark.skipif(bool(MISSING), reason=MISSING)),
]


@pytest.fixture(params=PLACES)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "memory.db") if request.param == "file" else database_url(tmp_path)


@pytest.fixture
def db(location: str) -> Callable[..., tuple[int, str]]:
    """Run ``theanine db`` on the store; return its exit code and what it printed."""

    def run(*arguments: str) -> tuple[int, str]:
        ran = Terminal(Path("unused.db")).bare("db", *arguments, "--store", location, fine=False)
        return ran.code, ran.out + ran.err

    return run


def test_tables_are_made_and_brought_up_to_date(
    location: str, db: Callable[..., tuple[int, str]]
) -> None:
    code, said = db("migrate", "--check")
    assert code == 1 and "are missing" in said and "theanine db migrate" in said
    assert db("migrate") == (0, f"The tables are at revision {HEAD} now.\n")
    assert db("migrate") == (0, f"The tables are up to date: revision {HEAD}.\n")
    assert db("migrate", "--check")[0] == 0
    with theanine.open(location) as client:
        client.user("ana").add("I keep bees.")
    assert db("downgrade", OLDER, "--yes")[0] == 0
    code, said = db("migrate", "--check")
    assert code == 1 and f"at revision {OLDER}, and this version needs {HEAD}" in said
    assert db("migrate") == (0, f"The tables are at revision {HEAD} now, since {OLDER}.\n")
    with theanine.open(location) as client:
        assert client.user("ana").turns()[0].text == "I keep bees."


def test_nothing_is_changed_while_others_have_the_store_open(
    location: str, db: Callable[..., tuple[int, str]]
) -> None:
    with theanine.open(location) as client:  # a process of the earlier version
        client.user("ana").add("I keep bees.")
        assert db("downgrade", OLDER, "--yes")[0] == 0
        code, said = db("migrate", "--wait", "0.2")
        assert code == 1 and "others have the store open" in said and "nothing was changed" in said
        assert db("migrate", "--check")[0] == 1
        waiting = threading.Thread(target=lambda: results.append(db("migrate", "--wait", "60")))
        results: list[tuple[int, str]] = []
        waiting.start()
    waiting.join()
    assert results == [(0, f"The tables are at revision {HEAD} now, since {OLDER}.\n")]


def test_it_can_be_forced(location: str, db: Callable[..., tuple[int, str]]) -> None:
    with theanine.open(location) as client:
        client.user("ana").add("I keep bees.")
        db("downgrade", OLDER, "--yes")
        assert db("migrate", "--force")[0] == 0
    assert db("migrate", "--check")[0] == 0


def test_tables_of_a_newer_version_are_left_alone(
    location: str, db: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    if location.startswith("postgresql"):
        pytest.skip("the same code")
    import sqlite3

    db("migrate")
    with sqlite3.connect(location) as file:
        file.execute("UPDATE alembic_version SET version_num = '9999'")
    file.close()
    for arguments in (["migrate"], ["migrate", "--check"], ["migrate", "--force"]):
        code, said = db(*arguments)
        assert code != 0 and "was written by a newer theanine" in said
