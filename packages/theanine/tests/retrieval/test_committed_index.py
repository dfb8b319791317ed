"""An index takes over what was just committed as it would read it from the store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from theanine.client.engine import Engine
from theanine.client.options import OpenOptions
from theanine.client.user import AsyncUserMemory
from theanine.demo import HARBOUR
from theanine.importers import read_histories
from theanine.retrieval.scope_cache import ScopeCache
from theanine.types import Scope

pytestmark = pytest.mark.anyio

ANA = Scope("ana")


async def test_a_committed_batch_is_added_as_it_is_stored(tmp_path: Path) -> None:
    engine = Engine(OpenOptions(location=str(tmp_path / "m.db")))
    await engine.open()
    try:
        user = AsyncUserMemory(engine, ANA)
        await user.log(read_histories(HARBOUR).histories[0])
        await user.remember()
        grown = await engine.indexes.get(ANA)
        read = await ScopeCache(engine.store, engine.method.name, engine.embedder.name).get(ANA)
        for index in (grown, read):
            await index.make_vectors(engine.embedder)
    finally:
        await engine.close()
    assert grown.memories == read.memories
    assert grown.graph.links == read.graph.links
    assert (grown.graph.older, grown.graph.newer) == (read.graph.older, read.graph.newer)
    assert len(grown.graph.links) > 10
    rows = np.eye(384, dtype=np.float32)[:20]
    assert grown.nearest(rows, len(read)) == read.nearest(rows, len(read))
