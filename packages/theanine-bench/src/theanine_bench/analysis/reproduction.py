"""The commands whose runs fill a table of a paper (``papers/reproduce.toml``)."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from theanine.errors import SettingsError
from theanine.methods.registry import METHODS, method_class
from theanine.types import LOCAL_MODEL
from theanine_bench.analysis.tables import FOLDER, RUN_MEASURES, Row, Table
from theanine_bench.metrics.neural import NEURAL
from theanine_bench.metrics.registry import without_judges

RECIPES = "reproduce.toml"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "responses": ("bench", "responses"),
    "qa": ("bench", "qa"),
    "teafarm": ("teafarm", "run"),
    "segmentation": ("bench", "segmentation"),
}
"""The commands of the benches whose runs have answers."""
LACKS: Mapping[str, frozenset[str]] = {
    "generate": frozenset({"embedder", "judge", "judge-base-url"}),
    "examples": frozenset({"model", "base-url", "embedder", "judge", "judge-base-url", "limit"}),
    "segmentation": frozenset({"embedder", "judge", "judge-base-url"}),
    "pairwise": frozenset({"model", "base-url", "embedder"}),
}
"""The options of :class:`Inputs` that these commands lack."""
GOLDEN = "golden responses"
"""The method that stands for the references in the tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Choices of the user that the commands for the papers' tables need.

    Attributes:
        out: folder of the runs.
        settings: for each method that has them, such as ``llmlingua_model=models/llmlingua-2``.
        neural: folders of the models of BERTScore and MAUVE, by metric; without one, the metric is
            left out.
        options: further options of every command that has them, by name without dashes.
    """

    out: Path
    judge: str = LOCAL_MODEL
    settings: Sequence[str] = ()
    neural: Mapping[str, str] = field(default_factory=dict[str, str])
    options: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The commands that fill a table, in order, as words after ``theanine``.

    Attributes:
        runs: the folders of those that have rows in the table.
        omitted: the rows that no command fills.
    """

    commands: tuple[tuple[str, ...], ...]
    runs: tuple[Path, ...]
    omitted: tuple[str, ...]


def table_recipe(table: Table, inputs: Inputs) -> Recipe:
    """Return the commands that fill a table. Raises SettingsError for one that only people fill."""
    group, sets = _group(table)
    commands = [
        (*shlex.split(words.format(out=inputs.out)), *_given(words, inputs))
        for words in group.get("prepare", ())
    ]
    runs: list[Path] = []
    omitted: list[str] = []
    for row in table.rows:
        more: Mapping[str, Any] = group.get("rows", {}).get(row.label, {})
        settings = {**group.get("settings", {}), **row.settings, **more.get("settings", {})}
        row = replace(row, method=more.get("method", row.method), settings=settings)
        if not row.method and not more:
            omitted.append(row.label)
            continue
        for name in table.sets:
            data = sets.get(name) or f"conditional-{table.category}"
            for command, has_row in _row_commands(table, row, data, {**group, **more}, inputs):
                if command not in commands:
                    commands.append(command)
                if has_row and (folder := Path(command[-1])) not in runs:
                    runs.append(folder)
    return Recipe(commands=tuple(commands), runs=tuple(runs), omitted=tuple(omitted))


@cache
def _read_recipes() -> dict[str, Any]:
    return tomllib.loads((files("theanine_bench.analysis") / FOLDER / RECIPES).read_text("utf-8"))


def _group(table: Table) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Return the entry of a table, and the benches' names of the data sets."""
    recipes = _read_recipes()
    for group in recipes["group"]:
        if table.id in group["tables"]:
            return group, recipes["sets"]
    raise SettingsError(
        f"{table.id} is filled by people, not by a command: serve the forms with `theanine rate`"
    )


def _row_commands(
    table: Table, row: Row, data: str, more: Mapping[str, Any], inputs: Inputs
) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield the commands of a row, each with whether its run has a row in the table."""
    metrics = [column.measure.partition("/")[0] for column in table.columns]
    if table.bench != "pairwise":
        yield _answer(table.bench, row, data, metrics, more, inputs), True
        return
    against: Mapping[str, Any] = more["against"]
    given: Mapping[str, object] = {} if "method" in against else row.settings
    other = replace(
        row,
        method=against.get("method", row.method),
        settings={**given, **against.get("settings", {})},
    )
    if table.category.startswith("session "):  # win rates are of all samples of a comparison
        sessions = f"--sessions {table.category.removeprefix('session ')}"
        more = {**more, "options": f"{more.get('options', '')} {sessions}"}
    bench, basic = more["answered_by"], ["rouge-l"]  # the judge reads the answers, in the last run
    first, second = (other, row) if table.opponents else (row, other)
    pair: list[str] = []
    for each in (first, second):
        if each.method == GOLDEN:
            pair.append("--golden")
        else:
            answers = _answer(bench, each, data, basic, more, inputs)
            yield answers, False
            pair.append(answers[-1])
    criteria = ",".join(dict.fromkeys(name for name in metrics if name))
    words = ["bench", "pairwise", *pair, "--criteria", criteria]
    yield _command(words, "pairwise", row.label, inputs), True


def _answer(
    bench: str, row: Row, data: str, metrics: Sequence[str], more: Mapping[str, Any], inputs: Inputs
) -> tuple[str, ...]:
    """Return the command that answers with a row's method."""
    words = [*COMMANDS[bench], data]
    if bench != "segmentation":
        words += ["--method", row.method, *_settings(row, more.get("version", "true"), inputs)]
    if bench in ("responses", "qa"):
        words += _metrics(metrics, inputs)
    options = shlex.split(more.get("options", "").format(out=inputs.out))
    return _command([*words, *options], data, row.method or row.label, inputs)


def _settings(row: Row, version: str, inputs: Inputs) -> list[str]:
    """Return the settings of a row's method as options."""
    if row.method not in METHODS:
        return []
    config = method_class(row.method).Config
    known = {field.name for field in fields(config)}
    given: list[str] = []
    if version and hasattr(config, "paper"):
        versions = getattr(config, "paper_versions", ())
        given.append(f"paper={version if version in versions else 'true'}")
    given += [
        f"{name}={str(value).format(out=inputs.out)}"
        for name, value in row.settings.items()
        if name in known
    ]
    given += [each for each in inputs.settings if each.partition("=")[0] in known]
    return [word for each in given for word in ("--set", each)]


def _metrics(names: Sequence[str], inputs: Inputs) -> list[str]:
    chosen: list[str] = []
    for name in dict.fromkeys(names):
        if name in NEURAL:
            chosen += [f"{name}={inputs.neural[name]}"] if name in inputs.neural else []
        elif name and name not in RUN_MEASURES:
            chosen.append(name)
    if inputs.judge == LOCAL_MODEL:
        chosen = without_judges(chosen)
    return [word for name in chosen for word in ("--metric", name)]


def _command(words: Sequence[str], data: str, name: str, inputs: Inputs) -> tuple[str, ...]:
    """Return a command with the options of its bench and with its folder, the last word."""
    whole = (*words, *_given(shlex.join(words), inputs))
    digest = sha256(shlex.join(whole).encode()).hexdigest()[:8]
    slug = "-".join("".join(c if c.isalnum() else " " for c in f"{data} {name}").lower().split())
    return (*whole, "--out", str(inputs.out / f"{slug}-{digest}"))


def _given(words: str, inputs: Inputs) -> list[str]:
    """Return the options of :class:`Inputs` that a command has."""
    lacking = LACKS.get(words.split()[1], frozenset())
    return [
        word
        for name, value in {**inputs.options, "judge": inputs.judge}.items()
        if name not in lacking and value != LOCAL_MODEL and f"--{name}" not in words.split()
        for word in (f"--{name}", value)
    ]
