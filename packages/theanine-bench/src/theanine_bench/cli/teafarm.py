"""Ask an agent questions that are wrong about its past, and count how often it is fooled."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from theanine.cli.options import BaseUrlOption, JsonOption, ModelOption, show_json
from theanine.cli.output import progress
from theanine.cli.rendering import console, pluralize, show_table
from theanine_bench.cli.run_options import RunOptions, run_command

if TYPE_CHECKING:
    from theanine.llm.base import ChatModel
    from theanine_bench.targets.external import HistoryMode
    from theanine_bench.teafarm.generate import GenerationResult
    from theanine_bench.teafarm.report import Report

teafarm = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Ask an agent questions that are wrong about its past, and count how often it is fooled.",
)

QuestionsFile = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="Questions that `make` wrote, or TeaBag as published."),
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="DATA", help="The sessions before, in any imported format."),
]
FromStore = Annotated[
    Path | None,
    typer.Option(
        "--store", metavar="FILE", help="The store with the sessions instead; it is only read."
    ),
]
MinOption = Annotated[
    float | None,
    typer.Option(
        "--min-success",
        min=0.0,
        max=1.0,
        metavar="SHARE",
        help="Exit with 1 when fewer of all questions are answered rightly, such as 0.9.",
    ),
]
AgentUrl = Annotated[
    str | None,
    typer.Option(
        "--agent-url",
        metavar="URL",
        help="Ask an agent of yours there, behind an OpenAI-compatible address, not ours.",
    ),
]
AgentModel = Annotated[
    str, typer.Option("--agent-model", metavar="NAME", help="What its requests name as the model.")
]
HistoryOption = Annotated[
    Literal["sent", "replayed", "none"],
    typer.Option(
        "--history",
        metavar="HOW",
        help="How it learns of the sessions before: sent with each request, replayed turn by turn "
        "beforehand (it has a memory of its own), or none (it has had them).",
    ),
]

TheseUsers = Annotated[
    list[str] | None,
    typer.Option("--user", metavar="NAME", help="Only this user; can be given several times."),
]
EachAsks = Annotated[
    int, typer.Option(min=1, metavar="N", help="Questions that each speaker asks.")
]
TemperatureOption = Annotated[
    float, typer.Option(min=0.0, metavar="T", help="Of the model; the paper's is 0.75.")
]


@teafarm.command()
def make(
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The file of questions to write.")
    ],
    data: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="A history in any imported format.")
    ] = None,
    store: FromStore = None,
    user: TheseUsers = None,
    questions: EachAsks = 1,
    temperature: TemperatureOption = 0.75,
    model: ModelOption = "local",
    base_url: BaseUrlOption = None,
) -> None:
    """Write counterfactual questions about any conversations, each with a session that leads to it.

    A question takes something false about the past for true. Edit the file as you like. The same
    command again adds what is missing and leaves the rest alone. Without a model the questions are
    left blank, each beside a memory, for you to fill in.

    \b
    theanine teafarm make talks.jsonl --model openai:gpt-4o --out questions.txt
    theanine teafarm make --store memory.db --user ana --model openai:gpt-4o --out questions.txt
    """
    import anyio

    from theanine.errors import SettingsError
    from theanine.llm.open import open_chat
    from theanine_bench.datasets.registry import resolve_data_path

    if (data is None) == (store is None):
        raise SettingsError("name either a history file or a store with --store")
    chat = open_chat(model, base_url=base_url, temperature=temperature)
    made = anyio.run(
        _make, out, data and resolve_data_path(data), store, user or [], chat, questions
    )
    blank = "" if chat else " to fill in: no language model is configured (--model)"
    _show_made(made, out, blank)


async def _make(
    out: Path,
    data: Path | None,
    store: Path | None,
    users: list[str],
    chat: ChatModel | None,
    many: int,
) -> Sequence[GenerationResult]:
    from theanine_bench.teafarm.generate import write_question_file

    histories = await _histories(data, store, users)
    with progress(len(histories), "questions") as step:
        return await write_question_file(
            histories,
            out,
            data=data,
            store=store,
            model=chat,
            per_speaker=many,
            progress=lambda _: step(),
        )


def _show_made(made: Sequence[GenerationResult], out: Path, blank: str) -> None:
    """How many questions were written, and who has none; exits with 1 where somebody has none."""
    written = sum(one.questions for one in made)
    print(f"{out}: {pluralize(written, 'questions')}{blank}")
    for one in made:
        if one.failure:
            print(f"{one.user}: none: {one.failure}", file=sys.stderr)
    if any(one.failure for one in made):
        raise typer.Exit(1)


async def _histories(data: Path | None, store: Path | None, users: list[str]) -> list[Any]:
    from theanine.errors import NotFound
    from theanine.importers import read_histories
    from theanine_bench.teafarm.sources import read_store_histories

    if data is None:
        return await read_store_histories(str(store), users)
    found = read_histories(data).histories
    known = [history.name for history in found]
    if strangers := [user for user in users if user not in known]:
        raise NotFound(f"{data} holds no {strangers[0]}; it has {', '.join(known[:10])}")
    return [history for history in found if not users or history.name in users]


@teafarm.command()
@run_command
def run(
    file: QuestionsFile,
    *,
    data: DataOption = None,
    store: FromStore = None,
    min_success: MinOption = None,
    agent_url: AgentUrl = None,
    agent_model: AgentModel = "agent",
    history: HistoryOption = "sent",
    options: RunOptions,
) -> None:
    """Ask the questions, and count how often the agent is not fooled.

    The agent knows the sessions before; the new session is played to it, then it is asked. A judge
    says Correct or Incorrect; without one, the questions' own phrases decide. Exits with 1 when it
    is not complete, or below --min-success.

    \b
    theanine teafarm run questions.txt --model openai:gpt-4o-mini --judge openai:gpt-4o
    theanine teafarm run questions.txt --store memory.db --min-success 0.9
    theanine teafarm run questions.txt --agent-url http://localhost:8000/v1 --judge openai:gpt-4o
    """
    import anyio

    from theanine_bench.cli.execution import run_and_show, run_config
    from theanine_bench.runs.runner import default_folder
    from theanine_bench.runs.task import open_models, run_settings

    known: HistoryMode | None = history if agent_url else None
    if agent_url:
        options = _of_outside(options, agent_url, agent_model, history)
    task = anyio.run(_farm, file, options, data, store, known)
    if options.out is None and not options.replay:
        setup = run_config(options)
        settings = run_settings(task, setup, open_models(setup))
        place = default_folder(task.bench, setup.method, settings).path
        options = replace(options, out=place)
    least = None if options.replay else min_success
    try:
        run_and_show(task, options, show=_show_run)
    except typer.Exit as left:
        if least is not None and left.exit_code == 1:  # it is said even so
            _hold(Path(str(options.out)), least)
        raise
    if least is not None:
        _hold(Path(str(options.out)), least)


def _of_outside(options: RunOptions, url: str, model: str, history: str) -> RunOptions:
    from theanine_bench.targets.external import EXTERNAL

    name = model if ":" in model else f"openai:{model}"
    settings = [f"history={history}"]
    return replace(options, method=EXTERNAL, model=name, base_url=url, settings=settings)


async def _farm(
    file: Path,
    options: RunOptions,
    data: Path | None,
    store: Path | None,
    known: HistoryMode | None,
) -> Any:
    from theanine_bench.datasets.registry import resolve_data_path
    from theanine_bench.teafarm.task import load_task

    return await load_task(
        resolve_data_path(file),
        judge=options.judge,
        data=data and resolve_data_path(data),
        store=None if store is None else str(store),
        limit=options.limit,
        history_mode=known,
    )


def _show_run(summary: dict[str, Any]) -> None:
    from theanine_bench.cli.execution import show_summary
    from theanine_bench.teafarm.metrics import SUCCESS_BY_RULE

    show_summary(summary)
    if SUCCESS_BY_RULE in summary["metrics"]:
        print("success by rule: the questions' own phrases decided, no judge read the replies")


def _hold(folder: Path, least: float) -> None:
    found = _read(folder)
    if found.success < least:
        print(
            f"{found.success:.3f} of all questions are answered rightly, and {least:g} is wanted; "
            f"`theanine teafarm report {folder}` shows the others",
            file=sys.stderr,
        )
        raise typer.Exit(1)


@teafarm.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    as_json: JsonOption = False,
) -> None:
    """Show a run: success beside the paper's, and each wrong answer with what was recalled.

    \b
    theanine teafarm report runs/teafarm-theanine-1a2b3c4d
    """
    found = _read(folder)
    if as_json:
        show_json(_as_json(found))
        return
    show_table(
        ["success", "mean", "95 %", "n", "unanswered", "unjudged"],
        (
            [
                line.name,
                f"{line.success.mean:.3f}" if line.success else "–",
                f"{line.success.low:.3f} – {line.success.high:.3f}" if line.success else "–",
                line.success.n if line.success else 0,
                line.unanswered,
                line.unjudged,
            ]
            for line in found.lines
        ),
    )
    console().print(f"\n{found}\n", markup=False, soft_wrap=True)
    _show_paper(found)


def _show_paper(found: Report) -> None:
    """The paper's table, with the run in it where its questions are of the same sets."""
    from theanine_bench.analysis.tables import Row, insert_rows, load_tables

    (table,) = load_tables(["teafarm"])
    sets = {line.name: line.success for line in found.data_sets}
    own = [sets.get(column.name) for column in table.columns]
    values = tuple(None if one is None else one.mean for one in own)
    rows = [Row(f"this run ({found.method})", found.method, values)] if any(own) else []
    print(f"{table.paper}, {table.location}: {table.description}")
    show_table(
        ["", *(column.name for column in table.columns)],
        ([row.label, *map(_figure, row.values)] for row in insert_rows(table, rows)),
    )


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _read(folder: Path) -> Report:
    from theanine.errors import BadInput
    from theanine_bench.runs.folder import RunFolder
    from theanine_bench.teafarm.report import Report

    place = RunFolder(folder)
    settings = place.settings()
    if settings["bench"] != "teafarm":
        raise BadInput(f"it holds a run of {settings['bench']}", str(folder))
    items = list(place.results().values())
    method = settings["config"]["method"]
    return Report(results=items, total=settings["samples"], folder=str(folder), method=method)


def _as_json(found: Report) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "success": found.success,
        "by_rule": found.by_rule,
        "questions": found.total,
        "lines": [asdict(line) for line in found.lines],
        "fooled": [item.record() for item in found.incorrect],
        "failed": [item.record() for item in found.errors],
    }
