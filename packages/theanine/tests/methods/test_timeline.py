"""Timelines: what a sampled path is, that sampling is uniform, and that size does not matter."""

from __future__ import annotations

import itertools
from collections import Counter
from importlib import import_module
from random import Random
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine.graph import Graph
from theanine.methods.theanine.sample_timelines import Paths, sample_timelines
from theanine.types import Link, Relation


def graph_of(edges: list[tuple[int, int]]) -> Graph:
    return Graph(Link(older=a, newer=b, relation=Relation.CAUSE) for a, b in edges)


def order(memory: int) -> int:
    return memory


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[tuple[int, int]], int]:
    """A few forward edges among up to nine memories, and one of the memories."""
    size = draw(st.integers(1, 9))
    pairs = [(a, b) for a in range(size) for b in range(a + 1, size)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return edges, draw(st.integers(0, size - 1))


def every_timeline(edges: list[tuple[int, int]], memory: int) -> set[tuple[int, ...]]:
    """All timelines by enumeration, written from the definition with another library."""
    whole: nx.DiGraph[int] = nx.DiGraph()
    whole.add_node(memory)
    whole.add_edges_from(edges)
    members = nx.node_connected_component(whole.to_undirected(), memory)
    past = {node for node in members if nx.has_path(whole, node, memory)}
    start = min(members)
    if start not in past:
        start = min(node for node in past if whole.in_degree(node) == 0)
    ends = [node for node in members if whole.out_degree(node) == 0]
    return {
        tuple(path)
        for end in ends
        for path in ([[start]] if start == end else nx.all_simple_paths(whole, start, end))
        if memory in path
    }


@given(graphs())
def test_the_numbered_paths_are_all_timelines(
    case: tuple[list[tuple[int, int]], int],
) -> None:
    edges, memory = case
    paths = Paths(graph_of(edges), memory, order)
    assert {paths[i] for i in range(paths.count)} == every_timeline(edges, memory)
    assert paths.count == len(every_timeline(edges, memory))


@given(graphs(), st.integers(1, 5), st.integers())
def test_samples_differ_and_exclude_the_given_timelines(
    case: tuple[list[tuple[int, int]], int], n: int, seed: int
) -> None:
    edges, memory = case
    expected = every_timeline(edges, memory)
    given_before = set(sorted(expected)[:1])
    drawn = sample_timelines(graph_of(edges), memory, n, Random(seed), order, given_before)
    assert len(set(drawn)) == len(drawn) == min(n, len(expected) - len(given_before))
    assert set(drawn) <= expected - given_before


@pytest.mark.slow
def test_sampling_is_uniform() -> None:
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (1, 4), (3, 4), (3, 5), (4, 6), (3, 7)]
    graph, known = graph_of(edges), every_timeline(edges, 1)
    rng = Random(7)
    counts = Counter(sample_timelines(graph, 1, 1, rng, order, set())[0] for _ in range(4000))
    assert set(counts) == known
    test: Any = import_module("scipy.stats")  # scipy has no types
    assert test.chisquare([counts[path] for path in sorted(known)]).pvalue > 0.001


def test_the_same_seed_gives_the_same_timelines() -> None:
    graph = graph_of([(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5)])
    one, other = (sample_timelines(graph, 3, 2, Random(3), order, set()) for _ in range(2))
    assert one == other


def test_more_paths_than_could_be_listed() -> None:
    edges = [(a, b) for a in range(5000) for b in range(a + 1, min(a + 4, 5000))]
    paths = Paths(graph_of(edges), 2500, order)
    assert paths.count > 10**200
    (path,) = sample_timelines(graph_of(edges), 2500, 1, Random(1), order, set())
    assert path[0] == 0
    assert path[-1] == 4999
    assert 2500 in path
    assert set(itertools.pairwise(path)) <= set(edges)
