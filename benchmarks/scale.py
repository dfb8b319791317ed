"""Exact search compared with the approximate index, in one scope of up to a million memories.

    python benchmarks/scale.py --units 50000 100000 300000 1000000

The store and its index grow from size to size. Times are CPU times of one core, which is all that a
search uses, so other load on the machine has little effect.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from figures import percentile
from filling import A_SESSION, fill
from words import OTHER_WORDS, questions

from theanine.cli.rendering import console, show_table
from theanine.embeddings.static import StaticEmbedder
from theanine.retrieval.query import Query
from theanine.retrieval.scope_cache import ScopeCache
from theanine.retrieval.scope_index import ScopeIndex
from theanine.retrieval.scoring import top_k
from theanine.store import open_store
from theanine.types import Scope

SIZES = [50_000, 100_000, 300_000]
QUESTIONS = 100
TOP = 10
METHOD = "theanine"  # the method of the memories that filling.py makes
ANA = Scope("ana")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Results for one size. Times are of one core; None where search is exact.

    Attributes:
        cold: seconds until a new process has read the scope.
        exact, approximate: p50 and p95 of a search in ms, without embedding the question.
        dense, final: recall@10 relative to exact search, by smoothed vectors and by all evidence.
        other_words: recall@10 by all evidence for questions in other words than the memories.
        built: seconds that building or extending the index took.
        index: size of its file in bytes.
        resident: MB of the process without and with the index.
    """

    units: int
    cold: float
    exact: tuple[float, float]
    approximate: tuple[float, float] | None = None
    dense: float | None = None
    final: float | None = None
    other_words: float | None = None
    built: float | None = None
    index: int = 0
    resident: tuple[float, float] = (0, 0)


def main() -> None:
    """Measure each size in its own process and show a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--units", nargs="*", type=int, default=SIZES, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(asdict(asyncio.run(_measure(options.measure)))))
        return
    figures: list[Measured] = []
    with TemporaryDirectory() as folder:
        path, filled = Path(folder) / "memory.db", 0
        for units in sorted(options.units):
            units = units // A_SESSION * A_SESSION
            print(f"{units:,} …", file=sys.stderr)
            asyncio.run(fill(path, [ANA.user], units, filled))
            filled = units
            command = [sys.executable, __file__, "--measure", str(path)]
            ran = subprocess.run(command, check=True, capture_output=True, text=True)
            figures.append(Measured(**json.loads(ran.stdout)))
            if options.json:
                options.json.write_text(json.dumps([asdict(one) for one in figures], indent=1))
    _show(figures)


async def _measure(path: Path) -> Measured:
    store, embedder = open_store(str(path)), StaticEmbedder()
    await embedder.embed(["warm up"])
    await store.open()
    cache = ScopeCache(store, METHOD, embedder.name)
    try:
        started = time.process_time()
        index = await cache.get(ANA)
        cold, without = time.process_time() - started, _resident()
        started = time.process_time()
        await cache.settled(ANA)
        built = time.process_time() - started
        queries = [await _query(index, embedder, text) for text in islice(questions(), QUESTIONS)]
        other_queries = [await _query(index, embedder, text) for text in OTHER_WORDS]
        if index.approximate.index is None:
            exact, _ = _time_searches(index, queries)
            resident = (without, _resident())
            return Measured(units=len(index), cold=cold, exact=exact, resident=resident)
        approximate, results = _time_searches(index, queries)
        _, other_results = _time_searches(index, other_queries)
        near = [index.approximate.nearest(query).tolist() for query in queries]
        resident = (without, _resident())
        index.approximate.index = None  # from here on, search is exact
        exact, gold = _time_searches(index, queries)
        _, other_gold = _time_searches(index, other_queries)
        return Measured(
            units=len(index),
            cold=cold,
            exact=exact,
            approximate=approximate,
            dense=_recall([_nearest(index, query) for query in queries], near),
            final=_recall(gold, results),
            other_words=_recall(other_gold, other_results),
            built=built,
            index=sum(file.stat().st_size for file in path.parent.glob(f"{path.name}.index/*")),
            resident=resident,
        )
    finally:
        await cache.close()
        await store.close()


async def _query(index: ScopeIndex, embedder: StaticEmbedder, text: str) -> Query:
    return Query(
        text=text, vector=(await embedder.embed([index.without_speakers(text)]))[0], asker="ana"
    )


def _time_searches(
    index: ScopeIndex, queries: Sequence[Query]
) -> tuple[tuple[float, float], list[list[int]]]:
    times: list[float] = []
    results: list[list[int]] = []
    index.search(queries[0], TOP)
    for query in queries:
        started = time.thread_time()
        ranked = index.search(query, TOP)
        times.append((time.thread_time() - started) * 1000)
        results.append([memory.id for memory, _ in ranked])
    return (percentile(times, 0.5), percentile(times, 0.95)), results


def _nearest(index: ScopeIndex, query: Query) -> list[int]:
    """Return the positions of the ten best of all memories by smoothed vectors."""
    ranking = index.approximate.ranking
    scores = ranking.smoothing.smooth(ranking.dense.scores(query.vector))
    return top_k(scores, np.arange(len(scores)), TOP).tolist()


def _recall(gold: Sequence[Sequence[int]], results: Sequence[Sequence[int]]) -> float:
    shares = [len({*a} & {*b}) / len(a) for a, b in zip(gold, results, strict=True)]
    return sum(shares) / len(shares)


def _resident() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1000
    return 0


def _show(figures: Sequence[Measured]) -> None:
    heads = (
        "memories | exact p50 / p95 ms | approximate p50 / p95 ms | recall@10 dense | final | "
        "in other words | index MB | built in s | RSS MB without / with | cold start s"
    )
    show_table(heads.split(" | "), map(_row, figures))
    console().print("\nrecall@10: share of the ten best of exact search that is found")


def _row(size: Measured) -> list[str]:
    return [
        f"{size.units:,}",
        _pair(size.exact),
        _pair(size.approximate),
        _share(size.dense),
        _share(size.final),
        _share(size.other_words),
        _or_dash(size.index / 1e6 or None, "{:.0f}"),
        _or_dash(size.built, "{:.0f}"),
        " / ".join(f"{value:,.0f}" for value in size.resident),
        f"{size.cold:.1f}",
    ]


def _pair(values: Sequence[float] | None) -> str:
    return "–" if values is None else " / ".join(f"{value:.1f}" for value in values)


def _share(value: float | None) -> str:
    return _or_dash(value, "{:.3f}")


def _or_dash(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)


if __name__ == "__main__":
    main()
