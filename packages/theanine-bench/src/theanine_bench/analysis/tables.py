"""The papers' tables, and our runs' figures in them."""

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
"""Where the figures are, a file for each paper, as printed there.

In a column `measure` names ours of the same and `scale` is what ours is multiplied by; `nan` is a
cell that the paper leaves empty.
"""
TOKENS = "recalled_tokens"
"""The measure that every run has."""
OPTIONS = {"pairwise": "--criteria {}", "teafarm": "--judge NAME"}
"""What gives a measure of these benches; elsewhere it is asked for by its name."""
PAPERS = ("theanine", "theanine-first", "secom", "conditional-memory", "llm-rsum")


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the paper heads it, our measure of the same, and what ours is multiplied by.

    ``category`` are the cases that it is about, where the table's columns differ in that.
    """

    name: str
    measure: str
    scale: float
    category: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A system's figures; None where the paper has none. ``method`` is our id of it, or empty."""

    label: str
    method: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a paper.

    Attributes:
        id: its name here.
        paper, place: where it is printed.
        what: what it reports.
        bench: our bench that measures the same; empty for none.
        category: the cases that it is about, such as ``session 5``; empty for all.
        mean_of: categories of which every column is the mean, each counting alike; empty for none.
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
    """All tables, or those of these ids. Raises SettingsError for an unknown one."""
    found = {one["id"]: _table(one) for paper in PAPERS for one in _read(paper)}
    if unknown := [name for name in names if name not in found]:
        raise SettingsError(f"no table {unknown[0]!r}; there are: {', '.join(found)}")
    return [found[name] for name in names] if names else list(found.values())


def run_row(table: Table, settings: Mapping[str, Any], summary: Mapping[str, Any]) -> Row | None:
    """A run's figures as a row of the table; None where it is another bench's.

    A column without a figure of the run's is None. Only the reader can know whether the run's data
    are the table's.
    """
    if settings["bench"] != table.bench:
        return None
    setup = settings["config"]
    label = f"ours: {setup['method']}, {setup['model']}"
    if table.bench == "pairwise":
        label = "ours: " + " against ".join(map(str, setup["settings"].values()))
    values = tuple(_value(column, table, summary) for column in table.columns)
    return Row(label, canonical_method(setup["method"], warn=False), values)


def missing_inputs(
    table: Table, settings: Mapping[str, Any], summary: Mapping[str, Any]
) -> list[str]:
    """What a run of the table's bench would need for its row to be whole; what is known of it."""
    wanted = (table.category,) if table.category else table.mean_of
    if absent := [name for name in wanted if name not in summary["categories"]]:
        return [f"no {', '.join(absent)} in the run"]
    asked: Sequence[str] = settings["metrics"]
    found: list[str] = []
    for column in table.columns:
        name = column.measure.partition("/")[0]
        neural = name in NEURAL
        if any(one == name or (neural and one.startswith(f"{name}:")) for one in asked):
            continue
        if name and name != TOKENS:
            option = OPTIONS.get(table.bench, f"--measure {name}{'=FOLDER' if neural else ''}")
            found.append(f"{column.name} comes with {option.format(name)}")
    return found


def insert_rows(table: Table, rows: Sequence[Row]) -> list[Row]:
    """The table's rows, each of ours behind the last one of the same method, else at the end."""
    found = list(table.rows)
    for row in rows:
        same = [place for place, known in enumerate(found) if known.method == row.method]
        found.insert(same[-1] + 1 if same else len(found), row)
    return found


def _value(column: Column, table: Table, summary: Mapping[str, Any]) -> float | None:
    if column.measure == TOKENS:
        return summary[TOKENS]
    categories = table.mean_of or (column.category or table.category,)
    values = [_measured(column.measure, category, summary) for category in categories]
    known = [value for value in values if value is not None]
    return column.scale * sum(known) / len(known) if len(known) == len(values) else None


def _measured(name: str, category: str, summary: Mapping[str, Any]) -> float | None:
    """A run's figure of the cases of a category, or of all."""
    measures, corpus = summary["metrics"], name
    if category:
        measures = summary["categories"].get(category, {})
        if set(summary["categories"]) != {category}:  # else what is of all is of it
            corpus = f"{name}/{category}"
    value = measures[name]["mean"] if name in measures else summary["corpus"].get(corpus)
    return float(value) if isinstance(value, int | float) else None


def _read(paper: str) -> list[dict[str, Any]]:
    file = files("theanine_bench.analysis") / FOLDER / f"{paper}.toml"
    return tomllib.loads(file.read_text("utf-8"))["table"]


def _table(read: Mapping[str, Any]) -> Table:
    return Table(
        id=read["id"],
        paper=read["paper"],
        location=read["place"],
        description=read["what"],
        bench=read["bench"],
        category=read["category"],
        columns=tuple(Column(**one) for one in read["columns"]),
        rows=tuple(_row(one) for one in read["rows"]),
        mean_of=tuple(read.get("mean_of", ())),
    )


def _row(read: Mapping[str, Any]) -> Row:
    values = tuple(None if isnan(value) else float(value) for value in read["values"])
    return Row(read["label"], read["method"], values)
