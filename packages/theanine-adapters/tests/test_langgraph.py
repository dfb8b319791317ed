"""LangGraph's store: as its InMemoryStore, less that one's quirks; in the user's memory."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from support.fuzzing import cases
from theanine.errors import BadInput, SettingsError

pytest.importorskip("langgraph.store.memory", reason="langgraph is not installed (make extras)")

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from theanine_adapters.langgraph import TheanineStore

LABELS = st.sampled_from(["a", "b", "ana", "ü 1"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["k", "l", "k.1", "", "š/%"])
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, "", "x", "two\nlines", "Rex\0", "\ud800"]),
)
VALUES = st.dictionaries(
    st.sampled_from(["x", "y", "text"]),
    st.one_of(LEAVES, st.lists(LEAVES, max_size=2), st.dictionaries(st.just("in"), LEAVES)),
    max_size=3,
)
COMPARISONS = st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"])
FILTERS = st.dictionaries(
    st.sampled_from(["x", "y"]),
    st.one_of(LEAVES, st.dictionaries(COMPARISONS, st.integers(-2, 2), min_size=1, max_size=2)),
    max_size=2,
)
CONDITIONS = st.builds(
    MatchCondition,
    match_type=st.sampled_from(["prefix", "suffix"]),
    path=st.lists(st.one_of(LABELS, st.just("*")), min_size=1, max_size=3).map(tuple),
)
INDEXES: Any = st.sampled_from([None, False, ["text"], ["x", "y.in", "*"]])
OPS = st.one_of(
    st.builds(PutOp, namespace=NAMESPACES, key=KEYS, value=VALUES, index=INDEXES),
    st.builds(PutOp, namespace=NAMESPACES, key=KEYS, value=st.none()),
    st.builds(GetOp, namespace=NAMESPACES, key=KEYS),
    st.builds(
        SearchOp,
        namespace_prefix=st.lists(LABELS, max_size=2).map(tuple),
        filter=st.one_of(st.none(), FILTERS),
        limit=st.integers(0, 8),
        offset=st.integers(0, 3),
        query=st.sampled_from([None, "Rex", " "]),
    ),
    st.builds(
        ListNamespacesOp,
        match_conditions=st.one_of(st.none(), st.lists(CONDITIONS, max_size=2).map(tuple)),
        max_depth=st.one_of(st.none(), st.integers(1, 3)),
        limit=st.integers(1, 6),
        offset=st.integers(0, 2),
    ),
)


class Model(InMemoryStore):
    """The model without its quirks: empty namespaces listed, errors for values of other types."""

    def batch(self, ops: Iterable[Op]) -> list[Any]:
        results = [self._read(op) for op in ops]
        super().batch(op for op in ops if isinstance(op, PutOp))
        return results

    def _read(self, op: Op) -> Any:
        for namespace in [name for name, items in self._data.items() if not items]:
            del self._data[namespace]
        if isinstance(op, PutOp):
            return None
        if isinstance(op, SearchOp):  # its order is its own: all that ours may choose from
            found = [item for items in self._data.values() for item in items.values()]
            return [item for item in found if self._has(op, item)]
        return super().batch([op])[0]

    def _has(self, op: SearchOp, item: Item) -> bool:
        alone = InMemoryStore()
        alone.put(item.namespace, item.key, item.value)
        try:
            return bool(alone.batch([op._replace(limit=1, offset=0)])[0])
        except (TypeError, ValueError):  # such as "x" > 1
            return False


@pytest.mark.parametrize("client", ["store"], indirect=True)  # a service takes minutes
@pytest.mark.fuzz
@cases(20)
@given(batches=st.lists(st.lists(OPS, min_size=1, max_size=5), min_size=1, max_size=5))
def test_as_the_store_in_memory(client: theanine.Client, batches: Sequence[Sequence[Op]]) -> None:
    store, model = TheanineStore(client.user(f"user {len(client.users())}")), Model()
    for ops in batches:
        results: list[Any] = store.batch(ops)
        for op, ours, theirs in zip(ops, results, model.batch(ops), strict=True):
            if isinstance(op, SearchOp):
                assert len(ours) == min(op.limit, max(0, len(theirs) - op.offset))
                assert read(ours).items() <= read(theirs).items()
            elif isinstance(op, GetOp):
                assert read([ours]) == read([theirs])
            else:
                assert ours == theirs
    assert store.list_namespaces(limit=1_000) == model.list_namespaces(limit=1_000)
    assert read(store.search((), limit=1_000)) == read(model.search((), limit=1_000))


def read(items: Sequence[Item | None]) -> dict[tuple[Any, ...], Any]:
    return {(item.namespace, item.key): item.value for item in items if item is not None}


def test_search_ranks_what_recall_finds_first(client: theanine.Client) -> None:
    store = TheanineStore(client.user("ana"))
    store.put(("ana", "facts"), "pet", {"text": "Ana's dog is called Rex."})
    store.put(("ana", "facts"), "job", {"text": "Ana works at a bakery in Split."})
    store.put(("ana", "facts"), "hidden", {"text": "Ana's dog is called Bella."}, index=False)
    store.put(("bo",), "pet", {"text": "Bo's dog is called Luna."})
    first, *others = store.search(("ana",), query="What is her dog called?")
    assert (first.key, first.namespace) == ("pet", ("ana", "facts"))
    assert first.score is not None and 0 < first.score <= 1
    assert {(item.key, item.score) for item in others} == {("job", None), ("hidden", None)}


def test_a_change_is_the_item_and_the_earlier_version_is_history(client: theanine.Client) -> None:
    ana = client.user("ana")
    store = TheanineStore(ana)
    store.put(("facts",), "home", {"city": "Split", "since": 2020})
    before = store.get(("facts",), "home")
    store.put(("facts",), "home", {"city": "Zagreb", "since": 2020})
    after = store.get(("facts",), "home")
    assert before and after and after.value == {"city": "Zagreb", "since": 2020}
    assert before.created_at == after.created_at < after.updated_at
    assert [turn.text for turn in ana.turns()] == ["city: Split\nsince: 2020", "city: Zagreb"]
    found = ana.recall("Which city is home?").text
    assert "Split" in found and "Zagreb" in found
    [item] = store.search((), query="Does she live in the city of Split?")
    assert item.score is None or item.value["city"] == "Zagreb"


def test_deleting_erases_the_words(client: theanine.Client, tmp_path: Path) -> None:
    ana = client.user("ana")
    store = TheanineStore(ana)
    store.put(("facts",), "pet", {"text": "Her dog is called Xylophon."})
    store.put(("facts",), "pet", {"text": "Her dog is called Xylophon, and is old."})
    store.delete(("facts",), "pet")
    assert store.get(("facts",), "pet") is None and not ana.turns()
    client.close()
    assert not [file for file in tmp_path.iterdir() if b"Xylophon" in file.read_bytes()]


def test_forgetting_the_user_empties_the_store(client: theanine.Client) -> None:
    ana = client.user("ana")
    store = TheanineStore(ana)
    store.put(("facts",), "pet", {"text": "Her dog is called Rex."})
    ana.forget_all()
    assert store.search(()) == [] and store.list_namespaces() == []
    store.put(("facts",), "pet", {"text": "Her dog is called Rex."})
    assert read(store.search(())) == {(("facts",), "pet"): {"text": "Her dog is called Rex."}}


@pytest.mark.anyio
async def test_with_await_on_either_handle(tmp_path: Path, client: theanine.Client) -> None:
    async with theanine.aopen(tmp_path / "memory.db") as other:
        ours, theirs = TheanineStore(other.user("ana")), TheanineStore(client.user("ana"))
        await ours.aput(("facts",), "pet", {"text": "Rex"})
        await theirs.aput(("facts",), "job", {"text": "baker"})
        for store in (ours, theirs):
            assert len(await store.asearch(())) == 2
            assert (await store.aget(("facts",), "pet")).value == {"text": "Rex"}  # type: ignore[union-attr]
        with pytest.raises(SettingsError, match=r"theanine\.open, not of aopen"):
            ours.get(("facts",), "pet")


def test_bad_use_is_named(client: theanine.Client) -> None:
    store = TheanineStore(client.user("ana"))
    with pytest.raises(BadInput, match="the value of 'k' can't be stored as JSON"):
        store.put(("a",), "k", {"x": object()})
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "k", {})])
    store.put(("a",), "k", {"x": 1})
    with pytest.raises(BadInput, match=r"unknown operator '\$in'"):
        store.search(("a",), filter={"x": {"$in": [1]}})
    with pytest.raises(NotImplementedError):
        store.put(("a",), "k", {}, ttl=5)
