"""Options of the commands that run a task."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from theanine.cli.options import (
    BaseUrlOption,
    EmbedderOption,
    JsonOption,
    MemoryBaseUrlOption,
    MemoryModelOption,
    MemorySettingsOption,
    ModelOption,
    ModelSettingsOption,
    SettingsOption,
    TimeoutOption,
    expand_options,
    parse_settings,
)
from theanine.errors import SettingsError
from theanine.llm.limits import Limits
from theanine.llm.settings import ModelSettings
from theanine_bench.datasets.registry import resolve_data_path

DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="Name of a data set, such as locomo (see `bench data`), or a path."
    ),
]
DataSetsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA…", help="Names of data sets, such as locomo (see `bench data`), or paths."
    ),
]
MetricsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="Metric or judge, such as f1 or gpt4score (default: the bench's own); repeatable.",
    ),
]
HistoriesOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Use at most N histories or episodes, evenly spaced."),
]
AnswersOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Corrected answer key: its answers count, and questions that it rejects are dropped.",
    ),
]
TemporaryOutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FOLDER",
        help="The run's folder; the same command resumes the run in it (default: the run is only "
        "kept if a model is called).",
    ),
]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write the run's page there.")
]
CostOption = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        min=0.0,
        metavar="DOLLARS",
        help="Start no samples after spending this much.",
    ),
]
ReplayOption = Annotated[
    bool,
    typer.Option("--replay", help="Repeat the run from its journal, without a model, and compare."),
]
PromptsOption = Annotated[
    Path | None,
    typer.Option(
        "--prompts",
        metavar="FOLDER",
        help="Prompts in place of ours, in files named by step and version, such as respond.v1.md.",
    ),
]
MethodsOption = Annotated[
    str,
    typer.Option(
        "--methods",
        metavar="A,B,C",
        help="Methods, with settings as in theanine:timelines=false; or all.",
    ),
]
BudgetOption = Annotated[
    int | None,
    typer.Option("--budget", min=0, metavar="N", help="Maximum tokens of a recollection."),
]


@dataclass(frozen=True, kw_only=True)
class TargetModelOptions:
    """Options of the models of a target that remembers."""

    model: ModelOption = "local"
    base_url: BaseUrlOption = None
    model_settings: ModelSettingsOption = None
    memory_model: MemoryModelOption = None
    memory_base_url: MemoryBaseUrlOption = None
    memory_settings: MemorySettingsOption = None
    timeout: TimeoutOption = None

    @property
    def asks_model(self) -> bool:
        """Whether a language model is named."""
        urls = self.base_url, self.memory_base_url
        return any(urls) or {self.model, self.memory_model or "local"} != {"local"}

    def model_config(self) -> dict[str, Any]:
        """Return the fields of a run's configuration. Raises SettingsError."""
        return {
            "model": self.model,
            "base_url": self.base_url,
            "model_settings": parse_model_settings(self.model_settings, "--model-set"),
            "memory_model": self.memory_model,
            "memory_base_url": self.memory_base_url,
            "memory_settings": parse_model_settings(self.memory_settings, "--memory-set"),
        }

    def client_options(self) -> dict[str, Any]:
        """Return the options of :func:`theanine.aopen` for these models. Raises SettingsError."""
        chosen = {name: value for name, value in self.model_config().items() if value is not None}
        return {**chosen, "limits": Limits().with_timeout(self.timeout)}


def parse_model_settings(settings: list[str] | None, option: str) -> dict[str, Any] | None:
    """Return the settings with their types, so that equal ones are equal in a run's record.

    Raises SettingsError.
    """
    values = parse_settings(settings or [], option)
    if values is None:
        return None
    parsed = asdict(ModelSettings.parse(values))
    return {name: parsed[name] for name in sorted(values)}


@dataclass(frozen=True, kw_only=True)
class TargetOptions(TargetModelOptions):
    """Options of the target of a run."""

    method: Annotated[
        str,
        typer.Option(
            "--method",
            envvar="THEANINE_METHOD",
            metavar="NAME",
            help="Memory method to test: theanine, secom, exchange and others, see docs/methods.",
        ),
    ] = "theanine"
    settings: SettingsOption = None
    embedder: EmbedderOption = "local"
    budget: BudgetOption = None
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed of the method.")] = 0


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Options of the judging model."""

    judge: Annotated[
        str,
        typer.Option(
            "--judge",
            envvar="THEANINE_JUDGE",
            metavar="NAME",
            help="Judging model, such as openai:gpt-4o; `local` leaves out metrics that need one.",
        ),
    ] = "local"
    judge_base_url: Annotated[
        str | None,
        typer.Option(
            "--judge-base-url",
            envvar="THEANINE_JUDGE_BASE_URL",
            metavar="URL",
            help="OpenAI-compatible server for the judge.",
        ),
    ] = None
    judge_settings: Annotated[
        list[str] | None,
        typer.Option(
            "--judge-set",
            metavar="NAME=VALUE",
            help="Setting of the judging model, such as temperature=0.7; repeatable.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class JudgingOptions(JudgeOptions):
    """Options of a command that scores existing answers."""

    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Use at most N samples, evenly spaced.")
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="The run's folder (default: one in `runs`, named after the settings). The same "
            "command resumes the run in it.",
        ),
    ] = None
    concurrency: Annotated[
        int, typer.Option(min=1, metavar="N", help="Samples, and model calls, at once.")
    ] = 8
    max_cost: CostOption = None
    prompts: PromptsOption = None
    timeout: TimeoutOption = None
    replay: ReplayOption = False
    as_json: JsonOption = False


@dataclass(frozen=True, kw_only=True)
class RunOptions(JudgingOptions, TargetOptions):
    """Options of a command that runs a target and scores its answers."""


def resolve_data(data: Sequence[Path]) -> dict[str, Path]:
    """Return the paths of data sets by their names, or by the last parts of given paths.

    Raises SettingsError for two of one name, and like :func:`resolve_data_path`.
    """
    named = {path.resolve().stem if path.exists() else str(path): path for path in data}
    if len(named) < len(data):
        raise SettingsError("two data sets have the same name: name each once")
    return {name: resolve_data_path(path) for name, path in named.items()}


_COMMAND_LINE: ContextVar[str] = ContextVar("command_line", default="")


def run_command(command: Callable[..., None]) -> Callable[..., None]:
    """Expand a command's groups of options, and record its command line for the run."""
    expanded = expand_options(command)
    parameters = inspect.signature(expanded).parameters.values()
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

    @wraps(expanded)
    def recorded(**values: Any) -> None:
        _COMMAND_LINE.set(_format_command(values.pop("context")))
        expanded(**values)

    recorded.__signature__ = inspect.Signature([*parameters, context])  # pyright: ignore[reportAttributeAccessIssue]  # typer reads it
    recorded.__annotations__ = {**expanded.__annotations__, "context": typer.Context}
    return recorded


def command_line() -> str:
    """Return the command line of the current :func:`run_command`; empty outside of one."""
    return _COMMAND_LINE.get()


def _format_command(context: typer.Context) -> str:
    """Return the command with its arguments, and with options from the environment."""
    words = context.command_path.split()
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if source is None or source.name.startswith("DEFAULT"):
            continue
        value = context.params[name]
        option = max(parameter.opts, key=len)
        for each in cast("list[object]", value if isinstance(value, list | tuple) else [value]):
            if parameter.param_type_name != "argument":
                words.append(option)
            if each is not True:
                words.append(str(each))
    return shlex.join(words)
