"""The papers' tables, and the rows of our runs in them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from math import isnan
from typing import Any

from theanine.errors import SettingsError
from theanine.methods.registry import all_settings, current_method
from theanine.types import LOCAL_MODEL
from theanine_bench.config import SCORE
from theanine_bench.metrics.neural import NEURAL

FOLDER = "papers"
"""Folder of the tables, one file a paper, with figures as printed; ``nan`` is an empty cell."""
RUN_MEASURES: Mapping[str, Callable[[Mapping[str, Any]], float | None]] = {
    "recalled_tokens": lambda summary: summary["recalled_tokens"],
    "recalled_turns": lambda summary: summary.get("recalled_turns"),
    "input_tokens": lambda summary: _per_sample(summary, "input_tokens"),
    "output_tokens": lambda summary: _per_sample(summary, "output_tokens"),
    "seconds": lambda summary: summary["seconds"].get("mean"),
}
"""Means over samples that every run has, from its summary. Model tokens are those of remembering
and answering; seconds are those of an answer."""
OPTIONS = {"pairwise": "--criteria {}", "teafarm": "--judge NAME"}
"""The option that adds a metric to these benches; the others use ``--metric``."""
PAPERS = ("theanine", "theanine-first", "secom", "conditional-memory", "llm-rsum")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a paper's table.

    Attributes:
        name: the paper's heading.
        measure: our metric of the same; empty for none.
        scale: the factor of our values, such as 100 for percent.
        category: the samples' category, if the columns of the table differ in that.
    """

    name: str
    measure: str
    scale: float
    category: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A system's figures.

    Attributes:
        method: our id of the system; empty for none.
        values: None for empty cells.
        settings: of a paper's row, the settings that tell it from other rows of the method; of a
            run's row, all settings.
    """

    label: str
    method: str
    values: tuple[float | None, ...]
    settings: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a paper.

    Attributes:
        location: its place in the paper, such as ``table 2``.
        bench: our bench that measures the same; empty for none.
        category: of the samples, such as ``session 5``; empty for all.
        mean_of: categories whose unweighted mean every column is; empty for none.
        opponents: whether the rows are what the first run of a pairwise comparison is compared
            with; otherwise they are the first run.
        sets: names of its data sets; of several, every column is the unweighted mean.
    """

    id: str
    paper: str
    location: str
    description: str
    bench: str
    category: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    mean_of: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    opponents: bool = False


Run = tuple[Mapping[str, Any], Mapping[str, Any]]
"""The settings and the summary of a run."""


def load_tables(names: Sequence[str] = ()) -> list[Table]:
    """Return all tables, or those of these ids. Raises SettingsError for an unknown id."""
    folder = files("theanine_bench.analysis") / FOLDER
    tables = {
        entry["id"]: _parse_table(entry)
        for paper in PAPERS
        for entry in tomllib.loads((folder / f"{paper}.toml").read_text("utf-8"))["table"]
    }
    if unknown := [name for name in names if name not in tables]:
        raise SettingsError(f"no table {unknown[0]!r}; there are: {', '.join(tables)}")
    return [tables[name] for name in names] if names else list(tables.values())


def run_rows(table: Table, runs: Sequence[Run]) -> tuple[list[Row], list[str]]:
    """Return the rows of runs in a table, and what is missing for more, in words.

    A run has a row if it is of the table's bench and data set; answers made elsewhere are of any
    bench. In a table of several sets a row is the mean of one run for each set, with the same
    method, settings and models. Values that a run lacks are None.
    """
    rows: list[Row] = []
    hints: list[str] = []
    for own in _runs_by_row(table, runs, hints):
        label = run_label(*own[0])
        names = [summary["sets"][0] for _, summary in own]
        if len(table.sets) > 1 and (absent := [name for name in table.sets if name not in names]):
            hints.append(f"{label}: the row needs a run of {', '.join(absent)} as well")
            continue
        row = _mean_row([run_row(table, *run) for run in own])
        if own[0][0]["bench"] == SCORE and not any(value is not None for value in row.values):
            continue  # answers to samples of another kind
        rows.append(row)
        missing = [part for run in own for part in missing_inputs(table, *run)]
        if missing:
            hints.append(f"{label}: {'; '.join(dict.fromkeys(missing))}")
    return rows, hints


def _runs_by_row(table: Table, runs: Sequence[Run], hints: list[str]) -> list[list[Run]]:
    """Return the runs that make up each row, and add a hint for a run without a data set."""
    by_row: dict[str, list[Run]] = {}
    for settings, summary in runs:
        if not table.bench or settings["bench"] not in (table.bench, SCORE):
            continue
        sets = summary.get("sets", [])
        if len(sets) != 1:
            hints.append(
                f"{run_label(settings, summary)}: its data set is not known; the command that made "
                "the run notes it"
            )
        elif sets[0] in table.sets:
            made_by = summary.get("compared") or settings["config"]
            key = [settings["bench"], made_by, settings.get("models")]
            apart = [] if len(table.sets) > 1 else [len(by_row)]
            by_row.setdefault(json.dumps([key, apart]), []).append((settings, summary))
    return list(by_row.values())


def run_row(table: Table, settings: Mapping[str, Any], summary: Mapping[str, Any]) -> Row:
    """Return a run's figures as one row. Columns that the run has no figure for are None."""
    config = settings["config"]
    if compared := summary.get("compared"):
        config = compared[1 if table.opponents else 0]
    values = tuple(_value(column, table, summary) for column in table.columns)
    method, given = _current(config["method"], config["settings"])
    return Row(run_label(settings, summary), method, values, _settings(method, given))


def run_label(settings: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """Return what tells a run's row from others: its method, all that was set, and its models."""
    if settings["bench"] == SCORE:
        return f"scored: {settings['config']['method']}"
    compared = summary.get("compared") or [settings["config"]]
    return "ours: " + " against ".join(map(_describe, compared))


def _describe(config: Mapping[str, Any]) -> str:
    given = [f"{name}={value}" for name, value in config["settings"].items()]
    if config["budget"] is not None:
        given.append(f"budget {config['budget']}")
    if config["embedder"] != LOCAL_MODEL:
        given.append(f"embedder {config['embedder']}")
    if config.get("memory_model"):
        given.append(f"remembered by {config['memory_model']}")
    of_model: Mapping[str, object] = config.get("model_settings") or {}
    given += [f"model {name} {value}" for name, value in of_model.items()]
    if config["judge"] != LOCAL_MODEL:
        given.append(f"judged by {config['judge']}")
    settings = f" ({', '.join(given)})" if given else ""
    return f"{config['method']}{settings}, {config['model']}"


def _current(method: str, settings: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """Return what a run's method and settings are called now; of other targets as they are."""
    try:
        return current_method(method, settings, warn=False)
    except SettingsError:
        return method, settings


def _settings(method: str, given: Mapping[str, object]) -> Mapping[str, object]:
    """Return a method's settings with its defaults; of other targets those given."""
    try:
        return all_settings(method, given)
    except SettingsError:
        return given


def _mean_row(rows: Sequence[Row]) -> Row:
    means = [
        sum(values) / len(values) if None not in values else None
        for values in zip(*(row.values for row in rows), strict=True)
    ]
    return replace(rows[0], values=tuple(means))


def missing_inputs(
    table: Table, settings: Mapping[str, Any], summary: Mapping[str, Any]
) -> list[str]:
    """Return what a run of the table's bench lacks for a complete row, in words."""
    categories = (table.category,) if table.category else table.mean_of
    if absent := [name for name in categories if name not in summary["categories"]]:
        return [f"no {', '.join(absent)} in the run"]
    metrics: Sequence[str] = settings["metrics"]
    missing: list[str] = []
    for column in table.columns:
        name = column.measure.partition("/")[0]
        neural = name in NEURAL
        if any(m == name or (neural and m.startswith(f"{name}:")) for m in metrics):
            continue
        if name and name not in RUN_MEASURES:
            option = OPTIONS.get(table.bench, f"--metric {name}{'=FOLDER' if neural else ''}")
            missing.append(f"{column.name} comes with {option.format(name)}")
    return missing


def insert_rows(table: Table, rows: Sequence[Row]) -> list[Row]:
    """Return the table's rows with others inserted after the row of the same method and settings.

    That is the row of the method with most settings that are all the other's; without one, the last
    row of the method. Rows of other methods are appended.
    """
    merged = list(table.rows)
    for row in rows:
        same = [i for i, other in enumerate(merged) if other.method == row.method]
        fitting = [i for i in same if _fits(row, merged[i])]
        place = max(fitting, key=lambda i: (len(merged[i].settings), i)) if fitting else None
        if place is None:
            place = same[-1] if same else len(merged) - 1
        merged.insert(place + 1, row)
    return merged


def _fits(row: Row, other: Row) -> bool:
    return all(str(row.settings.get(name)) == str(value) for name, value in other.settings.items())


def _value(column: Column, table: Table, summary: Mapping[str, Any]) -> float | None:
    if measure := RUN_MEASURES.get(column.measure):
        value = measure(summary)
        return None if value is None else column.scale * value
    categories = table.mean_of or (column.category or table.category,)
    values = [_score(column.measure, category, summary) for category in categories]
    present = [value for value in values if value is not None]
    return column.scale * sum(present) / len(present) if len(present) == len(values) else None


def _per_sample(summary: Mapping[str, Any], name: str) -> float | None:
    spent = summary["spent"]
    tokens = [spent[purpose][name] for purpose in ("remembering", "answering") if purpose in spent]
    return sum(tokens) / summary["done"] if tokens and summary["done"] else None


def _score(name: str, category: str, summary: Mapping[str, Any]) -> float | None:
    """Return a run's score over the samples of a category, or over all."""
    scores, corpus = summary["metrics"], name
    if category:
        scores = summary["categories"].get(category, {})
        if set(summary["categories"]) != {category}:  # a single category has the scores of all
            corpus = f"{name}/{category}"
    value = scores[name]["mean"] if name in scores else summary["corpus"].get(corpus)
    return float(value) if isinstance(value, int | float) else None


def _parse_table(entry: Mapping[str, Any]) -> Table:
    return Table(
        id=entry["id"],
        paper=entry["paper"],
        location=entry["place"],
        description=entry["what"],
        bench=entry["bench"],
        category=entry["category"],
        columns=tuple(Column(**column) for column in entry["columns"]),
        rows=tuple(
            Row(
                row["label"],
                row["method"],
                tuple(None if isnan(value) else float(value) for value in row["values"]),
                row.get("settings", {}),
            )
            for row in entry["rows"]
        ),
        mean_of=tuple(entry.get("mean_of", ())),
        sets=tuple(entry["sets"]),
        opponents=entry.get("opponents", False),
    )
