"""One scope of up to a million memories: exact search beside the approximate index.

    python benchmarks/scale.py --units 50000 100000 300000 1000000

The store grows from size to size and its index with it. Times are of one core, which is all that a
search uses; a busy machine blurs them little.
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
from theanine.retrieval.scope_index import ScopeCache, ScopeIndex
from theanine.retrieval.scoring import top_k
from theanine.store import open_store
from theanine.types import Scope

SIZES = [50_000, 100_000, 300_000]
ASKED = 100
TOP = 10
METHOD = "theanine"  # whose memories filling.py makes
ANA = Scope("ana")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Of one size. All times are of one core; None where search is exact.

    Attributes:
        cold: seconds until a process that has just started has read the scope.
        exact, approximate: p50 and p95 of a search in ms, once the question is embedded.
        dense, final: recall@10 of exact search, by vectors with neighbours and by all evidence.
        other_words: recall@10 by all evidence for questions in words of their own.
        built: seconds that making, or extending, the index took.
        index: bytes of its file.
        resident: MB of the process without the index, and with it.
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
    """Measure each size in a process of its own and show the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--units", nargs="*", type=int, default=SIZES, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(asdict(asyncio.run(_measure(options.measure)))))
        return
    figures: list[Measured] = []
    with TemporaryDirectory() as folder:
        path, already = Path(folder) / "memory.db", 0
        for units in sorted(options.units):
            units = units // A_SESSION * A_SESSION
            print(f"{units:,} …", file=sys.stderr)
            asyncio.run(fill(path, [ANA.user], units, already))
            already = units
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
    views = ScopeCache(store, METHOD, embedder.name)
    try:
        started = time.process_time()
        view = await views.get(ANA)
        cold, without = time.process_time() - started, _resident()
        started = time.process_time()
        await views.settled(ANA)
        built = time.process_time() - started
        asked = [await _query(view, embedder, text) for text in islice(questions(), ASKED)]
        other = [await _query(view, embedder, text) for text in OTHER_WORDS]
        if view.approximate.index is None:
            exact, _ = _timed(view, asked)
            resident = (without, _resident())
            return Measured(units=len(view), cold=cold, exact=exact, resident=resident)
        approximate, found = _timed(view, asked)
        _, found_other = _timed(view, other)
        near = [view.approximate.nearest(query).tolist() for query in asked]
        resident = (without, _resident())
        view.approximate.index = None  # from here on, search is exact
        exact, gold = _timed(view, asked)
        _, gold_other = _timed(view, other)
        return Measured(
            units=len(view),
            cold=cold,
            exact=exact,
            approximate=approximate,
            dense=_recall([_nearest(view, query) for query in asked], near),
            final=_recall(gold, found),
            other_words=_recall(gold_other, found_other),
            built=built,
            index=sum(file.stat().st_size for file in path.parent.glob(f"{path.name}.index/*")),
            resident=resident,
        )
    finally:
        await views.close()
        await store.close()


async def _query(view: ScopeIndex, embedder: StaticEmbedder, text: str) -> Query:
    return Query(
        text=text, vector=(await embedder.embed([view.without_speakers(text)]))[0], asker="ana"
    )


def _timed(view: ScopeIndex, asked: Sequence[Query]) -> tuple[tuple[float, float], list[list[int]]]:
    times: list[float] = []
    found: list[list[int]] = []
    view.search(asked[0], TOP)
    for query in asked:
        started = time.thread_time()
        best_ones = view.search(query, TOP)
        times.append((time.thread_time() - started) * 1000)
        found.append([memory.id for memory, _ in best_ones])
    return (percentile(times, 0.5), percentile(times, 0.95)), found


def _nearest(view: ScopeIndex, query: Query) -> list[int]:
    """The places of the ten best by vectors with their neighbours', by looking at all."""
    ranking = view.approximate.ranking
    shared = ranking.smoothing.smooth(ranking.dense.scores(query.vector))
    return top_k(shared, np.arange(len(shared)), TOP).tolist()


def _recall(gold: Sequence[Sequence[int]], found: Sequence[Sequence[int]]) -> float:
    shares = [len({*a} & {*b}) / len(a) for a, b in zip(gold, found, strict=True)]
    return sum(shares) / len(shares)


def _resident() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1000
    return 0


def _show(figures: Sequence[Measured]) -> None:
    heads = (
        "memories | exact p50 / p95 ms | approximate p50 / p95 ms | recall@10 dense | final | "
        "in other words | index MB | made in s | RSS MB without / with | cold start s"
    )
    show_table(heads.split(" | "), map(_row, figures))
    console().print("\nrecall@10: what share of the ten best of exact search is found")


def _row(one: Measured) -> list[str]:
    return [
        f"{one.units:,}",
        _pair(one.exact),
        _pair(one.approximate),
        _share(one.dense),
        _share(one.final),
        _share(one.other_words),
        _or_dash(one.index / 1e6 or None, "{:.0f}"),
        _or_dash(one.built, "{:.0f}"),
        " / ".join(f"{value:,.0f}" for value in one.resident),
        f"{one.cold:.1f}",
    ]


def _pair(values: Sequence[float] | None) -> str:
    return "–" if values is None else " / ".join(f"{value:.1f}" for value in values)


def _share(value: float | None) -> str:
    return _or_dash(value, "{:.3f}")


def _or_dash(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)


if __name__ == "__main__":
    main()
