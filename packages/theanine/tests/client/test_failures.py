"""Failures in the client: clear errors, and nothing is lost."""

from __future__ import annotations

import multiprocessing
import os
import resource
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

import theanine
from theanine import TheaninePaperConfig
from theanine.errors import (
    BadInput,
    EmbedderMismatch,
    NotAStore,
    NotFound,
    RememberingFailed,
    StoreError,
)
from theanine.testing import ScriptedServer, answer, by_step, delay, status, step_of
from theanine.types import History, ImportedMemory, Transcript, Utterance

START = datetime(2024, 5, 8, 12, tzinfo=UTC)
SECRET = "cormorant-4417"


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return the location of the store."""
    return str(tmp_path / "memory.db")


def tell(path: str, *texts: str, user: str = "ana") -> None:
    with theanine.open(path) as client, client.user(user).session() as talk:
        for text in texts:
            talk.hear(text)


def test_a_user_without_data_is_an_empty_memory_and_no_error_names_others(path: str) -> None:
    tell(path, "I sold the boat.", user="bob")
    with theanine.open(path) as client:
        bo = client.user("bo")
        bo.warm_up()
        for read in (
            *(bo.memories, bo.sessions, bo.turns, bo.links, bo.marks, bo.timelines),
            *(bo.pending, bo.costs, lambda: bo.recall("the boat?").parts),
        ):
            assert not read()
        for call in (
            *(partial(bo.get, 1), partial(bo.history, 1), partial(bo.pin, 1)),
            *(partial(bo.timelines, 1), partial(bo.correct, 1, "I kept it.")),
            *(bo.forget_all, partial(bo.forget, session=1), bo.rebuild, bo.estimate),
        ):
            with pytest.raises(NotFound) as error:
                call()
            assert "bob" not in str(error.value)


def test_another_embedder_is_an_error_and_reembed_resolves_it(path: str) -> None:
    tell(path, "I sold the boat because the engine died.")
    with theanine.open(path, embedder="hash:64") as client:
        with pytest.raises(EmbedderMismatch, match="theanine reembed"):
            client.user("ana").recall("the boat?")
        talk = client.user("ana").session()
        talk.hear("I bought a horse, because I love the hills.")
        with pytest.raises(EmbedderMismatch):
            talk.end()
        client.reembed()
        client.user("ana").remember()
        assert "engine" in client.user("ana").recall("the boat and its engine?").text
        assert len(client.user("ana").sessions()) == 2
        assert client.pending() == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "empty"), ("   ", "empty"), ("x" * (4 * 1024 * 1024 + 1), "split it")],
)
def test_an_unstorable_turn_is_an_error_and_the_session_continues(
    path: str, text: str, reason: str
) -> None:
    with theanine.open(path) as client, client.user("ana").session() as talk:
        talk.hear("I sold the boat.")
        with pytest.raises(BadInput, match=reason):
            talk.hear(text)
        talk.hear("I bought a horse.")
    with theanine.open(path) as client:
        assert [turn.text for turn in client.user("ana").turns()] == [
            "I sold the boat.",
            "I bought a horse.",
        ]


@pytest.mark.parametrize("text", ["船が怖いです。" * 9, "🛶🌊 אני מפחדת מאוניות", "x" * 1_000_000])
def test_any_script_and_a_megabyte_are_stored_verbatim(path: str, text: str) -> None:
    tell(path, text)
    with theanine.open(path) as client:
        assert [turn.text for turn in client.user("ana").turns()] == [text]
        assert client.pending() == []
        client.user("ana").recall(text[:2000])


def test_a_time_without_a_zone_is_an_error(path: str) -> None:
    with theanine.open(path) as client, client.user("ana").session() as talk:
        talk.hear("I sold the boat.", at=START)
        with pytest.raises(BadInput, match=r"UTC offset|aware|zone"):
            talk.hear("I bought it.", at=datetime(2024, 5, 9))


def test_a_failing_model_keeps_the_turns_and_the_next_run_resumes(path: str) -> None:
    with (
        ScriptedServer(by_step({"summarize": status(400)})) as server,
        theanine.open(path, model="openai:x", base_url=server.base_url) as client,
    ):
        talk = client.user("ana").session()
        talk.hear("I sold the boat because the engine died.")
        with pytest.raises(RememberingFailed, match="safe in the log"):
            talk.end()
        assert len(client.user("ana").turns()) == 1
        assert "400" in (client.user("ana").sessions()[0].failure or "")
    with (
        ScriptedServer(answer) as server,
        theanine.open(path, model="openai:x", base_url=server.base_url) as client,
    ):
        assert [report.memories for report in client.remember()] == [1]
        assert client.user("ana").sessions()[0].failure is None


@pytest.mark.slow
def test_the_journal_keeps_no_text_forgotten_during_the_call(path: str) -> None:
    tell(path, f"The {SECRET} of the boat is in the attic.", "I love the attic of the house.")
    with (
        ScriptedServer(by_step({"respond": delay(1.0, "In the attic.")})) as server,
        theanine.open(path, model="openai:x", base_url=server.base_url) as client,
    ):
        holding = next(m for m in client.user("ana").memories() if SECRET in m.text)
        talk = client.user("ana").session()
        talk.hear("Where is it?")
        reply = talk.portal.start_task_soon(talk.inner.reply)
        while not any(step_of(call.body) == "respond" for call in server.calls):
            time.sleep(0.01)
        assert SECRET in str(server.calls[-1].body)
        client.user("ana").forget(memory=holding.id)
        reply.result()
        assert sum(line.calls for line in client.user("ana").costs()) >= 1
    for file in Path(path).parent.glob("memory.db*"):
        assert SECRET.encode() not in file.read_bytes()


@pytest.mark.slow
def test_files_that_are_not_a_store(tmp_path: Path) -> None:
    letter = tmp_path / "letter.db"
    letter.write_text("Dear Ana, this is no database. " * 99)
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE songs (title)")
        db.commit()
    newer = tmp_path / "newer.db"
    tell(str(newer), "I sold the boat.")
    with closing(sqlite3.connect(newer)) as db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
        db.commit()
    for file in (letter, other, newer, tmp_path):
        before = file.read_bytes() if file.is_file() else b""
        with pytest.raises(NotAStore, match=file.name):
            theanine.open(str(file))
        assert not before or file.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    with pytest.raises(StoreError, match="can't be written to"):
        theanine.open(str(folder / "memory.db"))


def _fill_up(path: str, report_file: str) -> None:
    """Log turns until the limited disk is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
    with theanine.open(path) as client:
        talk = client.user("ana").session()
        for number in range(10_000):
            try:
                talk.hear(f"{number} " + "I love the sea. " * 40)
            except StoreError as error:
                Path(report_file).write_text(f"{number}\n{error}")
                os._exit(0)
    os._exit(1)


@pytest.mark.slow
def test_a_full_disk_is_an_error_and_loses_no_turn(path: str, tmp_path: Path) -> None:
    report_file = tmp_path / "told.txt"
    process = multiprocessing.get_context("forkserver").Process(
        target=_fill_up, args=(path, str(report_file))
    )
    process.start()
    process.join(60)
    assert process.exitcode == 0
    logged, _, message = report_file.read_text().partition("\n")
    assert "full" in message or "disk" in message
    with theanine.open(path) as client:
        assert len(client.user("ana").turns()) == int(logged) > 0
        client.user("ana").remember()
        assert client.pending() == []


@pytest.mark.slow
def test_a_missing_extra_names_its_install_line(path: str) -> None:
    code = (
        "import sys\n"
        "sys.modules['pydantic_ai'] = None\n"  # as if it were not installed
        "from theanine.cli import main\n"
        f"main(['chat', '--user', 'a', '--model', 'openai:x', '--store', {path!r}])\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 2
    assert "pip install 'theanine[models]'" in ran.stderr


def _talk_and_remember(path: str, user: str, name: str) -> None:
    with theanine.open(path) as client:
        for session in range(5):
            with client.user(user).session() as talk:
                for turn in range(4):
                    talk.hear(f"I want to sail to island {name}-{session}-{turn} in summer.")


@pytest.mark.slow
@pytest.mark.parametrize("users", [("ana", "ana"), ("ana", "bo")])
def test_two_processes_hear_and_remember_concurrently(path: str, users: tuple[str, str]) -> None:
    context = multiprocessing.get_context("forkserver")
    both = [
        context.Process(target=_talk_and_remember, args=(path, user, name))
        for user, name in zip(users, "xy", strict=True)
    ]
    for process in both:
        process.start()
    for process in both:
        process.join(120)
    assert [process.exitcode for process in both] == [0, 0]
    with theanine.open(path) as client:
        assert client.pending() == []
        texts = [turn.text for user in set(users) for turn in client.user(user).turns()]
        expected = [
            f"I want to sail to island {name}-{s}-{t} in summer."
            for name in "xy"
            for s in range(5)
            for t in range(4)
        ]
        assert sorted(texts) == expected
        stored = [m for user in set(users) for m in client.user(user).memories()]
        assert len({memory.text.split("island ")[1] for memory in stored}) == len(stored) == 40


def test_memories_imported_after_their_turns(path: str) -> None:
    turns = [Utterance(text="I sold the boat, sadly.", speaker="Ana", at=START, key="t1")]
    imported = ImportedMemory(text="Ana has no boat.", speakers=("Ana",), source_keys=("t1",))
    with theanine.open(path) as client:
        for memories in ((), (imported,), (imported,)):
            transcript = Transcript(key="a", turns=turns, at=START, memories=memories)
            client.user("ana").log(History(name="ana", transcripts=[transcript]))
            client.user("ana").remember()
        made = [(memory.text, memory.made_by) for memory in client.user("ana").memories()]
    assert made.count(("Ana has no boat.", "given")) == 1


def _hear_until_error(path: str, report_file: str) -> None:
    """Log turns with the old embedder until the store has switched to another."""
    with theanine.open(path) as client:
        for number in range(1_000):
            talk = client.user("bo").session()
            talk.hear(f"I want to sail to island {number} in summer.")
            try:
                talk.end()
            except EmbedderMismatch as error:
                Path(report_file).write_text(f"{number}\n{error}")
                os._exit(0)
    os._exit(1)


@pytest.mark.slow
def test_reembedding_while_the_store_is_in_use(path: str, tmp_path: Path) -> None:
    tell(path, *(f"I love the harbour of town {number} in spring." for number in range(40)))
    report_file = tmp_path / "told.txt"
    hearing = multiprocessing.get_context("forkserver").Process(
        target=_hear_until_error, args=(path, str(report_file))
    )
    hearing.start()
    with theanine.open(path) as client:
        while "bo" not in {scope.user for scope in client.users()}:
            time.sleep(0.05)
    with theanine.open(path, embedder="hash:64") as client:
        assert client.reembed() >= 40
        hearing.join(60)
        assert hearing.exitcode == 0
        last, _, message = report_file.read_text().partition("\n")
        assert "theanine reembed" in message
        client.remember()  # what the other process could no longer remember
        assert client.pending() == []
        assert len(client.user("bo").memories()) == int(last) + 1
        assert "town 7 " in client.user("ana").recall("Do I love the harbour of town 7?").text


@pytest.mark.parametrize("step", ["summarize", "refine"])
def test_later_calls_keep_no_forgotten_text(path: str, step: str) -> None:
    tell(path, f"The {SECRET} of the boat is in the attic.")
    slow = by_step({"respond": "Good.", step: lambda request: delay(0.7, answer(request))})
    with (
        ScriptedServer(slow) as server,
        theanine.open(
            path, method="theanine-paper", model="openai:x", base_url=server.base_url
        ) as client,
    ):
        [holding] = client.user("ana").memories()
        talk = client.user("ana").session()
        talk.hear("I moved the boat from the attic to the harbour, because of the rain.")
        work = talk.inner.reply if step == "refine" else talk.inner.end
        under_way = talk.portal.start_task_soon(work)
        while not any(f"Task: {step}" in str(call.body) for call in server.calls):
            time.sleep(0.01)
        client.user("ana").forget(memory=holding.id)
        with suppress(RememberingFailed):
            under_way.result()
    for file in Path(path).parent.glob("memory.db*"):
        assert SECRET.encode() not in file.read_bytes()


def test_without_refining_the_raw_timeline_is_returned(path: str) -> None:
    with ScriptedServer() as server:
        url, raw = server.base_url, TheaninePaperConfig(refine=False)
        with theanine.open(path, model="openai:x", base_url=url, config=raw) as client:
            for text in (
                "I am afraid of the old ferry.",
                "I am no longer afraid of the ferry now.",
            ):
                with client.user("ana").session() as talk:
                    talk.hear(text)
            calls = len(server.calls)
            [part] = client.user("ana").recall("Is the ferry fine?").parts
            assert "—Changed→ (" in part.text
            assert part.made_by == "local"
            assert len(server.calls) == calls
