"""The CausalEval bench: links, evidence and answers of the same memories.

Each graph's sessions are remembered. Its questions are answered, with the evidence that was
recalled for each, and the links between the memories are compared with the graph's edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from theanine.types import LOCAL_MODEL
from theanine_bench.datasets.formats.causaleval import read_causal_graphs
from theanine_bench.datasets.qa import read_qa
from theanine_bench.runs.task import Task
from theanine_bench.samples import limit_samples
from theanine_bench.targets.target import ClientTarget, TargetContext
from theanine_bench.tasks.answers import answer_task
from theanine_bench.tasks.links import count_links, edges_between_sessions

BENCH = "causaleval"
METRICS = ("f1", "evidence", "evidence hit", "right")
Edges = Mapping[str, Sequence[tuple[str, str]]]


def causaleval_task(
    data: Path,
    *,
    metrics: Sequence[str] | None = None,
    judge: str = LOCAL_MODEL,
    limit: int | None = None,
) -> Task:
    """Return a task with a group for each graph and a sample for each of its questions.

    ``limit`` is the most questions, evenly spaced. Raises BadInput with the place of a fault.
    """
    graphs = read_causal_graphs(data)
    edges = {graph.labeled.history.name: edges_between_sessions(graph) for graph in graphs}
    groups = limit_samples(read_qa(data), limit)
    task = answer_task(BENCH, [data], groups, metrics, METRICS, judge)
    return replace(task, target=partial(CausalTarget, edges=edges))


class CausalTarget(ClientTarget):
    """A client whose links are counted once a graph's questions are answered.

    Args:
        edges: the gold edges between sessions by the graph's name, as keys of turns.
    """

    has_facts = True

    def __init__(self, context: TargetContext, edges: Edges) -> None:
        super().__init__(context)
        self._edges = edges

    async def facts(self, user: str) -> Mapping[str, Any]:
        """Return the numbers of memories, links, gold edges, and gold edges that are linked."""
        edges = set(self._edges[user])
        counts = await count_links(self.client.user(user), edges)
        names = ("memories", "links", "edges linked", "links on edges")
        return {"edges": len(edges), **{name: counts[name] for name in names}}
