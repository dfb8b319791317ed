"""The options that every bench with runs has, written once."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, cast, get_type_hints

import typer

from theanine.cli.options import (
    BaseUrlOption,
    EmbedderOption,
    JsonOption,
    ModelOption,
    SettingsOption,
)

TestedOption = Annotated[
    str,
    typer.Option(
        "--method",
        envvar="THEANINE_METHOD",
        metavar="NAME",
        help="The method that is tested: theanine, secom, exchange and others; see docs/methods.",
    ),
]
JudgeOption = Annotated[
    str,
    typer.Option(
        "--judge",
        envvar="THEANINE_JUDGE",
        metavar="NAME",
        help="The judging model, such as openai:gpt-4o; `local` leaves out what needs a judge.",
    ),
]
JudgeUrlOption = Annotated[
    str | None,
    typer.Option(
        "--judge-base-url",
        envvar="THEANINE_JUDGE_BASE_URL",
        metavar="URL",
        help="An OpenAI-compatible server for the judge.",
    ),
]
RunOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FOLDER",
        help="The run's folder; else one in `runs` that the settings name. The same again goes on.",
    ),
]
LimitOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Only so many cases, evenly spread.")
]
ConcurrencyOption = Annotated[
    int, typer.Option(min=1, metavar="N", help="Cases, and model calls, at once.")
]
MoneyOption = Annotated[
    float | None,
    typer.Option("--max-cost", min=0.0, metavar="DOLLARS", help="Begin no case beyond this."),
]
ReplayOption = Annotated[
    bool,
    typer.Option("--replay", help="Do the run again from its journal, with no model, and compare."),
]
SeedOption = Annotated[int, typer.Option(metavar="N", help="Of whatever the method draws.")]
TokensOption = Annotated[
    int | None, typer.Option("--budget", min=0, metavar="N", help="Tokens of each recollection.")
]

NO_OPTION = {"option": False}
"""Marks the field that holds the whole command as it was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingOptions:
    """Which judge, and how the run goes, where no agent is asked."""

    judge: JudgeOption = "local"
    judge_base_url: JudgeUrlOption = None
    limit: LimitOption = None
    out: RunOption = None
    concurrency: ConcurrencyOption = 8
    max_cost: MoneyOption = None
    replay: ReplayOption = False
    as_json: JsonOption = False
    command: str = field(default="", metadata=NO_OPTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Which agent, which judge, and how the run goes."""

    method: TestedOption = "theanine"
    settings: SettingsOption = None
    model: ModelOption = "local"
    base_url: BaseUrlOption = None
    embedder: EmbedderOption = "local"
    budget: TokensOption = None
    judge: JudgeOption = "local"
    judge_base_url: JudgeUrlOption = None
    seed: SeedOption = 0
    limit: LimitOption = None
    out: RunOption = None
    concurrency: ConcurrencyOption = 8
    max_cost: MoneyOption = None
    replay: ReplayOption = False
    as_json: JsonOption = False
    command: str = field(default="", metadata=NO_OPTION)


def with_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of its parameter ``options`` as options behind its own."""
    own_hints = get_type_hints(command, include_extras=True)
    kind: type[RunOptions | JudgingOptions] = own_hints["options"]
    hints = get_type_hints(kind, include_extras=True)
    own = [
        parameter.replace(annotation=own_hints.get(name))
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "options"
    ]
    shared = [_parameter(one, hints[one.name]) for one in fields(kind) if not one.metadata]
    named = [one.name for one in shared]
    keyword = inspect.Parameter.KEYWORD_ONLY
    context = inspect.Parameter("context", keyword, annotation=typer.Context)

    @wraps(command)
    def called(**given: Any) -> None:
        told = again(given.pop("context"))
        options = kind(**{name: given.pop(name) for name in named}, command=told)
        command(**given, options=options)

    called.__signature__ = inspect.Signature([*own, *shared, context])  # pyright: ignore[reportAttributeAccessIssue]  # what typer reads
    called.__annotations__ = {p.name: p.annotation for p in [*own, *shared, context]}
    return called


def again(context: typer.Context) -> str:
    """The command that is under way, with what the environment gave it, as one types it."""
    words = context.command_path.split()
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is None or source.name.startswith("DEFAULT"):
            continue
        given = context.params[parameter.name or ""]
        values = cast("list[object]", given if isinstance(given, list | tuple) else [given])
        option = max(parameter.opts, key=len)
        for value in values:
            if parameter.param_type_name == "argument":
                words.append(str(value))
            else:
                words += [option] if value is True else [option, str(value)]
    return shlex.join(words)


def _parameter(one: Field[Any], annotation: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if one.default is MISSING else one.default
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(one.name, kind, default=default, annotation=annotation)
