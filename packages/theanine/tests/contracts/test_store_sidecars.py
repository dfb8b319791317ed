"""The store's contract for data derived from a scope: replaced as a whole, erased with it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from theanine.store import Store
from theanine.types import Scope, Transcript, Utterance

pytestmark = pytest.mark.anyio

ANA, BEN = Scope("ana"), Scope("ben")
AT = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)


@pytest.fixture
async def lived(store: Store) -> Store:
    for scope in (ANA, BEN):
        turns = [Utterance(text=f"Hello {i}.", speaker="Ana", at=AT) for i in range(2)]
        await store.log_transcript(scope, Transcript(key="a", turns=turns, at=AT), "theanine")
    return store


async def write(store: Store, scope: Scope, data: bytes, name: str = "x") -> bool:
    epoch = (await store.scope_version(scope)).epoch
    return await store.write_sidecar(scope, name, epoch, [data[:3], data[3:]])


async def test_data_are_replaced_by_name(lived: Store) -> None:
    assert await lived.read_sidecar(ANA, "x") is None
    assert await write(lived, ANA, b"first\0\xff")
    assert await write(lived, ANA, b"other", "y")
    assert await write(lived, ANA, b"second")
    assert await lived.read_sidecar(ANA, "x") == b"second"
    assert await lived.read_sidecar(ANA, "y") == b"other"
    assert await lived.read_sidecar(BEN, "x") is None


@pytest.mark.parametrize("whole", [True, False])
async def test_what_was_made_of_erased_data_goes_and_is_not_put_back(
    lived: Store, whole: bool
) -> None:
    epoch = (await lived.scope_version(ANA)).epoch
    for scope in (ANA, BEN):
        assert await write(lived, scope, b"made of this")
    await lived.forget(ANA, turn=None if whole else 1)
    assert await lived.read_sidecar(ANA, "x") is None
    assert not await lived.write_sidecar(ANA, "x", epoch, [b"made of what was erased"])
    assert not await lived.write_sidecar(Scope("nobody"), "x", 0, [b"of nothing"])
    assert await lived.read_sidecar(BEN, "x") == b"made of this"


async def test_vector_indexes_of_version_0_1_go_with_the_next_write(lived: Store) -> None:
    former = "0123456789abcdef"
    for scope in (ANA, BEN):
        assert await write(lived, scope, b"vectors", former)
    assert await write(lived, ANA, b"new", "log-0123456789abcdef")
    assert await lived.read_sidecar(ANA, former) is None
    assert await lived.read_sidecar(ANA, "log-0123456789abcdef") == b"new"
    assert await lived.read_sidecar(BEN, former) == b"vectors"


async def test_an_export_has_none(lived: Store) -> None:
    before = [record async for record in lived.export(ANA)]
    assert await write(lived, ANA, b"derived")
    assert [record async for record in lived.export(ANA)] == before
