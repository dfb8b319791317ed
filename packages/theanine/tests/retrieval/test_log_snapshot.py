"""The stored index of the log gives the recall of a fresh one, and is ignored when it is stale."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

import theanine
from theanine.embeddings import open_embedder
from theanine.embeddings.base import Vectors
from theanine.embeddings.static import StaticEmbedder
from theanine.errors import ModelError
from theanine.retrieval.log_index import AT_ONCE, LogIndex
from theanine.retrieval.snapshot import MIN_LAG
from theanine.store import open_store
from theanine.types import History, Recollection, Scope, Transcript, Utterance

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
TURNS = MIN_LAG + 60
VERBS = ("bought", "painted", "lost", "repaired", "sold", "found")
THINGS = ("the red bicycle", "a violin", "my old camera", "the garden shed", "two kayaks", "a tent")
PLACES = ("in Lisbon", "at the harbour", "near Eva's house", "on the island", "in the attic")
QUESTIONS = (
    "What did Ana buy in Lisbon?",
    "Who lost a violin?",
    "What happened at the harbour in March?",
    "Where is the camera?",
)

pytestmark = pytest.mark.slow


def history(seed: int, turns: int, key: str = "s", user: str = "ana") -> History:
    """Return sessions of 20 turns; some turns have several passages."""
    rng = random.Random(seed)
    transcripts: list[Transcript] = []
    for start in range(0, turns, 20):
        at = START + timedelta(hours=start)
        utterances = [
            Utterance(
                text=" ".join(
                    f"I {rng.choice(VERBS)} {rng.choice(THINGS)} {rng.choice(PLACES)}, number "
                    f"{rng.randrange(500)}."
                    for _ in range(12 if rng.random() < 0.05 else 1)
                ),
                speaker=rng.choice((user, "ben")),
                at=at + timedelta(minutes=minute),
            )
            for minute in range(min(20, turns - start))
        ]
        transcripts.append(Transcript(key=f"{key}{start}", at=at, turns=tuple(utterances)))
    return History(name=user, transcripts=tuple(transcripts))


def recall(path: Path, user: str = "ana") -> list[Recollection]:
    """Return what a new client recalls, which reads the snapshot and may write one."""
    with theanine.open(str(path)) as client:
        return [client.user(user).recall(question, budget=400) for question in QUESTIONS]


def snapshots(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.name}.index/*-log-*"))


def fresh(path: Path, user: str = "ana") -> list[Recollection]:
    """Return what a client recalls that has no snapshot."""
    shutil.rmtree(f"{path}.index", ignore_errors=True)
    return recall(path, user)


def fresh_warm(path: Path) -> list[Recollection]:
    """Return the same, once all vectors are made."""
    shutil.rmtree(f"{path}.index", ignore_errors=True)
    with theanine.open(str(path)) as client:
        client.user("ana").warm_up()
    return recall(path)


def restored(path: Path, user: str = "ana", embedder: str = "local") -> int:
    """Return how many candidates the snapshot gives."""

    async def read() -> int:
        store = open_store(str(path))
        await store.open()
        try:
            log = LogIndex(store, Scope(user), "theanine")
            await log.extend(await store.scope_version(Scope(user)), open_embedder(embedder))
            return log.stored
        finally:
            await store.close()

    return anyio.run(read)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a snapshot of all its turns."""
    path = tmp_path_factory.mktemp("snapshot") / "memory.db"
    with theanine.open(str(path)) as client:
        client.user("ana").log(history(0, TURNS))
        client.user("ana").remember()
        client.user("ana").warm_up()
    assert len(snapshots(path)) == 1  # without a recall
    return path


@pytest.fixture
def path(template: Path, tmp_path: Path) -> Path:
    shutil.copytree(template.parent, tmp_path / "copy")
    return tmp_path / "copy" / template.name


def test_a_snapshot_gives_the_recall_of_a_fresh_index(path: Path) -> None:
    assert restored(path) >= TURNS
    assert recall(path) == fresh(path)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_extended_by_later_turns_and_memories(path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for batch in range(3):
        with theanine.open(str(path)) as client:
            client.user("ana").log(history(seed + batch, rng.randrange(1, 50), key=f"b{batch}-"))
            if rng.random() < 0.5:
                client.user("ana").remember()
        before = restored(path)
        assert before >= TURNS
        kept = recall(path)
        copy = path.with_name("other.db")
        shutil.copy(path, copy)
        assert kept == fresh(copy)


def test_warming_up_writes_it(path: Path) -> None:
    shutil.rmtree(f"{path}.index")
    with theanine.open(str(path)) as client:
        client.user("ana").warm_up()
    assert restored(path) >= TURNS


def test_remembering_much_writes_that_of_each_user(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with theanine.open(str(path), embedder="wordllama") as client:
        for number, user in enumerate(("ana", "ben", "cleo")):
            client.user(user).log(history(number, TURNS if user != "cleo" else 40, user=user))
        client.remember()
    assert restored(path, "ana", "wordllama") >= TURNS
    assert restored(path, "ben", "wordllama") >= TURNS
    assert len(snapshots(path)) == 2


def test_remembering_makes_none_of_the_vectors_that_take_long(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with theanine.open(str(path), embedder="encoder") as client:
        client.user("ana").log(history(0, AT_ONCE + 20))
        client.user("ana").remember()
    [words] = path.parent.glob(f"{path.name}.index/*-words-*")
    assert words.stat().st_size and not snapshots(path)
    found = recall(path)
    assert all(recollection.parts for recollection in found)
    with theanine.open(str(path)) as client:
        client.user("ana").warm_up()
    assert restored(path) >= AT_ONCE
    assert not words.stat().st_size
    assert recall(path) == fresh_warm(path)


class _Interrupted(StaticEmbedder):
    """Fails for the passages of the log, whose texts begin with their speaker."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if any(text.startswith(("ana: ", "ben: ")) for text in texts):
            raise ModelError("the embedder is out of reach")
        return await super().embed(texts)


def test_sessions_are_remembered_without_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "memory.db"
    with theanine.open(str(path), embedder=_Interrupted()) as client:
        client.user("ana").log(history(0, TURNS))
        reports = client.user("ana").remember()
    assert reports and not any(report.failure for report in reports)
    assert "the embedder is out of reach" in caplog.text
    assert not snapshots(path)


def test_forgetting_erases_it(path: Path) -> None:
    with theanine.open(str(path)) as client:
        session = client.user("ana").sessions()[3].id
        forgotten = {turn.id for turn in client.user("ana").turns(session=session)}
        client.user("ana").forget(session=session)
    assert not snapshots(path)
    parts = recall(path)
    assert parts == fresh(path)
    sources = {turn.id for found in parts for part in found.parts for turn in part.source_turns}
    assert sources and not sources & forgotten


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "another format"])
def test_a_damaged_one_is_ignored(path: Path, damage: str) -> None:
    [file] = snapshots(path)
    data = bytearray(file.read_bytes())
    if damage == "flipped":
        data[random.Random(0).randrange(100, len(data))] ^= 1
    contents = {
        "cut": data[: len(data) // 2],
        "flipped": data,
        "empty": b"",
        "another format": b"{}",
    }
    file.write_bytes(bytes(contents[damage]))
    assert restored(path) == 0
    assert recall(path) == fresh(path)


def test_another_users_is_ignored(path: Path) -> None:
    with theanine.open(str(path)) as client:
        client.user("ben").log(history(5, TURNS, user="ben"))
    [file] = snapshots(path)
    shutil.copy(file, file.with_name(file.name.replace("1-", "2-", 1)))
    assert restored(path, "ben") == 0
    assert recall(path, "ben") == fresh(path, "ben")


def test_one_from_before_a_backup_was_restored_is_ignored(path: Path) -> None:
    backup = path.with_name("backup.db")
    with theanine.open(str(path)) as client:
        client.user("ana").remember()
    shutil.copy(path, backup)
    with theanine.open(str(path)) as client:
        client.user("ana").log(history(7, 1_100, key="later"))
        client.user("ana").warm_up()
    for sidecar in path.parent.glob(f"{path.name}-*"):
        sidecar.unlink()
    shutil.copy(backup, path)
    with theanine.open(str(path)) as client:
        client.user("ana").log(history(8, 1_160, key="other"))
    assert restored(path) == 0
    assert recall(path) == fresh(path)
