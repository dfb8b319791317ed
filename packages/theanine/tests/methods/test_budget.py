"""A token budget: it says how much is given back, nothing is told twice, and all in time order."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from support.answering import memory
from theanine.demo import HARBOUR
from theanine.importers import read_histories
from theanine.methods.theanine.paper import deduplicate_timelines
from theanine.types import Link, Timeline

QUESTION = "Why did Ana leave the shipyard, and what did she do after it?"


@pytest.mark.slow
@pytest.mark.parametrize("method", ["utterance", "exchange", "memory-retrieval", "memory-update"])
def test_it_is_filled_whatever_is_retrieved_without_one(tmp_path: Path, method: str) -> None:
    with theanine.open(str(tmp_path / "m.db"), method=method, config={"retrieved": 2}) as agent:
        agent.user("ana").log(read_histories(HARBOUR).histories[0])
        agent.user("ana").remember()
        recollection = {
            budget: agent.user("ana").recall(QUESTION, budget=budget)
            for budget in (None, 500, 1_000)
        }
    assert (
        len(recollection[None].parts)
        == 2
        < len(recollection[500].parts)
        < len(recollection[1_000].parts)
    )


@pytest.mark.slow
@pytest.mark.parametrize("shuffle", [False, True])
def test_timelines_within_one_tell_nothing_twice(tmp_path: Path, shuffle: bool) -> None:
    with theanine.open(
        str(tmp_path / "m.db"),
        method="theanine-paper",
        config={"retrieval": "hybrid", "link_to": "best", "retrieved": 12, "shuffle": shuffle},
    ) as agent:
        agent.user("ana").log(read_histories(HARBOUR).histories[0])
        agent.user("ana").remember()
        free = [memory.id for memory in agent.user("ana").recall(QUESTION).memories]
        recollection = agent.user("ana").recall(QUESTION, budget=5_000)
    ids = [memory.id for part in recollection.parts for memory in part.memories]
    assert len(ids) == len(set(ids)) > 12 - shuffle
    assert set(ids) <= set(free) or shuffle
    starts = [part.memories[0].order for part in recollection.parts]
    assert (starts == sorted(starts)) is not shuffle


def _line(ids: list[int], retrieved: int) -> Timeline:
    links = tuple(Link(older=a, newer=b, relation=None) for a, b in pairwise(ids))
    return Timeline(
        memories=tuple(memory(n, f"number {n}") for n in ids), links=links, retrieved=retrieved
    )


paths = st.sets(st.integers(1, 12), min_size=1).flatmap(
    lambda ids: st.sampled_from(sorted(ids)).map(lambda centre: _line(sorted(ids), centre))
)


@given(st.lists(paths, max_size=5))
def test_what_a_better_timeline_tells_is_left_out_of_the_next(lines: list[Timeline]) -> None:
    kept = deduplicate_timelines(lines)
    told = [memory.id for line in kept for memory in line.memories]
    assert len(told) == len(set(told))
    assert set(told) >= {line.retrieved for line in lines}
    assert kept[:1] == lines[:1]  # the best one is whole
    for line in kept:
        assert line.retrieved in [memory.id for memory in line.memories]
        ids = [memory.id for memory in line.memories]
        assert [(link.older, link.newer) for link in line.links] == list(pairwise(ids))
