"""The index beside a store: kept, extended, told when torn or stale, erased with what is in it."""

from __future__ import annotations

import json
import random
import textwrap
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theanine
from support.forking import Python
from support.large import LOW, add, agreement, found, history, questions
from theanine.embeddings.static import NAME
from theanine.retrieval.ann.index import Stamp, StoredIndex, VectorIndex, pack
from theanine.retrieval.scope_cache import ScopeCache
from theanine.store import open_store
from theanine.types import Scope

ANA = Scope("ana")
STAMP = Stamp(scope_id=1, epoch=2, method="utterance", embedder="local", windows="reach 3")
WIDTH = 16
ASKED = questions(15)


def opened(path: Path) -> theanine.Client:
    return theanine.open(str(path), method="utterance", ranking=LOW)


def exactly(path: Path) -> list[list[int]]:
    with theanine.open(str(path), method="utterance") as agent:
        return found(agent, ASKED)


def files(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.name}.index/*"))


def rows(path: Path) -> int:
    """Of how many units the kept index is."""
    return int(head(path)["rows"])


def head(path: Path) -> dict[str, Any]:
    """What the kept index says of itself."""
    [file] = files(path)
    data = file.read_bytes()
    start = data.index(b'{"scope_id"')
    return json.loads(data[start : data.index(b"}\n", start) + 1])


def python(code: str, *arguments: str) -> Python:
    return Python(textwrap.dedent(code), *arguments)


# the bytes of a file


@cache
def vectors() -> np.ndarray:
    made = np.random.default_rng(0).normal(size=(60, WIDTH)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


@cache
def written() -> bytes:
    index = VectorIndex(WIDTH)
    index.extend(vectors()[:50])
    return b"".join(pack(index, STAMP, vectors()))


def read(data: bytes, stamp: Stamp = STAMP, known: np.ndarray | None = None) -> VectorIndex | None:
    kept = StoredIndex.read(data, stamp, WIDTH)
    return kept.load(vectors() if known is None else known) if kept else None


def test_a_file_gives_the_index_back() -> None:
    index = read(written())
    assert index is not None
    assert index.rows == 50
    assert index.nearest(vectors()[7], 1).tolist() == [7]
    index.extend(vectors()[50:])
    assert index.nearest(vectors()[55], 1).tolist() == [55]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_torn_file_is_none(data: st.DataObject) -> None:
    whole = written()
    end = data.draw(st.integers(0, len(whole) - 1))
    assert read(whole[:end]) is None
    tail = data.draw(st.binary(min_size=1, max_size=40))
    assert read(whole[:end] + tail) is None or whole[:end] + tail == whole


@settings(max_examples=200, deadline=None)
@given(place=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_a_file_with_a_bit_turned_is_none(place: int, bit: int) -> None:
    turned = bytearray(written())
    turned[place % len(turned)] ^= 1 << bit
    assert read(bytes(turned)) is None


@pytest.mark.parametrize(
    "other",
    [
        replace(STAMP, scope_id=2),
        replace(STAMP, epoch=3),
        replace(STAMP, method="segment"),
        replace(STAMP, embedder="another"),
        replace(STAMP, windows="reach 2"),
    ],
)
def test_a_stale_file_is_none(other: Stamp) -> None:
    assert read(written(), other) is None


def test_a_file_of_other_vectors_is_none() -> None:
    known = vectors().copy()
    known[49] = known[48]
    assert read(written(), known=known) is None
    assert read(written(), known=vectors()[:49]) is None
    known = vectors().copy()
    known[50] = known[48]  # behind the last row of the index
    assert read(written(), known=known) is not None


def test_no_file_is_none() -> None:
    assert StoredIndex.read(None, STAMP, WIDTH) is None


# a store's index


@pytest.mark.slow
def test_it_is_made_kept_loaded_and_extended(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as agent:
        add(agent, range(5))
        agent.user("ana").warm_up()
        assert agreement(exactly(path), found(agent, ASKED)) >= 0.98
    assert rows(path) == 250 - 3
    [before] = files(path)
    content = before.read_bytes()
    with opened(path) as agent:
        agent.user("ana").warm_up()
        assert found(agent, ASKED)
    assert before.read_bytes() == content  # loaded, not made anew
    with opened(path) as agent:
        add(agent, range(5, 8))
        agent.user("ana").warm_up()
        assert agreement(exactly(path), found(agent, ASKED)) >= 0.98
    assert rows(path) == 400 - 3


@pytest.mark.slow
def test_a_backup_put_back_gets_its_own(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as agent:
        add(agent, range(4))
    backup = path.read_bytes()
    with opened(path) as agent:
        add(agent, range(4, 8))
        agent.user("ana").warm_up()
    path.write_bytes(backup)
    with opened(path) as agent:
        agent.user("ana").warm_up()
        assert agreement(exactly(path), found(agent, ASKED)) >= 0.98
        assert rows(path) == 200 - 3
        add(agent, range(20, 26))  # not what it was before
        agent.user("ana").warm_up()
        assert agreement(exactly(path), found(agent, ASKED)) >= 0.98
    assert rows(path) == 500 - 3


def test_a_small_scope_has_none(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as agent:
        add(agent, range(3))
        agent.user("ana").warm_up()
    assert files(path) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_torn_file_costs_nothing_but_time(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "m.db"
    with opened(path) as agent:
        add(agent, range(4))
        agent.user("ana").warm_up()
    [file] = files(path)
    whole = file.read_bytes()
    file.write_bytes(whole[: random.Random(seed).randrange(len(whole))])
    with opened(path) as agent:
        assert agreement(exactly(path), found(agent, ASKED)) >= 0.98
        agent.user("ana").warm_up()
        assert agreement(exactly(path), found(agent, ASKED)) >= 0.98
    assert rows(path) == 200 - 3


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_folder_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    (tmp_path / "m.db.index").write_text("in the way")
    with opened(path) as agent:
        add(agent, range(4))
        agent.user("ana").warm_up()
        assert agreement(exactly(path), found(agent, ASKED)) >= 0.98
    store = open_store(str(path))
    await store.open()
    views = ScopeCache(store, "utterance", NAME, LOW)
    index = (await views.settled(ANA)).approximate.index
    assert index is not None  # in use all the same
    with theanine.open(str(path), method="utterance") as agent:
        add(agent, range(4, 6))
    index = (await views.settled(ANA)).approximate.index
    assert index is not None
    assert index.rows == 300 - 3
    await store.close()


@pytest.mark.slow
def test_closed_half_way_it_goes_on_from_there(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as agent:
        add(agent, range(9), each=100)
    reached = rows(path) if files(path) else 0
    assert reached <= 897
    with opened(path) as agent:
        agent.user("ana").warm_up()
        assert agreement(exactly(path), found(agent, ASKED)) >= 0.98
    assert rows(path) == 897


@pytest.mark.slow
@pytest.mark.parametrize("what", ["scope", "session", "memory"])
def test_forgetting_erases_it_at_once_and_nobody_elses(tmp_path: Path, what: str) -> None:
    path = tmp_path / "m.db"
    with opened(path) as agent:
        for user in ("ana", "ben"):
            agent.user(user).log(history(range(4)))
            agent.user(user).remember()
            agent.user(user).warm_up()
        assert len(files(path)) == 2
        ana = agent.user("ana")
        memory = ana.memories()[5]
        if what == "scope":
            assert ana.forget_all().verified
        elif what == "session":
            assert ana.forget(session=memory.session).verified
        else:
            assert ana.forget(memory=memory.id).verified
        assert [file.name.split("-")[0] for file in files(path)] == ["2"]
        if what != "scope":
            assert memory.id not in {m for some in found(agent, ASKED) for m in some}
            agent.user("ana").warm_up()
            assert agreement(exactly(path), found(agent, ASKED)) >= 0.98


@pytest.mark.anyio
async def test_what_was_made_before_an_erasure_is_not_put_back(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with theanine.aopen(str(path), method="utterance") as agent:
        await agent.user("ana").log(history(range(2)))
        await agent.user("ana").remember()
        store = open_store(str(path))
        await store.open()
        before = await store.scope_version(ANA)
        assert await store.write_sidecar(ANA, "x", before.epoch, [b"made ", b"of this"])
        assert await store.read_sidecar(ANA, "x") == b"made of this"
        await agent.user("ana").forget(session=1)
        assert await store.read_sidecar(ANA, "x") is None
        assert not await store.write_sidecar(ANA, "x", before.epoch, [b"made of what was erased"])
        assert not await store.write_sidecar(Scope("nobody"), "x", 0, [b"of nothing"])
        assert files(path) == []
        await store.close()


@pytest.mark.slow
@pytest.mark.anyio
async def test_an_index_under_way_as_something_is_forgotten_is_left(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with theanine.aopen(str(path), method="utterance", ranking=LOW) as agent:
        await agent.user("ana").log(history(range(7)))
        await agent.user("ana").remember()
        await agent.user("ana").recall("Who found a lamp?")  # an index is on its way
        await agent.user("ana").forget(session=2)
        await agent.user("ana").recall("Who found a lamp?")
        await agent.user("ana").warm_up()
        await agent.user("ana").warm_up()
    store = open_store(str(path))
    await store.open()
    epoch = (await store.scope_version(ANA)).epoch
    await store.close()
    assert rows(path) == 300 - 3
    assert head(path)["epoch"] == epoch


# processes

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
async def test_killed_while_it_is_written_the_last_whole_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with theanine.aopen(str(path), method="utterance") as agent:
        await agent.user("ana").log(history(range(1), each=2))
    store = open_store(str(path))
    await store.open()
    rng, written = random.Random(5), False
    for _ in range(4):
        with python(KEEP, str(path)) as writer:
            assert writer.stdout.readline() == "ready\n"
            await anyio.sleep(rng.uniform(0.02, 0.2))
        kept = await store.read_sidecar(ANA, "x")
        assert kept is None or kept == kept[:6] * 400_000
        written |= kept is not None
    assert written
    epoch = (await store.scope_version(ANA)).epoch
    assert await store.write_sidecar(ANA, "x", epoch, [b"whole"])
    assert [file.name for file in files(path)] == ["1-x"]  # what was left unfinished is gone
    await store.close()


BOTH = """
    import sys
    import theanine
    from support.large import LOW, add, found, questions

    with theanine.open(sys.argv[1], method="utterance", ranking=LOW) as agent:
        for session in range(int(sys.argv[2]), int(sys.argv[3])):
            add(agent, [session])
            agent.user("ana").warm_up()
            assert found(agent, questions(2))
    print("done")
"""


@pytest.mark.slow
def test_two_processes_extend_it_at_once(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as agent:
        add(agent, range(4))
        agent.user("ana").warm_up()
    with python(BOTH, str(path), "4", "8") as one, python(BOTH, str(path), "8", "12") as other:
        assert (one.communicate()[1], other.communicate()[1]) == ("done\n", "done\n")
    with opened(path) as agent:
        agent.user("ana").warm_up()
        assert agreement(exactly(path), found(agent, ASKED)) >= 0.98
    assert len(files(path)) == 1
    assert rows(path) >= 600 - 3 - 600 // 20


WITHOUT = """
    import sys
    sys.modules["usearch"] = None
    import theanine
    from support.large import LOW, found, questions

    with theanine.open(sys.argv[1], method="utterance", ranking=LOW) as agent:
        agent.user("ana").warm_up()
        print(found(agent, questions(15)))
"""


@pytest.mark.slow
def test_without_the_extra_search_stays_exact(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with theanine.open(str(path), method="utterance") as agent:
        add(agent, range(4))
    with python(WITHOUT, str(path)) as process:
        _, said, _ = process.communicate()
    assert said.strip() == str(exactly(path))
    assert files(path) == []


ENDS = """
    import sys
    import theanine
    from support.large import LOW

    agent = theanine.open(sys.argv[1], method="utterance", ranking=LOW)
    agent.user("ana").recall("Who found a lamp?")
    agent.close()
    print("done")
"""


@pytest.mark.slow
def test_a_process_ends_in_the_middle_of_it(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with theanine.open(str(path), method="utterance") as agent:
        add(agent, range(7))
    with python(ENDS, str(path)) as process:
        assert process.communicate()[:2] == (0, "done\n")


@pytest.mark.slow
@pytest.mark.anyio
async def test_another_process_that_knows_more_is_let_be(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as agent:
        add(agent, range(4))
    store = open_store(str(path))
    await store.open()
    views = ScopeCache(store, "utterance", NAME, LOW)
    behind = await views.get(ANA)
    await views.close()
    with opened(path) as agent:
        add(agent, range(4, 8))
        agent.user("ana").warm_up()
    ahead = files(path)[0].read_bytes()
    behind.approximate.index = None
    late = ScopeCache(store, "utterance", NAME, LOW)
    view = await late.settled(ANA)
    assert view.approximate.index is not None
    assert view.approximate.index.rows == 397
    assert files(path)[0].read_bytes() == ahead
    await store.close()
