"""The papers' tables, and the rows of our runs in them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import isnan
from typing import Any

from theanine.errors import SettingsError
from theanine.methods.registry import canonical_method
from theanine_bench.metrics.neural import NEURAL

FOLDER = "papers"
"""Folder of the tables, one file a paper, with figures as printed; ``nan`` is an empty cell."""
TOKENS = "recalled_tokens"
"""The metric that every run has."""
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
    """A system's figures, None for empty cells; ``method`` is our id of the system, or empty."""

    label: str
    method: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a paper.

    Attributes:
        location: its place in the paper, such as ``table 2``.
        bench: our bench that measures the same; empty for none.
        category: of the samples, such as ``session 5``; empty for all.
        mean_of: categories whose unweighted mean every column is; empty for none.
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


def run_row(table: Table, settings: Mapping[str, Any], summary: Mapping[str, Any]) -> Row | None:
    """Return a run's figures as a row of the table; None for a run of another bench.

    Columns that the run has no figure for are None. Whether the run's data are the table's is not
    checked.
    """
    if settings["bench"] != table.bench:
        return None
    config = settings["config"]
    label = f"ours: {config['method']}, {config['model']}"
    if table.bench == "pairwise":
        label = "ours: " + " against ".join(map(str, config["settings"].values()))
    values = tuple(_value(column, table, summary) for column in table.columns)
    return Row(label, canonical_method(config["method"], warn=False), values)


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
        if name and name != TOKENS:
            option = OPTIONS.get(table.bench, f"--metric {name}{'=FOLDER' if neural else ''}")
            missing.append(f"{column.name} comes with {option.format(name)}")
    return missing


def insert_rows(table: Table, rows: Sequence[Row]) -> list[Row]:
    """Return the table's rows with others inserted after the last row of the same method.

    Rows of other methods are appended.
    """
    merged = list(table.rows)
    for row in rows:
        same = [i for i, other in enumerate(merged) if other.method == row.method]
        merged.insert(same[-1] + 1 if same else len(merged), row)
    return merged


def _value(column: Column, table: Table, summary: Mapping[str, Any]) -> float | None:
    if column.measure == TOKENS:
        return summary[TOKENS]
    categories = table.mean_of or (column.category or table.category,)
    values = [_score(column.measure, category, summary) for category in categories]
    present = [value for value in values if value is not None]
    return column.scale * sum(present) / len(present) if len(present) == len(values) else None


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
            )
            for row in entry["rows"]
        ),
        mean_of=tuple(entry.get("mean_of", ())),
    )
