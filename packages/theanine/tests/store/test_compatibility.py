"""Stores and exports of version 0.1 still open, replay and restore; see fixtures/README.md."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

import theanine
from support.postgres import MISSING, database_url
from support.running import Terminal
from theanine.store import open_store
from theanine.store.sql.store import SqlStore
from theanine.store.sql.upgrade import HEAD
from theanine.types import History, Transcript, Utterance

FIXTURES = Path(__file__).parents[1] / "fixtures"
# The journal's address: nothing listens there, so a call that isn't replayed fails.
BASE_URL = "http://127.0.0.1:4717/v1"
MEMORIES = {
    "comedy": 10,
    "conditional": 4,
    "exchange": 4,
    "memochat": 4,
    "memory-update": 6,
    "memorybank": 12,
    "recursive-summary": 6,
    "secom": 2,
    "session": 2,
    "summary-buffer": 8,
    "theanine": 6,
    "utterance": 8,
}
"""Memories of ana by method."""
REPLAYED = {
    "comedy": 3,
    "conditional": 4,
    "exchange": 0,
    "memochat": 2,
    "memory-update": 2,
    "memorybank": 5,
    "recursive-summary": 0,
    "secom": 2,
    "session": 0,
    "summary-buffer": 0,
    "theanine": 2,
    "utterance": 0,
}
"""Calls that a rebuild of ana's memories replays from the journal of version 0.1."""
ASKED = {
    # These prompts have a later version.
    "recursive-summary": "update-summary@2",
    # Version 0.1 related by relate@1, so a session with pairs is asked anew as a whole.
    "theanine": "summarize@2",
    # The second session's journalled reply states something twice, which is stored once now: these
    # steps are shown one statement less. The replies before them are replayed.
    "comedy": "compress@1",
    "memory-update": "update-memories@1",
    "memorybank": "bank-events@1",
}
"""The step that must be asked, by method; no model answers here."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return Path(shutil.copy(FIXTURES / "store-0.1.sqlite", tmp_path / "old.db"))


def records_of(client: theanine.Client) -> list[dict[str, Any]]:
    return json.loads(json.dumps(list(client.export())))


def without_versions(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out what tells stores apart: the versions, and the digest over them."""
    return [
        {name: value for name, value in record.items() if name != "versions"}
        for record in records
        if record["type"] != "end"
    ]


@pytest.mark.slow
def test_an_old_store_opens_with_all_its_memories(old: Path) -> None:
    with theanine.open(str(old)) as client:
        assert client.method_name == "theanine"
        assert client.check() == ""
        assert {scope.user for scope in client.users()} == {"ana", "bo", "cy", "dee"}
        ana = client.user("ana")
        assert "cruise" in ana.recall("Shall we take a ship?").text
        turns = ana.turns()
        assert Counter(turn.role for turn in turns) == {"user": 4, "assistant": 4}
        assert all(turn.dated for turn in turns)
        assert client.user("bo", agent="helper", tenant="acme").recall("Where do I live?")
        [session] = client.user("cy").sessions()
        assert session.ended_at is None
    for method, count in MEMORIES.items():
        with theanine.open(str(old), method=method) as client:
            memories = client.user("ana").memories()
            assert len(memories) == count, method
            assert {memory.method for memory in memories} == {method}
            assert client.user("ana").recall("Lucija's wedding"), method


def test_what_was_forgotten_stays_forgotten(old: Path) -> None:
    with theanine.open(str(old)) as client:
        text = json.dumps(without_versions(records_of(client)))  # their hashes have any digits
        at = datetime(2023, 5, 2, 10, tzinfo=UTC)
        walk = Transcript(
            key="walk",
            at=at,
            turns=[
                Utterance(key="w1", speaker="Dee", at=at, text="I walk my dog Fido every morning."),
                Utterance(key="w2", speaker="Dee", at=at, text="My bank card number is 4417."),
            ],
        )
        dee = client.user("dee")
        dee.log(History(name="dee", transcripts=[walk]))
        assert [turn.key for turn in dee.turns()] == ["w1"]
    assert "forgettable" not in text
    assert "4417" not in text


def test_a_default_method_turn_is_read_as_exchange(tmp_path: Path) -> None:
    path = shutil.copy(FIXTURES / "store-turn-0.1.sqlite", tmp_path / "old.db")
    with theanine.open(str(path)) as client:
        assert client.method_name == "exchange"
        assert client.check() == ""
        memories = client.user("ana").memories()
        assert {(memory.method, memory.kind) for memory in memories} == {("exchange", "exchange")}
        assert "bees" in client.user("ana").recall("Do you remember the bees?").text
        with client.user("ana").session() as session:
            session.hear("I sold the bees.")
        assert len(client.user("ana").memories()) == len(memories) + 1


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted(MEMORIES))
def test_the_journal_of_an_old_store_is_replayed(old: Path, method: str) -> None:
    with theanine.open(str(old), method=method, model="openai:test", base_url=BASE_URL) as client:
        ana = client.user("ana")
        before = [(m.text, m.kind, m.at, m.source_turns) for m in ana.memories()]
        rebuilt = ana.rebuild(again=True)
        usages = [report.usage for report in rebuilt.reports]
        assert sum(usage.replayed for usage in usages) == REPLAYED[method]
        failures = " ".join(pending.failure or "" for pending in rebuilt.waiting)
        steps = set(re.findall(r"\(step (\S+)\)", failures))
        assert steps == ({ASKED[method]} if method in ASKED else set())
        assert sum(usage.calls for usage in usages) == 0 or method in ASKED
        assert rebuilt.complete == (method not in ASKED)
        assert [(m.text, m.kind, m.at, m.source_turns) for m in ana.memories()] == before


@pytest.mark.slow
def test_an_old_export_restores_like_the_old_store(old: Path, tmp_path: Path) -> None:
    lines = (FIXTURES / "export-0.1.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    with theanine.open(str(old)) as client:
        migrated = records_of(client)
        with pytest.warns(UserWarning, match="has no count"):
            assert client.restore(records) == 0, "each is recognized as stored"
    with theanine.open(str(tmp_path / "new.db")) as client:
        with pytest.warns(UserWarning, match="has no count"):
            assert client.restore(records) == len(records) - 1
        assert client.check() == ""
        restored = records_of(client)
    assert without_versions(restored) == without_versions(migrated)
    with theanine.open(str(tmp_path / "copy.db")) as client:
        client.restore(restored)
        assert records_of(client) == restored


def test_migrations_go_down_and_up_with_the_data_in_place(old: Path) -> None:
    released = revision_of(FIXTURES / "store-0.1.sqlite")
    with theanine.open(str(old)) as client:
        before = without_versions(records_of(client))
    for number in range(int(HEAD) - 1, int(released) - 1, -1):
        downgrade(str(old), f"{number:04}")
        assert revision_of(old) == f"{number:04}"
        if number == int(released):
            assert columns_of(old) == columns_of(FIXTURES / "store-0.1.sqlite")
        with theanine.open(str(old)) as client:
            assert client.check() == ""
            assert without_versions(records_of(client)) == before
    downgrade(str(old), "0001")  # it has no place for tombstones and marks
    assert "mark" not in columns_of(old)


def revision_of(path: Path) -> str:
    with closing(sqlite3.connect(path)) as db:
        return str(db.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def columns_of(path: Path) -> dict[str, set[str]]:
    """Return the columns of each table, and the names of its indexes."""
    query = "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
    found: dict[str, set[str]] = {}
    with closing(sqlite3.connect(path)) as db:
        for table, column in db.execute(query + " WHERE m.type = 'table'"):
            found.setdefault(table, set()).add(column)
        for table, index in db.execute(
            "SELECT tbl_name, name FROM sqlite_master WHERE sql LIKE 'CREATE%INDEX%'"
        ):
            found[table].add(index)
    return found


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_migrations_go_down_and_up_in_postgresql(old: Path, tmp_path: Path) -> None:
    url = database_url(tmp_path)
    with theanine.open(str(old)) as client:
        records = records_of(client)
    with theanine.open(url) as client:
        client.restore(records)
        before = records_of(client)
    for revision in ("0015", "0014", "0009", "0007", "0004", "0002"):
        downgrade(url, revision)
        with theanine.open(url) as client:
            assert client.check() == ""
            assert without_versions(records_of(client)) == without_versions(before)


def downgrade(location: str, revision: str) -> None:
    async def run() -> None:
        store = open_store(location)
        assert isinstance(store, SqlStore)
        await store.open()
        await store.downgrade(revision)
        await store.close()

    anyio.run(run)


def test_the_command_downgrades_and_names_unknown_revisions(old: Path) -> None:
    theanine_of = Terminal(old)
    assert "revision 0004" in theanine_of("db", "downgrade", "0004", "--yes").out
    assert revision_of(old) == "0004"
    failed = theanine_of("db", "downgrade", "0.1", "--yes", fine=False)
    assert failed.code == 2
    assert "there is no revision '0.1'; there are 0001, 0002" in failed.err


def test_stages_of_an_unfinished_rebuild_are_renamed(tmp_path: Path) -> None:
    path = shutil.copy(FIXTURES / "store-turn-0.1.sqlite", tmp_path / "old.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE memory SET method = 'turn~0123456789ab'")
        db.commit()
    with theanine.open(str(path)) as client:
        methods = {record["method"] for record in client.export() if record["type"] == "memory"}
    assert methods == {"exchange~0123456789ab"}
