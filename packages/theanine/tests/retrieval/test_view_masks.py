"""What a view says of its memories: which are live, of which kind, made of what, recalled when."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from theanine.embeddings.static import StaticEmbedder
from theanine.methods.shared.provenance import source_turns
from theanine.retrieval.query import Query
from theanine.retrieval.ranking import RankingConfig
from theanine.retrieval.scope_cache import ScopeCache
from theanine.retrieval.scope_index import BASE_SIZE, RetrievalMode
from theanine.store import Store, open_store
from theanine.store.processes import process_holder
from theanine.types import MemoryBatch, NewMark, NewMemory, Scope, Transcript, Utterance

pytestmark = pytest.mark.anyio

ANA, AT, ME, METHOD = Scope("ana"), datetime(2024, 3, 1, tzinfo=UTC), process_holder(), "m"
WORDS = ("boats in the harbour", "the harbour at night", "boats and nothing else")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    made = open_store(str(tmp_path / "m.db"))
    await made.open()
    yield made
    await made.close()


async def take(
    store: Store, day: int, kinds: str, origins: tuple[int, ...] = (), marks: tuple[int, ...] = ()
) -> None:
    """A session of one turn, with one memory of each kind named and marks on stored ones."""
    at = AT + timedelta(days=day)
    said = [Utterance(text="words", speaker="Ana", at=at)]
    done = await store.log_transcript(ANA, Transcript(key=f"{day}", turns=said, at=at), METHOD)
    turn = (await store.turns(ANA, session=done.session))[0].id
    memories = [
        NewMemory(text=text, at=at, source_turns=(turn,), kind=kind, derived_from=origins)
        for text, kind in zip(WORDS, kinds.split(), strict=False)
    ]
    made = MemoryBatch(
        memories=memories,
        vectors=np.eye(4, dtype=np.float32)[: len(memories)],
        marks=[NewMark(memory=memory, kind="withdrawn") for memory in marks],
    )
    lease = await store.acquire_lease(ANA, ME, timedelta(days=99)) or 0
    await store.commit_batch(ANA, done.session, METHOD, made, embedder="e", lease=lease, at=at)


async def test_masks_follow_the_store(store: Store) -> None:
    views = ScopeCache(store, METHOD, "e")
    await take(store, 1, "a b a")
    view = await views.get(ANA)
    assert view.live.tolist() == [True, True, True]
    assert view.kind_mask("a").tolist() == [True, False, True]
    await take(store, 2, "", marks=(3,))  # a commit of marks alone
    view = await views.get(ANA)
    assert view.live.tolist() == [True, True, False]
    assert view.marks[3].kind == "withdrawn"
    await take(store, 3, "c", marks=(1,))
    view = await views.get(ANA)
    assert view.live.tolist() == [False, True, False, True]
    assert view.kind_mask("b", "c", "unknown").tolist() == [False, True, False, True]
    anew = await ScopeCache(store, METHOD, "e").get(ANA)
    assert (anew.live == view.live).all()
    assert (anew.kind_mask("c") == view.kind_mask("c")).all()


@pytest.mark.parametrize("how", ["hybrid", "dense", "lexical", "okapi"])
async def test_search_finds_only_among_the_masked(store: Store, how: RetrievalMode) -> None:
    await take(store, 1, "a b a", marks=())
    view = await ScopeCache(store, METHOD, "e").get(ANA)
    query = Query(text="boats harbour", vector=np.full(4, 0.5, np.float32), latest="boats harbour")
    found = view.search(query, 5, how, among=view.kind_mask("a"))
    assert {memory.id for memory, _ in found} == {1, 3}
    assert view.search(query, 5, how, among=view.kind_mask("none")) == []


async def test_a_mask_from_before_the_view_grew_is_refused(store: Store) -> None:
    views = ScopeCache(store, METHOD, "e")
    await take(store, 1, "a")
    view = await views.get(ANA)
    before = view.live_mask("a")
    await take(store, 2, "a")
    await views.get(ANA)
    query = Query(text="boats", vector=np.full(4, 0.5, np.float32))
    with pytest.raises(ValueError, match="covers 1 memories, but the index has 2"):
        view.search(query, 5, among=before)
    with pytest.raises(ValueError, match="right before use"):
        view.nearest(query.vector[None], 5, among=before[None])


async def test_a_session_that_was_open_as_a_later_one_was_met_is_met(store: Store) -> None:
    views = ScopeCache(store, METHOD, "e")
    await take(store, 1, "a")
    view = await views.get(ANA)
    still = await store.start_session(ANA, AT, key="open")
    await take(store, 3, "a")
    view.add_sessions(
        await store.sessions(ANA, METHOD, ids=[still + 1])
    )  # remembered in this process
    await views.get(ANA)
    assert sorted(view.sessions) == [1, still, still + 1]


async def test_views_with_little_in_them_count_too(store: Store) -> None:
    views = ScopeCache(store, METHOD, "e", capacity=2 * BASE_SIZE)
    ana, ben, cleo = [Scope(name) for name in ("ana", "ben", "cleo")]
    held = [await views.get(scope) for scope in (ana, ben, ana)]
    assert held[0] is held[2]
    await views.get(cleo)  # ben's is the one not asked for lately
    assert await views.get(ana) is held[0]
    assert await views.get(ben) is not held[1]


async def test_a_view_counts_the_log_that_it_reads_later(store: Store) -> None:
    await take(store, 1, "a b c d")
    views = ScopeCache(store, METHOD, "e", capacity=2 * BASE_SIZE)
    for scope in (Scope("ben"), ANA):
        view = await views.get(scope, memories=False)
    assert Scope("ben") in views
    await view.log(StaticEmbedder())
    assert Scope("ben") not in views and ANA in views


async def test_a_view_weighs_what_it_has_read(store: Store) -> None:
    await take(store, 1, "a b")
    view = await ScopeCache(store, METHOD, "e").get(ANA)
    assert view.size == BASE_SIZE + 2
    await view.turns([1])
    assert view.size == BASE_SIZE + 3


async def test_reminders_are_of_any_method(store: Store) -> None:
    await take(store, 1, "a b a")
    other = await ScopeCache(store, "other", "e").get(ANA)
    at = Utterance(text="so", speaker="tea", at=AT, role="assistant", recalled=(1, 3, 99))
    session = await store.start_session(ANA, AT)
    said = await store.append_turns(ANA, session, [at])
    assert await other.recalled_texts(said) == {1: WORDS[0], 3: WORDS[2]}


async def test_the_memories_of_another_method_are_ranked_by_the_same_weights(store: Store) -> None:
    views = ScopeCache(store, METHOD, "e", RankingConfig(dense=0.5))
    await take(store, 1, "a b a")
    view = await views.with_method("other").get(ANA)
    assert (len(view), view.ranking_config) == (0, RankingConfig(dense=0.5))


async def test_grounds_are_the_turns_behind_what_it_was_made_of(store: Store) -> None:
    await take(store, 1, "a")
    await take(store, 2, "b", origins=(1,))
    await take(store, 3, "c", origins=(1, 2))
    view = await ScopeCache(store, METHOD, "e").get(ANA)
    assert [source_turns(memory, view) for memory in view.memories] == [(1,), (1, 2), (1, 2, 3)]


async def test_recalls_are_the_times_of_replies_that_had_them(store: Store) -> None:
    await take(store, 1, "a b")
    views = ScopeCache(store, METHOD, "e")
    assert await (await views.get(ANA)).recall_times() == {}
    times = [AT + timedelta(days=day) for day in (4, 5)]
    session = await store.start_session(ANA, times[0])
    for at, recalled in zip(times, [(1,), (2, 1)], strict=True):
        said = Utterance(text="yes", speaker="tea", at=at, role="assistant", recalled=recalled)
        await store.append_turns(ANA, session, [said])
        view = await views.get(ANA)
        await view.recall_times()
    assert await (await views.get(ANA)).recall_times() == {1: times, 2: times[1:]}
