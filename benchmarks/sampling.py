"""Sampling timelines from a component with an astronomical number of paths."""

from __future__ import annotations

import time
from random import Random

from figures import Figure, median

from theanine.graph import Graph
from theanine.methods.theanine.sample_timelines import Paths, sample_timelines
from theanine.types import Link

NODES = 5_000
RUNS = 9


def sampling() -> list[Figure]:
    """5,000 memories, each linked from up to three of the eight before it."""
    rng = Random(0)
    graph = Graph()
    for newer in range(2, NODES + 1):
        earlier = range(max(1, newer - 8), newer)
        for older in rng.sample(earlier, min(3, len(earlier))):
            graph.add(Link(older=older, newer=newer, relation=None))
    times: list[float] = []
    for run in range(RUNS):
        middle = NODES // 2 + run
        started = time.perf_counter()
        [path] = sample_timelines(graph, middle, 1, Random(run), lambda n: n, set())
        times.append((time.perf_counter() - started) * 1000)
        assert middle in path
    paths = Paths(graph, NODES // 2, lambda n: n).count
    return [
        Figure(
            name="a timeline out of a component of 5,000",
            value=median(times),
            unit="ms",
            goal=20,
            note=f"10^{len(str(paths)) - 1} paths",
        )
    ]
