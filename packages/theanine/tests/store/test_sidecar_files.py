"""Files next to an SQLite store: whole after a kill, erased with their scope, old ones ignored."""

from __future__ import annotations

import random
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

import theanine
from support.forking import Python
from theanine.store import open_store
from theanine.types import History, Scope, Transcript, Utterance

ANA = Scope("ana")
AT = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)
VECTOR_INDEX = "1-0123456789abcdef"
"""A file name of version 0.1, which had a vector index of scopes above 50,000 memories."""


def history(count: int = 4) -> History:
    texts = [f"I sold {number} kites at the harbor." for number in range(2, count + 2)]
    turns = [Utterance(text=text, speaker="Ana", at=AT) for text in texts]
    return History(name="ana", transcripts=[Transcript(key="a", turns=turns, at=AT)])


def files(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.glob(f"{path.name}.index/*"))


KEEP = """
    import sys, anyio
    from theanine.types import Scope
    from theanine.store import open_store

    async def keep():
        store = open_store(sys.argv[1])
        await store.open()
        epoch = (await store.scope_version(Scope("ana"))).epoch
        print("ready", flush=True)
        for number in range(10_000):
            await store.write_sidecar(Scope("ana"), "x", epoch, [b"%06d" % number] * 400_000)

    anyio.run(keep)
"""


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_kill_during_a_write_leaves_the_last_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with theanine.aopen(str(path)) as client:
        await client.user("ana").log(history())
    store = open_store(str(path))
    await store.open()
    rng, is_written = random.Random(5), False
    for _ in range(4):
        with Python(textwrap.dedent(KEEP), str(path)) as writer:
            assert writer.stdout.readline() == "ready\n"
            await anyio.sleep(rng.uniform(0.02, 0.2))
        data = await store.read_sidecar(ANA, "x")
        assert data is None or data == data[:6] * 400_000
        is_written |= data is not None
    assert is_written
    epoch = (await store.scope_version(ANA)).epoch
    assert await store.write_sidecar(ANA, "x", epoch, [b"whole"])
    assert files(path) == ["1-x"]  # unfinished files are gone
    await store.close()


@pytest.mark.parametrize("method", ["theanine", "utterance"])
@pytest.mark.parametrize("content", [b"theanine vector index 1\nof memories", b""])
def test_a_vector_index_of_version_0_1_changes_nothing(
    tmp_path: Path, method: str, content: bytes
) -> None:
    path = tmp_path / "m.db"
    question = "How many kites did I sell?"
    with theanine.open(str(path), method=method) as client:
        client.user("ana").log(history())
        client.user("ana").remember()
        expected = client.user("ana").recall(question)
    folder = Path(f"{path}.index")
    folder.mkdir(exist_ok=True)
    (folder / VECTOR_INDEX).write_bytes(content)
    (folder / VECTOR_INDEX.replace("1-", "2-")).write_bytes(content)
    with theanine.open(str(path), method=method) as client:
        ana = client.user("ana")
        ana.warm_up()
        assert ana.recall(question) == expected
        assert ana.forget_all().verified
    assert files(path) == [VECTOR_INDEX.replace("1-", "2-")]


@pytest.mark.anyio
async def test_the_next_write_removes_it_and_what_was_unfinished_of_it(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with theanine.aopen(str(path)) as client:
        await client.user("ana").log(history())
    folder = Path(f"{path}.index")
    folder.mkdir(exist_ok=True)
    others = ["1-log-0123456789abcdef", "11-0123456789abcdef", "2-0123456789abcdef"]
    for name in [VECTOR_INDEX, f"{VECTOR_INDEX}.{'0' * 32}.part", *others]:
        (folder / name).write_bytes(b"")
    store = open_store(str(path))
    await store.open()
    epoch = (await store.scope_version(ANA)).epoch
    assert await store.write_sidecar(ANA, "log-fedcba9876543210", epoch, [b"new"])
    assert files(path) == sorted([*others, "1-log-fedcba9876543210"])
    await store.close()


def test_a_folder_that_cannot_be_made_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "m.db"
    (tmp_path / "m.db.index").write_text("in the way")
    with theanine.open(str(path)) as client:
        client.user("ana").log(history(200))
        client.user("ana").remember()
        assert client.user("ana").recall("Who sold 7 kites?").memories
    assert "could not be stored" in caplog.text
