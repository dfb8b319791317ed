"""Run all that fills a table of the papers, and print it with the runs' rows."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from theanine.cli.app import app
from theanine.cli.options import (
    BaseUrlOption,
    MemoryBaseUrlOption,
    MemoryModelOption,
    ModelOption,
)
from theanine.cli.rendering import show_table
from theanine.cli.text import pluralize
from theanine.errors import SettingsError
from theanine_bench.analysis.reproduction import (
    STATES,
    Inputs,
    Recipe,
    cell_states,
    table_recipe,
)
from theanine_bench.analysis.tables import Table, load_tables, run_rows
from theanine_bench.cli.bench.tables import show_paper_table
from theanine_bench.metrics.neural import BERTSCORE, MAUVE
from theanine_bench.runs.folder import SUMMARY, RunFolder


def reproduce(
    table: Annotated[
        str | None,
        typer.Argument(metavar="[TABLE]", help="Name of a table (default: list them all)."),
    ] = None,
    *,
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Folder of the runs.")
    ] = Path("runs"),
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Use at most N samples in each run.")
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METHOD",
            help="Run a method of your own as well, on the same data; repeatable.",
        ),
    ] = None,
    prompts: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The papers' own prompts, as tools/published_prompts.py writes them.",
        ),
    ] = None,
    commands: Annotated[
        bool, typer.Option("--commands", help="Print the commands, and run nothing.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Setting of each method that has it, such as llmlingua_model=FOLDER; repeatable.",
        ),
    ] = None,
    bertscore: Annotated[
        str, typer.Option(metavar="FOLDER", help="Model of BERTScore, such as roberta-large.")
    ] = "",
    mauve: Annotated[
        str, typer.Option(metavar="FOLDER", help="Model of MAUVE, such as gpt2-large.")
    ] = "",
    model: ModelOption = "local",
    base_url: BaseUrlOption = None,
    memory_model: MemoryModelOption = None,
    memory_base_url: MemoryBaseUrlOption = None,
    embedder: Annotated[
        str | None,
        typer.Option(
            envvar="THEANINE_EMBEDDER",
            metavar="NAME",
            help="Embedding model in place of the paper's; `local` is bundled.",
        ),
    ] = None,
    judge: Annotated[
        str,
        typer.Option(
            envvar="THEANINE_JUDGE",
            metavar="NAME",
            help="Judging model, such as openai:gpt-4o; `local` leaves out what needs one.",
        ),
    ] = "local",
    judge_base_url: Annotated[
        str | None,
        typer.Option(
            envvar="THEANINE_JUDGE_BASE_URL",
            metavar="URL",
            help="OpenAI-compatible server for the judge.",
        ),
    ] = None,
) -> None:
    """Run all that fills a table of the papers, and print it with the runs' rows.

    Each row of a method of ours is a run with the paper's settings, in a folder of its own. The
    same command resumes the runs; finished ones are not repeated, and tables share them. What
    differs from the paper is printed below the table, and the calls and tokens of all at the end:
    begin with a small --limit. docs/reproducing.md has every table. Without a TABLE, all are listed
    with how many of their figures are reproduced, in part, or not possible.

    \b
    theanine bench reproduce
    theanine bench reproduce theanine-msc --model openai:gpt-4o-mini --limit 20
    theanine bench reproduce theanine-msc --model openai:gpt-4o-mini --limit 20 --also my-method
    theanine bench reproduce secom-mistral --base-url http://localhost:8000/v1 --commands
    """
    if table is None:
        if commands or limit or also or prompts or settings or bertscore or mauve:
            raise SettingsError("name the table to reproduce; without options, all are listed")
        _list_tables()
        return
    found = load_tables([table])[0]
    given = {"model": model}
    optional = {
        "embedder": embedder,
        "base-url": base_url,
        "memory-model": memory_model,
        "memory-base-url": memory_base_url,
        "judge-base-url": judge_base_url,
        "limit": limit,
    }
    given |= {name: str(value) for name, value in optional.items() if value is not None}
    neural = {name: path for name, path in ((BERTSCORE, bertscore), (MAUVE, mauve)) if path}
    inputs = Inputs(
        out=out,
        judge=judge,
        settings=settings or (),
        neural=neural,
        options=given,
        also=also or (),
        prompts=prompts,
    )
    recipe = table_recipe(found, inputs)
    incomplete = 0
    for words in recipe.commands:
        print(f"$ {shlex.join(['theanine', *words])}", flush=True)
        if commands:
            continue
        if _finished(RunFolder(Path(words[-1]))):
            print("finished before")
        else:
            incomplete += bool(_run(words))
    if commands:
        for reason in recipe.deviations:
            print(f"# run in part, because {reason}")
        return
    _show(found, recipe)
    if incomplete:
        print(f"{pluralize(incomplete, 'runs')} not complete: the same command resumes them")
        raise typer.Exit(1)


def _list_tables() -> None:
    """Print every table with the states of its figures, and their counts."""
    total = Counter[str]()
    rows: list[list[object]] = []
    for table in load_tables():
        counts = Counter(state for state, _ in cell_states(table))
        total += counts
        rows.append([table.id, f"{table.paper}, {table.location}", *_counts(counts)])
    rows.append(["all", "", *_counts(total)])
    show_table(["table", "of", "figures", *STATES], rows)


def _counts(counts: Counter[str]) -> list[int]:
    return [counts.total(), *(counts[state] for state in STATES)]


def _show(table: Table, recipe: Recipe) -> None:
    """Print the table with the rows of the runs, how they differ from the paper, and their cost."""
    folders = list(map(RunFolder, recipe.runs))
    rows, hints = run_rows(table, [(run.settings(), run.summary()) for run in folders])
    show_paper_table(table, rows, hints)
    for reason in recipe.deviations:
        print(f"run in part, because {reason}")
    for purpose, spent in _total(recipe).items():
        tokens = f"{pluralize(spent['input_tokens'], 'tokens')} in, {spent['output_tokens']:,} out"
        print(f"{purpose}: {pluralize(spent['calls'], 'calls')}, {tokens}")
    if recipe.omitted:
        print(f"not run, as no method of ours is the paper's: {', '.join(recipe.omitted)}")


def _finished(run: RunFolder) -> bool:
    """Return whether a run has all its results; a folder is named after its command."""
    if not (run.path / SUMMARY).is_file():
        return False
    summary = run.summary()
    return summary["done"] == summary["samples"] and not summary["failures"]


def _total(recipe: Recipe) -> dict[str, Counter[str]]:
    """Return the calls and tokens of all runs, by purpose."""
    total: dict[str, Counter[str]] = {}
    for words in recipe.commands:
        run = RunFolder(Path(words[-1]))
        if (run.path / SUMMARY).is_file():
            for purpose, spent in run.summary()["spent"].items():
                counts = {key: spent[key] for key in ("calls", "input_tokens", "output_tokens")}
                total.setdefault(purpose, Counter()).update(counts)
    return total


def _run(words: tuple[str, ...]) -> int:
    """Run a command in this process; return its exit code. Raises TheanineError."""
    code = app(list(words), prog_name="theanine", standalone_mode=False)
    return code if isinstance(code, int) else 0
