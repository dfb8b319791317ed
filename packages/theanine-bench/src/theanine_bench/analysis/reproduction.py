"""The commands whose runs fill a table of a paper (``papers/reproduce.toml``)."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

from theanine.errors import SettingsError
from theanine.llm.prompt_folder import PromptFolder
from theanine.methods.registry import (
    DEFAULT,
    EXTRA_METHODS,
    METHODS,
    all_settings,
    method_class,
    names,
)
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
REMEMBERING = frozenset({"embedder", "memory-model", "memory-base-url"})
JUDGING = frozenset({"judge", "judge-base-url"})
LACKS: Mapping[str, frozenset[str]] = {
    "generate": REMEMBERING | JUDGING,
    "examples": REMEMBERING | JUDGING | {"model", "base-url", "limit", "prompts"},
    "segmentation": REMEMBERING | JUDGING,
    "pairwise": REMEMBERING | {"model", "base-url"},
}
"""The options of :class:`Inputs` that these commands lack."""
PROMPTS: Mapping[str, str] = {
    "Theanine": "theanine",
    "Theanine, first version": "theanine",
    "Conditional memory": "conditional-memory",
    "LLM-Rsum": "llm-rsum",
}
"""The folder of each paper's published prompts; SeCom's are figures, of which there is no text."""
REPRODUCED, IN_PART, NOT = STATES = ("reproduced", "in part", "not possible")
"""The states of the figures of the papers' tables."""
FIGURES = "the paper's prompts are figures: the prompts are ours"
NO_METHOD = "no method of ours is the paper's"
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
        options: further options of every command that has them, by name without dashes. Without
            an ``embedder``, runs that compare vectors have the paper's.
        also: further methods to run on the data of the table, with their own settings and the
            table's temperature.
        prompts: folder with a folder of prompts for each paper (``tools/published_prompts.py``).
    """

    out: Path
    judge: str = LOCAL_MODEL
    settings: Sequence[str] = ()
    neural: Mapping[str, str] = field(default_factory=dict[str, str])
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    also: Sequence[str] = ()
    prompts: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The commands that fill a table, in order, as words after ``theanine``.

    Attributes:
        runs: the folders of those that have rows in the table.
        omitted: the rows that no command fills.
        deviations: why the runs are not those of the paper, a reason each, as they follow
            "because".
    """

    commands: tuple[tuple[str, ...], ...]
    runs: tuple[Path, ...]
    omitted: tuple[str, ...]
    deviations: tuple[str, ...]


def table_recipe(table: Table, inputs: Inputs) -> Recipe:
    """Return the commands that fill a table.

    Raises SettingsError for one that only people fill, and for further methods that don't exist or
    where a table has no place for them.
    """
    group, sets = _group(table)
    if inputs.prompts and (paper := PROMPTS.get(table.paper)):
        prompts = {"prompts": str(inputs.prompts / paper)}
        inputs = replace(inputs, options={**inputs.options, **prompts})
    added = _further_rows(table, group, inputs)
    commands = [
        (*shlex.split(words.format(out=inputs.out)), *_given(words, inputs))
        for words in group.get("prepare", ())
    ]
    runs: list[Path] = []
    omitted: list[str] = []
    deviations = [*_lasting(table, group), *_other_models(group, inputs)]
    by_column: Mapping[str, str] = group.get("columns", {})
    if not inputs.prompts and table.paper in PROMPTS:
        deviations.append("the prompts are those of theanine: --prompts takes the paper's")
    for row in [*table.rows, *added]:
        more: Mapping[str, Any] = group.get("rows", {}).get(row.label, {})
        if row in added:
            more = {"version": ""}
        deviations += [f"of {row.label}: {reason}" for reason in more.get("deviations", ())]
        settings = {**group.get("settings", {}), **row.settings, **more.get("settings", {})}
        row = replace(row, method=more.get("method", row.method), settings=settings)
        if not _has_command(row, more):
            omitted.append(row.label)
            continue
        for name in table.sets:
            data = sets.get(name) or f"conditional-{table.category}"
            for command, has_row in _row_commands(table, row, data, {**group, **more}, inputs):
                if command not in commands:
                    commands.append(command)
                if has_row and (folder := Path(command[-1])) not in runs:
                    runs.append(folder)
    deviations += [
        f"of {column.name}: {by_column[column.name]}"
        for column in table.columns
        if column.name in by_column
    ]
    return Recipe(
        commands=tuple(commands),
        runs=tuple(runs),
        omitted=tuple(omitted),
        deviations=tuple(dict.fromkeys(deviations)),
    )


def cell_states(table: Table) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the state of each figure of a table, one of :data:`STATES`, with the reasons.

    A figure is reproduced if the commands of :func:`table_recipe` make it with all that its paper
    says, its models included, which the user names.
    """
    group: Mapping[str, Any]
    try:
        group, _ = _group(table)
    except SettingsError as error:
        group = {"deviations": [str(error)]}
    by_column: Mapping[str, str] = group.get("columns", {})
    for row in table.rows:
        more: Mapping[str, Any] = group.get("rows", {}).get(row.label, {})
        of_row: list[str] = [*_lasting(table, group), *more.get("deviations", ())]
        for column, value in zip(table.columns, row.values, strict=True):
            if value is None:
                continue
            if not _has_command(row, more):
                yield NOT, tuple(more.get("deviations", (NO_METHOD,)))
                continue
            reasons = (*of_row, *([reason] if (reason := by_column.get(column.name)) else []))
            yield IN_PART if reasons else REPRODUCED, reasons


def _lasting(table: Table, group: Mapping[str, Any]) -> Iterator[str]:
    """Yield how all runs of a table differ from the paper, whatever the user names."""
    yield from group.get("deviations", ())
    if table.paper not in PROMPTS and table.bench != "segmentation":
        yield FIGURES


def _has_command(row: Row, more: Mapping[str, Any]) -> bool:
    """Return whether a command fills a row, with what the recipe adds to it."""
    return bool(row.method) or not more.keys() <= {"deviations"}


def _further_rows(table: Table, group: Mapping[str, Any], inputs: Inputs) -> list[Row]:
    """Return a row for each method that the user wants in the table."""
    for name in inputs.also:
        method_class(name)  # raises for an unknown one
    own = table.bench == "pairwise" and "method" not in group.get("against", {})
    if inputs.also and (own or table.bench == "segmentation"):
        rows = "settings of one method" if own else "segmenters"
        raise SettingsError(f"{table.id} has no place for other methods: its rows are {rows}")
    return [Row(name, name, ()) for name in inputs.also]


def _other_models(group: Mapping[str, Any], inputs: Inputs) -> Iterator[str]:
    """Yield how the models that the user named differ from the paper's."""
    model = inputs.options.get("model", LOCAL_MODEL)
    named = {
        "answers": (model, "model"),
        "memories": (inputs.options.get("memory-model", model), "memory_model"),
        "verdicts": (inputs.judge, "judge"),
    }
    for what, (used, key) in named.items():
        published = group.get(key, "")
        left_out = what == "verdicts" and used == LOCAL_MODEL  # the table says so itself
        if published and not left_out and not used.endswith(published):
            yield f"the {what} are those of {used}, in the paper of {published}"
    embedder, published = inputs.options.get("embedder", ""), group.get("embedder", "")
    if embedder and published and _without_folder(embedder) != _without_folder(published):
        yield f"the vectors are those of {embedder}, in the paper of {published}"


def _without_folder(model: str) -> tuple[str, str]:
    """Return the kind and the own name of a model, which may be in a folder of that name."""
    kind, _, name = model.partition(":")
    return kind, name.rstrip("/").rpartition("/")[2]


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
    if bench != "segmentation" and "embedder" not in inputs.options and _has_vectors(words):
        published = more.get("embedder")
        words += ["--embedder", published] if published else []
    options = shlex.split(more.get("options", "").format(out=inputs.out))
    return _command([*words, *options], data, row.method or row.label, inputs)


def _settings(row: Row, version: str, inputs: Inputs) -> list[str]:
    """Return the settings of a row's method as options."""
    if row.method not in names():
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


def _has_vectors(words: Sequence[str]) -> bool:
    """Return whether the method that a command runs compares vectors, with its settings."""
    method = words[words.index("--method") + 1]
    given = dict(word.split("=", 1) for option, word in pairwise(words) if option == "--set")
    if method not in {*METHODS, *EXTRA_METHODS} - {DEFAULT}:
        return True
    return all_settings(method, given).get("retrieval", "okapi") not in ("okapi", "lexical")


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
    digest = sha256(shlex.join(_with_hashes(whole)).encode()).hexdigest()[:8]
    slug = "-".join("".join(c if c.isalnum() else " " for c in f"{data} {name}").lower().split())
    return (*whole, "--out", str(inputs.out / f"{slug}-{digest}"))


def _with_hashes(words: Sequence[str]) -> list[str]:
    """Return the words of a command with the hashes of its prompts instead of their folder."""
    return [
        str(sorted(PromptFolder.read(word).hashes().items())) if option == "--prompts" else word
        for option, word in pairwise(("", *words))
    ]


def _given(words: str, inputs: Inputs) -> list[str]:
    """Return the options of :class:`Inputs` that a command has."""
    lacking = LACKS.get(words.split()[1], frozenset())
    return [
        word
        for name, value in {**inputs.options, "judge": inputs.judge}.items()
        if name not in lacking and value != LOCAL_MODEL and f"--{name}" not in words.split()
        for word in (f"--{name}", value)
    ]
