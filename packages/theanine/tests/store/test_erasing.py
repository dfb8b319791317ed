"""How the SQLite store removes erased texts from its files, with concurrent readers and writers."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import event

import theanine
from support.running import Terminal
from theanine.store.sqlite import SqliteStore
from theanine.store.values import ForgetReport
from theanine.types import Scope, Transcript, Utterance

pytestmark = pytest.mark.anyio

ANA, BEN = Scope("ana"), Scope("ben")
AT = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)


def said(text: str, minute: int = 0) -> Utterance:
    return Utterance(text=text, speaker="Ana", at=AT + timedelta(minutes=minute))


async def log(store: SqliteStore, scope: Scope, *texts: str) -> None:
    turns = [said(text, i) for i, text in enumerate(texts)]
    await store.log_transcript(scope, Transcript(key="s", turns=turns, at=AT), "theanine")


def stands(store: SqliteStore, words: bytes) -> bool:
    return any(words in path.read_bytes() for path in store.files if path.exists())


async def until(done: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not done():  # noqa: ASYNC110
            await anyio.sleep(0.02)


def careless(store: SqliteStore) -> None:
    """Erase all turns as if the process had died before it cleaned the files."""
    plain = sqlite3.connect(store.path)
    plain.execute("PRAGMA secure_delete=OFF")
    plain.execute("DELETE FROM turn")
    plain.execute("INSERT INTO setting VALUES ('erasing', '1')")
    plain.commit()
    plain.close()


def unfinished(store: SqliteStore) -> int:
    with store.engine.connect() as db:
        asked = db.exec_driver_sql("SELECT count(*) FROM setting WHERE name = 'erasing'")
        return asked.scalar_one()


async def test_a_reader_delays_the_erasing(store: SqliteStore) -> None:
    turns = [said("cormorant that must go", 0)]
    await store.log_transcript(ANA, Transcript(key="s", turns=turns, at=AT), "theanine")
    reader = sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM turn").fetchone() == (1,)
    timer = threading.Timer(0.3, reader.close)
    timer.start()
    receipt = await store.forget(ANA)
    timer.join()
    assert receipt.verified
    assert not stands(store, b"cormorant")


async def test_an_interrupted_erasure_is_completed_on_opening(store: SqliteStore) -> None:
    turns = [said(f"cormorant number {i} " * 20, i) for i in range(50)]
    await store.log_transcript(ANA, Transcript(key="s", turns=turns, at=AT), "theanine")
    await store.close()
    careless(store)
    assert stands(store, b"cormorant number")
    await store.open()
    assert not stands(store, b"cormorant number")
    assert unfinished(store) == 0


async def test_long_texts_are_erased_from_every_page(store: SqliteStore) -> None:
    turns = [said("".join(f"cormorant{i}-{j} " for j in range(4000)), i) for i in range(4)]
    await store.log_transcript(ANA, Transcript(key="long", turns=turns, at=AT), "theanine")
    keep = Transcript(key="keep", turns=[said("this stays")], at=AT)
    await store.log_transcript(ANA, keep, "theanine")
    receipt = await store.forget(ANA, session=1)
    assert receipt.verified
    assert not stands(store, b"cormorant")


async def test_a_cancelled_erasure_is_completed(store: SqliteStore) -> None:
    await log(store, ANA, "cormorant that must go")
    await log(store, BEN, "this stays")
    writer = sqlite3.connect(store.path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    forgetting = asyncio.create_task(store.forget(ANA))
    await anyio.sleep(0.05)  # it waits for the writer
    forgetting.cancel()
    await anyio.sleep(0.05)
    assert not forgetting.done(), "it finishes what it has begun"
    writer.close()
    with pytest.raises(asyncio.CancelledError):
        await forgetting
    assert not stands(store, b"cormorant")
    assert await store.scopes() == [BEN]


async def test_an_export_delays_an_erasure_but_no_writer(store: SqliteStore) -> None:
    await log(store, ANA, "cormorant that must go")
    session = await store.start_session(BEN, AT)
    receipts: list[ForgetReport] = []

    async def forget() -> None:
        receipts.append(await store.forget(ANA))

    records = store.export()
    await anext(records)
    async with anyio.create_task_group() as group:
        group.start_soon(forget)
        await until(lambda: unfinished(store) == 1)
        with anyio.fail_after(10):
            for minute in range(3):
                await store.append_turns(BEN, session, [said("a word", minute)])
        assert not receipts
        async for _ in records:
            pass
    assert [receipt.verified for receipt in receipts] == [True]
    assert not stands(store, b"cormorant")


async def test_an_erasure_is_completed_at_the_end_of_a_long_export(store: SqliteStore) -> None:
    await log(store, ANA, "cormorant that must go")
    records = store.export()
    await anext(records)
    careless(store)
    assert stands(store, b"cormorant")
    async for _ in records:
        pass
    assert not stands(store, b"cormorant")
    assert unfinished(store) == 0


async def test_the_scan_takes_a_constant_number_of_queries(store: SqliteStore) -> None:
    asked: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: object) -> None:
        asked.append(statement)

    await log(store, ANA, "the first erasure makes the key of pseudonyms")
    await store.forget(ANA)
    counts: list[int] = []
    for turns in (2, 40):
        texts = [f"turn {i} of many" for i in range(turns)]
        await log(store, ANA, *texts)
        await log(store, BEN, *texts)
        event.listen(store.engine, "before_cursor_execute", note)
        assert (await store.forget(ANA)).verified
        event.remove(store.engine, "before_cursor_execute", note)
        counts.append(len(asked))
        asked.clear()
        await store.forget(BEN)
    assert counts[0] == counts[1]


def test_a_secret_in_turns_that_are_kept_is_not_verified(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        user = client.user("ana")
        with user.session() as session:
            session.hear("The code of my safe is swordfish-4711, remember it.")
        [memory] = user.memories()
        kept = user.forget(memory=memory.id, keep_turns=True)
        assert (kept.kept_repeats, kept.files_verified, kept.verified) == (True, True, False)
        assert user.forget_all().verified


@pytest.mark.parametrize("read", [False, True])
def test_kept_turns_do_not_hide_that_a_file_still_has_the_text(tmp_path: Path, read: bool) -> None:
    path = tmp_path / "memory.db"
    with theanine.open(path) as client:
        user = client.user("ana")
        with user.session() as session:
            session.hear("The code of my safe is swordfish-4711, remember it.")
        [memory] = user.memories()
    arguments = ["--user", "ana", "--memory", str(memory.id), "--keep-turns", "--yes"]
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        if read:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM memory").fetchone()
        ran = Terminal(path)("forget", *arguments, fine=False)
    assert ran.code == (1 if read else 0)
    assert ("a reader, such as an export, still holds it" in ran.out) is read


def test_a_restore_says_that_users_were_left_out(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        for name in ("ana", "bo"):
            with client.user(name).session() as session:
                session.hear("I have moved to Lisbon.")
        records = list(client.export())
        client.user("ana").forget_all()
        with pytest.warns(UserWarning, match="forgotten here since the export: 1$"):
            client.restore(records)
        assert [scope.user for scope in client.users()] == ["bo"]


@pytest.mark.slow
async def test_what_has_expired_is_never_in_memory_at_once(store: SqliteStore) -> None:
    """Neither with keys nor without, which leave hashes of their words in a thread."""
    peaks = list[int]()
    for user, number in (("warm", 10), ("small", 250), ("large", 1_000)):
        for thread, keyed in (("keyed", True), ("plain", False)):
            for start in range(0, number, 250):
                turns = [
                    replace(said(f"{n} " + "bird " * 600), key=str(n) if keyed else None)
                    for n in range(start, min(start + 250, number))
                ]
                await store.continue_thread(Scope(user), thread, turns, method="theanine")
        tracemalloc.start()
        report = await store.expire(Scope(user), AT + timedelta(days=1), AT)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert report is not None and report.turns == 2 * number
    more = 2 * 750 * len("bird " * 600)  # bytes of texts
    assert peaks[2] - peaks[1] < more / 4
