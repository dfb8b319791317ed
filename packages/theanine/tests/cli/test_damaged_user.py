"""Commands for all users go on when the data of one is damaged, and name that one."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

import theanine
from support.running import Ran, Terminal
from theanine.clock import system_clock
from theanine.errors import BadInput, DamagedData
from theanine.types import History, Scope, Transcript, Utterance

USERS = ("ana", "bo", "cleo")
DAMAGED = "bo"
COLUMNS = (
    "session.metadata",
    "turn.notes",
    "turn.recalled",
    "memory.metadata",
    "scope_state.restored_versions",
)
TURNS = {"session.metadata", "turn.notes", "turn.recalled"}
COMMANDS: dict[tuple[str, ...], set[str]] = {
    ("export",): set(COLUMNS),
    ("export", "--json"): set(COLUMNS),
    ("export", "--csv"): TURNS,
    ("sessions",): {"session.metadata"},
    ("sessions", "--json"): {"session.metadata"},
    ("cost",): set(),
    ("remember",): {*TURNS, "memory.metadata"},
    ("remember", "--json"): {*TURNS, "memory.metadata"},
    ("rebuild", "--method", "exchange"): TURNS,
    ("rebuild", "--again"): TURNS,
    ("rebuild", "--instead", "--method", "exchange"): TURNS,
    ("rebuild", "--estimate", "--method", "exchange"): TURNS,
    ("reembed", "--embedder", "hash:64"): set(),
}
"""Commands without ``--user``, and the columns that each of them reads."""
CASES = [
    pytest.param(command, column, id=f"{' '.join(command)} {column}")
    for command, columns in COMMANDS.items()
    for column in COLUMNS
    if column in columns or column in ("memory.metadata", "scope_state.restored_versions")
]


def log(client: theanine.Client, user: str, key: str, at: datetime) -> None:
    said = [
        Utterance(text=f"I sold boat {number} in Riga to a fisherman.", speaker=user, at=at)
        for number in range(3)
    ]
    history = History(name=user, transcripts=[Transcript(key=key, turns=said, at=at)])
    client.user(user).log(history)


@cache
def template() -> Path:
    """Return a store whose users have a session to expire, one to remember and one to end."""
    path = Path(mkdtemp()) / "memory.db"
    with theanine.open(path, pause=timedelta(minutes=5)) as client:
        for user in USERS:
            log(client, user, "old", datetime(2020, 1, 1, tzinfo=UTC))
            log(client, user, "early", system_clock() - timedelta(days=20))
        client.remember()
        for user in USERS:
            owner = client.user(user)
            owner.pin(owner.memories()[-1].id)
            log(client, user, "late", system_clock() - timedelta(days=10))
            past = system_clock() - timedelta(days=3)
            owner.session("thread").hear("I am called away.", at=past)
        client.set_retention(timedelta(days=365))
    return path


@pytest.fixture
def damage(run: Terminal) -> Any:
    """Damage one column of a user in a copy of the template."""

    def write(column: str) -> None:
        shutil.copy(template(), run.store)
        table, name = column.split(".")
        with closing(sqlite3.connect(run.store)) as db:
            [[number]] = db.execute("SELECT id FROM scope WHERE user = ?", [DAMAGED]).fetchall()
            changed = db.execute(f"UPDATE {table} SET {name} = '{{' WHERE scope = ?", [number])
            assert changed.rowcount
            db.commit()

    return write


def check_others(command: tuple[str, ...], ran: Ran, run: Terminal) -> None:
    """Check that the command has done its work for the other users."""
    for user in ("ana", "cleo"):
        if command[0] in ("export", "sessions"):
            assert user in ran.out
        if command[0] in ("remember", "rebuild") and "--estimate" not in command:
            method = command[-1] if "--method" in command else "theanine"
            with theanine.open(run.store, method=method) as client:
                assert client.user(user).pending() == []
                assert client.user(user).memories()
                if {"--again", "--instead"} & {*command}:
                    records = client.user(user).export()
                    made = {each["method"] for each in records if each["type"] == "memory"}
                    assert made == {method}
                if command[0] == "remember":
                    assert len(client.user(user).turns()) == 7  # three have expired


@pytest.mark.slow
@pytest.mark.parametrize(("command", "column"), CASES)
def test_one_damaged_user_stops_no_other(
    run: Terminal, damage: Any, command: tuple[str, ...], column: str
) -> None:
    damage(column)
    ran = run(*command, fine=False)
    lines = [line for line in ran.err.splitlines() if "No language model" not in line]
    if column in COMMANDS[command]:
        assert ran.code == 1
    if ran.code:
        assert ran.code == 1
        assert sum(line.startswith(f"{DAMAGED}:") for line in lines) == 1, ran
        assert "is damaged" in ran.err
    else:
        assert lines == []
    check_others(command, ran, run)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["turn.notes", "memory.metadata"])
def test_recall_says_what_is_damaged(run: Terminal, damage: Any, column: str) -> None:
    damage(column)
    ran = run("recall", "Where did I sell a boat?", "--user", DAMAGED, fine=False)
    assert ran.code == 1
    assert "a stored value is damaged" in ran.err
    assert "sold boat" in run("recall", "Where did I sell a boat?", "--user", "ana").out


@pytest.mark.slow
@pytest.mark.parametrize("column", COLUMNS)
def test_doctor_and_copy_name_the_damaged_user(
    run: Terminal, damage: Any, column: str, tmp_path: Path
) -> None:
    damage(column)
    ran = run("doctor", "--no-ask", fine=False)
    assert ran.code == 1
    assert f" of {DAMAGED}" in " ".join(ran.out.split())
    ran = run.bare("copy", str(run.store), str(tmp_path / "copy.db"), fine=False)
    assert (ran.code, ran.err.splitlines()[0].startswith(f"{DAMAGED}: ")) == (1, True)
    with theanine.open(tmp_path / "copy.db") as client:
        assert client.users() == [Scope("ana"), Scope("cleo")]


@pytest.mark.slow
def test_an_export_without_a_damaged_user_does_not_claim_to_be_whole(
    run: Terminal, damage: Any, tmp_path: Path
) -> None:
    damage("memory.metadata")
    file = tmp_path / "all.jsonl"
    file.write_text(run("export", fine=False).out, "utf-8")
    end = json.loads(file.read_text("utf-8").splitlines()[-1])
    assert [each["scope"] for each in end["left_out"]] == [{"user": DAMAGED}]
    other = Terminal(tmp_path / "other.db")
    ran = other("import", str(file), fine=False)
    assert (ran.code, "it lacks data of bo" in ran.err) == (2, True)
    assert "--partial" in ran.err
    other("import", str(file), "--partial")
    with theanine.open(run.store) as old, theanine.open(other.store) as new:
        for user in ("ana", "cleo"):
            assert list(new.user(user).export()) == list(old.user(user).export())
        records: list[dict[str, Any]] = []
        with pytest.raises(DamagedData, match="lacks data of bo"):
            records.extend(iter(old.export()))
        with pytest.raises(DamagedData):
            old.user(DAMAGED).export().__next__()
        for wrong in (5, [5], [{"scope": 5}]):
            with pytest.raises(BadInput):
                new.restore([*read(file)[:-1], {**end, "left_out": wrong}])


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]
