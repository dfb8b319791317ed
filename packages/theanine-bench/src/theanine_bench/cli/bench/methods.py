"""Compare all methods on histories with known answers, in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import anyio
import typer

from theanine.cli.options import EmbedderOption, JsonOption, show_json
from theanine.cli.rendering import console, show_table
from theanine.cli.text import pluralize
from theanine.llm.limits import Limits
from theanine.llm.open import open_chat
from theanine.types import LOCAL_MODEL
from theanine_bench.cli.run_options import (
    JudgeOptions,
    MethodsOption,
    TargetModelOptions,
    parse_model_settings,
    run_command,
)
from theanine_bench.datasets.asked import AskedHistory, read_asked
from theanine_bench.runs.journal import journalled_chat
from theanine_bench.runs.task import JUDGE_SCOPE
from theanine_bench.samples import spread
from theanine_bench.statistics.intervals import Interval
from theanine_bench.tasks.asked import (
    TOLD,
    Judged,
    MethodCost,
    ask_histories,
    judge_told,
    measure,
)
from theanine_bench.tasks.compare import ComparedMethod
from theanine_bench.tasks.evidence import ALL, parse_methods

LEGEND = (
    "found: share of the right turns that come back; precision: share of the turns that come back "
    "that are right; holds: of a state that changed, the one that holds comes before any outdated "
    "one; outdated: an outdated one comes alone; never: nothing comes back where the answer was "
    "never said; lost: nothing comes back though it was said; tokens: of a recollection; ms: CPU "
    "time of a recall, the median. Where a model is asked: pending, the share of the sessions "
    "that are not remembered, as no reply for them or for one before could be used; fell back, the "
    "share of sessions and recalls of which a step did without the model for that; calls and "
    "tokens, to remember a session and for a recall. Where a model judges: told, the recollection "
    "tells the answer, in whatever words, and lets what holds appear as such; misled: of a state "
    "that changed, it tells only an outdated one, or as if it held."
)
_Row = dict[str, Any]


@run_command
def methods(
    data: Annotated[
        list[Path],
        typer.Argument(metavar="DATA…", help="Files or folders of histories with questions."),
    ],
    methods: MethodsOption = ALL,
    budget: Annotated[
        int, typer.Option(min=0, metavar="N", help="Maximum tokens of a recollection.")
    ] = 600,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Use at most N histories of each DATA, evenly spaced."
        ),
    ] = None,
    *,
    models: TargetModelOptions,
    judge: JudgeOptions,
    embedder: EmbedderOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Compare all methods on histories with known answers, in one table.

    What comes back, how much of it is right, whether it holds now, what is returned where nothing
    was said, and what that costs. Each history has a store of its own.

    \b
    theanine bench methods corpus/diaries_report.jsonl corpus/changes_report.jsonl --limit 20
    theanine bench methods diaries.jsonl --methods theanine,secom --model openai:gpt-4o-mini
    theanine bench methods diaries.jsonl --model openai:gpt-4o-mini --judge openai:gpt-4o
    """
    compared = parse_methods(methods)
    histories = [each for path in data for each in spread(read_asked(path), limit)]
    chosen = models.client_options()
    judges = judge.judge != LOCAL_MODEL
    rows: dict[str, _Row] = {}
    for one in compared:
        judged, cost = anyio.run(_ask, one, histories, budget, embedder, chosen)
        if judges:
            judged = anyio.run(_judge, judged, judge, chosen["limits"])
        rows[one.label] = _row(judged, cost, asks_model=models.asks_model)
        if judges:
            rows[one.label] = {**measure(judged, TOLD), **rows[one.label]}
    if as_json:
        show_json(rows)
        return
    questions = sum(len(history.questions) for history in histories)
    console().print(
        f"\n{pluralize(questions, 'questions')} on {pluralize(len(histories), 'histories')}",
        style="bold",
        markup=False,
    )
    columns = list(next(iter(rows.values())))
    show_table(["", *columns], [[name, *map(_cell, row.values())] for name, row in rows.items()])
    console().print(LEGEND, style="dim", markup=False)


async def _ask(
    one: ComparedMethod,
    histories: Sequence[AskedHistory],
    budget: int,
    embedder: str,
    models: dict[str, Any],
) -> tuple[list[Judged], MethodCost]:
    cost = MethodCost()
    asked = ask_histories(
        [_within(history, budget) for history in histories],
        one.method,
        embedder=embedder,
        config=one.settings or None,
        models=models,
        cost=cost,
    )
    return [each async for each in asked], cost


async def _judge(judged: Sequence[Judged], judge: JudgeOptions, limits: Limits) -> list[Judged]:
    model = open_chat(
        judge.judge,
        base_url=judge.judge_base_url,
        settings=parse_model_settings(judge.judge_settings, "--judge-set"),
    )
    if model is None:
        return [*judged]
    with TemporaryDirectory() as folder:
        journal = Path(folder) / "judge.db"
        async with journalled_chat(journal, model, JUDGE_SCOPE, limits=limits) as chat:
            return await judge_told(judged, chat)


def _within(history: AskedHistory, budget: int) -> AskedHistory:
    """Return a history whose questions have a budget, unless they say otherwise."""
    questions = [
        replace(question, options={"budget": budget, **question.options})
        for question in history.questions
    ]
    return replace(history, questions=tuple(questions))


def _row(judged: Sequence[Judged], cost: MethodCost, *, asks_model: bool) -> _Row:
    """Return a method's figures by column; None where no question counts."""
    row: _Row = {**measure(judged)}
    row["tokens"] = fmean(each.tokens for each in judged) if judged else None
    row["ms"] = 1_000 * median(cost.recalls) if cost.recalls else None
    if asks_model:
        row["pending"] = cost.pending / cost.sessions if cost.sessions else None
        row["fell back"] = cost.fell_back / (cost.sessions + len(cost.recalls))
        for name, usage, times in (
            ("a session", cost.remembering, cost.sessions),
            ("a recall", cost.recalling, len(cost.recalls)),
        ):
            calls = usage.calls + usage.replayed
            tokens = usage.input_tokens + usage.output_tokens
            row[f"calls {name}"] = calls / times if times else None
            row[f"tokens {name}"] = tokens / times if times else None
    return row


def _cell(value: Interval | float | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, Interval):
        return f"{value.mean:.2f} ±{(value.high - value.low) / 2:.2f}"
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"
