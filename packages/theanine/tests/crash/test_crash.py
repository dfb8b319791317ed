"""A few kills, and tests that the checks detect violations."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import theanine
from crash import check
from crash.harness import crash
from crash.maintenance import WORK, crash_maintenance
from theanine.demo import HARBOUR
from theanine.importers import read_histories
from theanine.testing import ScriptedServer


@pytest.mark.slow
def test_kills_lose_and_repeat_nothing() -> None:
    tally = crash(kills=3, seed=7)
    assert tally.violations == []
    assert tally.acknowledged == tally.stored > 0
    assert sum(tally.kills.values()) == 3


@pytest.mark.slow
def test_kills_in_maintenance_leave_it_done_or_undone() -> None:
    tally, violations = crash_maintenance(kills=1, seed=7)
    assert violations == []
    assert tally.keys() == WORK.keys()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with theanine.open(str(path)) as client:
        client.user("ana").log(read_histories(HARBOUR).histories[0])
        client.user("ana").remember()
    with theanine.open(str(path), method="theanine-paper") as client:
        client.user("ana").recall("my boat")  # makes the vectors of memories
    assert list(check.check_consistency(path)) == []
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "violation"),
    [
        ("UPDATE remembering SET remembered_at = NULL WHERE session = 3", "not remembered"),
        ("UPDATE vector SET memory = 999 WHERE memory = 5", "vectors of a missing memory"),
        ("DELETE FROM memory WHERE id = 19", "missing memory"),
        (
            "CREATE TEMP TABLE twice AS SELECT * FROM memory WHERE id = 5;"
            "UPDATE twice SET id = 999;"
            "INSERT INTO memory SELECT * FROM twice",
            "duplicate",
        ),
    ],
)
def test_partial_data_is_detected(store: Path, damage: str, violation: str) -> None:
    with closing(sqlite3.connect(store)) as db:
        db.executescript(damage)
        db.commit()
    assert any(violation in line for line in check.check_consistency(store))


def test_lost_and_moved_turns_are_detected(store: Path) -> None:
    texts = check.load_texts(store)
    assert list(check.check_acknowledged(texts, store)) == []
    assert list(check.check_acknowledged([*texts, "never kept"], store))
    assert list(check.check_acknowledged([texts[1], texts[0]], store))


def test_a_repeated_call_is_detected() -> None:
    request = {"messages": [{"role": "user", "content": "Task: summarize\n\nAnswer so."}]}
    assert list(check.check_not_repeated([request], {"Task: relate"})) == []
    assert list(check.check_not_repeated([request], {"Task: summarize"}))


def test_an_empty_journal_is_detected() -> None:
    request = {"messages": [{"role": "user", "content": "Task: summarize\n\nAnswer so."}]}
    assert list(check.check_journaled([request], {"Task: summarize"}, 0)) == []
    assert list(check.check_journaled([request], set(), 0))


def test_a_duplicated_log_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    whole = read_histories(HARBOUR).histories[0]
    with theanine.open(str(path)) as client:
        for again in ("", "-again"):
            renamed = [replace(each, key=each.key + again) for each in whole.transcripts]
            client.user("ana").log(replace(whole, transcripts=renamed))
    texts = [turn.text for transcript in whole.transcripts for turn in transcript.turns]
    assert list(check.check_acknowledged(texts * 2, path))


@pytest.mark.slow
def test_a_different_store_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with ScriptedServer() as server:
        with theanine.open(str(path), model="openai:scripted", base_url=server.base_url) as client:
            client.user("ana").log(read_histories(HARBOUR).histories[0])
            client.user("ana").remember()
        fine = check.check_same_as_uninterrupted(path, tmp_path / "a.db", server.base_url)
        assert list(fine) == []
        with closing(sqlite3.connect(path)) as db:
            db.execute("UPDATE link SET relation = 'Want'")
            db.commit()
        assert list(check.check_same_as_uninterrupted(path, tmp_path / "b.db", server.base_url))
