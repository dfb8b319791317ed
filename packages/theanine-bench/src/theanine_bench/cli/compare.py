"""Let several methods remember the same history, and show what each recalls, side by side."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theanine.cli.options import (
    RENAMED_OPTIONS as RENAMED_OPTIONS,
)
from theanine.cli.options import (
    BaseUrlOption,
    EmbedderOption,
    ModelOption,
    RerankedOption,
    RerankerOption,
    json_default,
    notify_if_local,
)
from theanine.cli.output import check_writable, progress, write_text
from theanine.cli.rendering import console, pluralize, show_table, visible

if TYPE_CHECKING:
    from theanine.types import History
    from theanine_bench.datasets.questions import UserQuestion
    from theanine_bench.tasks.comparison import Answer, Column, Comparison, Entrant, With

PLAIN = "theanine,memory-retrieval,exchange,full-history,no-memory"
QUESTIONS = 20
LINES = 4
"""Lines of a recollection that the terminal shows; ``--html`` and ``--json`` have all of it."""
WIDTH = 160

DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FILE",
        help="A history, in any format that `import` takes, or a store; else a bundled one.",
    ),
]
MethodsOption = Annotated[
    str,
    typer.Option(
        "--methods",
        metavar="A,B,C",
        help="The methods. LABEL=METHOD names one, to compare it with other settings of its own.",
    ),
]
QuestionsOption = Annotated[
    Path | None,
    typer.Option(
        "--questions",
        metavar="FILE",
        help="What is asked: one a line, or JSON; else the data's own questions, or its turns.",
    ),
]
LimitOption = Annotated[
    int, typer.Option("--limit", min=1, metavar="N", help="At most so many, evenly spread.")
]
BudgetOption = Annotated[
    int | None,
    typer.Option("--budget", min=0, metavar="TOKENS", help="Most that each may give back."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="[LABEL.]NAME=VALUE",
        help="A setting of all methods, such as paper=true, or of one: theanine.retrieved=5.",
    ),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write one self-contained page to read it on."),
]
JsonFile = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write all of it as JSON.")
]


def compare(
    data: DataOption = None,
    methods: MethodsOption = PLAIN,
    questions: QuestionsOption = None,
    limit: LimitOption = QUESTIONS,
    budget: BudgetOption = None,
    settings: SetOption = None,
    model: ModelOption = "local",
    base_url: BaseUrlOption = None,
    embedder: EmbedderOption = "local",
    reranker: RerankerOption = None,
    reranked: RerankedOption = None,
    html: HtmlOption = None,
    json_: JsonFile = None,
) -> None:
    """Let several methods remember the same history, and show what each recalls, side by side.

    With tokens, model calls, money, time and disk. Each method gets a store of its own that is
    gone afterwards; yours is not touched. Data without questions is asked as it was talked: before
    each session but the first is remembered, the last thing that a user says in it.

    \b
    theanine compare
    theanine compare --data memory.db --methods theanine,secom
    theanine compare --data locomo10.json --methods theanine,exchange,session --html compared.html
    theanine compare --data talks.jsonl --questions questions.txt --model openai:gpt-4o-mini
    theanine compare --methods theanine,raw=theanine --set raw.refine=false
    """
    from theanine.demo import HARBOUR
    from theanine.retrieval.rerank import DEFAULT_RERANK_DEPTH
    from theanine_bench.datasets.questions import read_questions
    from theanine_bench.tasks.comparison import With

    if data is None:
        data = HARBOUR
        questions = questions or HARBOUR.with_name("questions.json")
    entrants = _entrants(methods, settings or [])
    for file in filter(None, (html, json_)):
        check_writable(file)
    histories, asked = read_questions(data, questions, limit)
    notify_if_local(model, base_url)
    common = With(
        model=model, base_url=base_url, embedder=embedder, budget=budget,
        reranker=reranker, reranked=reranked or DEFAULT_RERANK_DEPTH,
    )  # fmt: skip
    found = _compared(entrants, histories, asked, common)
    _report(found, data, html, json_)
    if not all(column.complete for column in found.columns):
        raise typer.Exit(1)


def _compared(
    entrants: Sequence[Entrant],
    histories: Sequence[History],
    asked: Sequence[UserQuestion],
    common: With,
) -> Comparison:
    from theanine_bench.tasks.compare import compare_methods

    steps = sum(len(history.transcripts) for history in histories) + len(asked)
    with progress(steps * len(entrants)) as step:
        return compare_methods(entrants, histories, asked, common, step)


def _report(found: Comparison, data: Path, html: Path | None, json_: Path | None) -> None:
    if json_ is not None:
        write_text(
            json_, json.dumps(asdict(found), default=json_default, ensure_ascii=False, indent=2)
        )
    if html is not None:
        from theanine_bench.report import compare_page

        write_text(html, compare_page(found, title=data.name))
    _show(found)
    for file in filter(None, (html, json_)):
        console().print(f"wrote {file}", markup=False)


def _entrants(methods: str, settings: Sequence[str]) -> list[Entrant]:
    """The methods with their settings. Raises SettingsError for what makes no sense."""
    from theanine.errors import SettingsError
    from theanine.methods.registry import open_method
    from theanine_bench.tasks.comparison import Entrant

    named = [one.strip().partition("=") for one in methods.split(",") if one.strip()]
    labels = [label for label, _, _ in named]
    if not labels:
        raise SettingsError("--methods names none: give some, such as theanine,exchange")
    if len(set(labels)) < len(labels):
        raise SettingsError(
            f"--methods {methods!r}: name each once, or give the second a label of its own, such "
            "as theanine,raw=theanine"
        )
    chosen: dict[str, dict[str, object]] = {label: {} for label in labels}
    for setting in settings:
        place, equals, value = setting.partition("=")
        label, dot, name = place.rpartition(".")
        if not equals or (dot and label not in chosen):
            raise SettingsError(
                f"--set {setting}: write NAME=VALUE for all, or LABEL.NAME=VALUE for one of "
                f"{', '.join(labels)}"
            )
        for each in [label] if dot else labels:
            chosen[each][name] = value
    entrants = [
        Entrant(label=label, method=method or label, settings=chosen[label])
        for label, _, method in named
    ]
    for entrant in entrants:
        open_method(entrant.method, entrant.settings or None)
    return entrants


def _show(found: Comparison) -> None:
    console().print(
        f"{pluralize(found.said, 'turns')} in {pluralize(found.sessions, 'sessions')}, "
        f"{pluralize(len(found.questions), 'questions')}; "
        f"the log alone takes {found.log / 1000:.0f} kB"
    )
    rows = ([column.label, *(value(column) for _, value in MEASURES)] for column in found.columns)
    show_table(["", *(name for name, _ in MEASURES)], rows)
    console().print(LEGEND, style="dim")
    for place, question in enumerate(found.questions):
        console().print(f"\nQ  {question.text}", style="bold", markup=False)
        if question.answer:
            console().print(f"   {question.answer}", style="green", markup=False)
        for column in found.columns:
            for line in _lines(column, column.answers[place]):
                console().print(line, markup=False)
    if found.unknown:
        named = pluralize(len(found.unknown), "sources of questions")
        left = f"{named} not in the data, left out: {', '.join(found.unknown)}"
        print(visible(left), file=sys.stderr)
    for column in found.columns:
        for where, why in column.failures.items():
            print(visible(f"{column.label}: {where} is not remembered: {why}"), file=sys.stderr)


def _lines(column: Column, answer: Answer) -> Iterator[str]:
    found = "" if answer.found is None else f", {answer.found:.0%} of the evidence"
    took = f"{pluralize(answer.tokens, 'tokens')}, {answer.seconds * 1000:.0f} ms"
    yield f"   {column.label}: {took}{found}"
    if answer.failure is not None:
        yield f"     failed: {answer.failure}"
    elif not answer.pieces:
        yield "     (nothing)"
    lines = [line for piece in answer.pieces for line in piece.text.splitlines()]
    for line in lines[:LINES]:
        yield f"     {line if len(line) <= WIDTH else line[:WIDTH].rstrip() + '…'}"
    if len(lines) > LINES:
        yield f"     … {pluralize(len(lines) - LINES, 'more lines')}"


def _money(column: Column) -> str:
    """What the model was paid for all of it."""
    cost = (column.remembering + column.recalling).cost
    return "unknown" if cost is None else f"${cost:.4f}"


def _found(column: Column) -> str:
    return "–" if column.found is None else f"{column.found:.0%}"


def _calls(column: Column) -> str:
    both = (column.remembering, column.recalling)
    failed = sum(spent.failed for spent in both)
    return " + ".join(str(spent.calls) for spent in both) + (f", {failed} failed" if failed else "")


def _tokens(column: Column) -> str:
    usage = column.remembering + column.recalling
    return f"{usage.input_tokens:,} + {usage.output_tokens:,}"


MEASURES: Sequence[tuple[str, Callable[[Column], Any]]] = (
    ("memories", lambda column: column.memories),
    ("links", lambda column: column.links),
    ("failed", lambda column: len(column.failures)),
    ("given back", lambda column: f"{column.tokens:.0f}"),
    ("evidence", _found),
    ("remember", lambda column: f"{column.remember_seconds:.2f} s"),
    ("recall", lambda column: f"{column.recall_seconds * 1000:.1f} ms"),
    ("calls", _calls),
    ("tokens", _tokens),
    ("money", _money),
    ("disk", lambda column: f"{column.disk / 1000:.0f} kB"),
)
"""What is shown of each method, and how."""

LEGEND = (
    "failed: sessions not remembered; given back: tokens for a question; evidence: of the labelled "
    "turns, those that came back; calls: of the model, to remember + to recall; tokens: to the "
    "model + from it"
)
