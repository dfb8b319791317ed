"""Measure how precise recall is, on PrecisionMemBench."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

import theanine
from theanine.cli.options import EmbedderOption, JsonOption, show_json
from theanine.cli.rendering import console, show_table
from theanine.errors import SettingsError
from theanine_bench.cli.asked import DEFAULT
from theanine_bench.cli.run_options import TargetModelOptions, run_command
from theanine_bench.datasets.precision import PrecisionBench, ScoredCase
from theanine_bench.statistics.intervals import mean_interval
from theanine_bench.tasks.compare import ComparedMethod
from theanine_bench.tasks.evidence import parse_methods

_SETTINGS: Mapping[str, Mapping[str, Any]] = {"default": {}, "relevance .3": {"min_relevance": 0.3}}


@run_command
def precision(
    data: Annotated[Path, typer.Argument(metavar="FOLDER", help="PrecisionMemBench's fixtures.")],
    method: Annotated[
        str, typer.Option(metavar="NAME", help="The method, with settings as in A:b=c.")
    ] = DEFAULT,
    *,
    models: TargetModelOptions,
    embedder: EmbedderOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Measure how precise recall is, on PrecisionMemBench.

    Precision and recall are means over its cases, by its own scoring; active: cases that pass with
    something to be found, and get exactly that.

    \b
    theanine bench precision precisionMemBench/fixtures
    theanine bench precision FOLDER --method theanine:select=model --model openai:gpt-4o-mini
    """
    bench = PrecisionBench(data)
    methods = parse_methods(method)
    if len(methods) != 1:
        raise SettingsError(f"--method must name one method, not {method!r}")
    scored = anyio.run(_score, bench, methods[0], embedder, models.client_options())
    if as_json:
        show_json({name: _figures(cases) for name, cases in scored.items()})
        return
    rows = [
        [name, len(cases), *(mean_interval(values) for values in _values(cases)),
         sum(case.is_active for case in cases), sum(case.passed for case in cases)]
        for name, cases in scored.items()
    ]  # fmt: skip
    console().print("\nPrecisionMemBench, retrieval cases", style="bold")
    show_table(["", "cases", "precision", "recall", "active", "passed"], rows)


def _values(cases: list[ScoredCase]) -> tuple[list[float], list[float]]:
    return (
        [case.precision for case in cases if case.precision is not None],
        [case.recall for case in cases if case.recall is not None],
    )


def _figures(cases: list[ScoredCase]) -> dict[str, float]:
    precisions, recalls = _values(cases)
    return {
        "precision": mean_interval(precisions).mean,
        "recall": mean_interval(recalls).mean,
        "active": sum(case.is_active for case in cases),
        "passed": sum(case.passed for case in cases),
    }


async def _score(
    bench: PrecisionBench, one: ComparedMethod, embedder: str, models: Mapping[str, Any]
) -> dict[str, list[ScoredCase]]:
    ids = {bench.text(belief): belief["_id"] for belief in bench.beliefs}
    with tempfile.TemporaryDirectory() as folder:
        async with theanine.aopen(
            Path(folder) / "memory.db",
            method=one.method,
            config=one.settings or None,
            embedder=embedder,
            **models,
        ) as client:
            for belief in bench.beliefs:
                user = client.user(belief["user_id"])
                await user.add(bench.text(belief), metadata={"scope": belief["scope"][0]})
            result: dict[str, list[ScoredCase]] = {}
            for name, options in _SETTINGS.items():

                async def search(
                    user: str, query: str, scope: str, options: Mapping[str, Any] = options
                ) -> list[str]:
                    found = await client.user(user).recall(query, where={"scope": scope}, **options)
                    parts = sorted(found.parts, key=lambda part: -(part.relevance or 0))
                    return [ids[turn.text] for part in parts for turn in part.source_turns]

                result[name] = [await bench.score(case, search) for case in bench.cases]
            return result
