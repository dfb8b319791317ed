"""Tables of figures: what is asked beside what was measured, one column for each system."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from figures import Figure

from theanine.cli.rendering import console, show_table


@dataclass(frozen=True, slots=True)
class Column:
    """The figures of one system in one setting; empty, with the reason, where there are none."""

    target: str
    setting: object
    figures: list[Figure]
    missing: str = ""


def show_columns(setting: object, columns: Sequence[Column]) -> None:
    """Show systems side by side."""
    console().print(f"\n{setting}")
    by_name = [{figure.name: figure for figure in column.figures} for column in columns]
    names = dict.fromkeys(name for figures in by_name for name in figures)
    goals = {name: next(f[name] for f in by_name if name in f) for name in names}
    show_table(
        ["figure", "asked", *(column.target for column in columns)],
        ([name, _goal(goals[name]), *(show_cell(f.get(name)) for f in by_name)] for name in names),
    )
    for column in columns:
        if column.missing:
            console().print(f"{column.target} was not measured: {column.missing}")


def show_load() -> None:
    """Say what else the machine does."""
    console().print(
        f"\nThe load, the clients and the servers share {os.cpu_count()} cores; the load of the "
        f"machine is {os.getloadavg()[0]:.1f}."
    )


def save(columns: Sequence[Column], file: Path) -> None:
    """Write figures as JSON."""
    file.write_text(json.dumps([asdict(column) for column in columns], indent=1))


def _goal(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    return f"{'≥' if figure.at_least else '≤'} {figure.goal:g} {figure.unit}".rstrip()


def show_cell(figure: Figure | None) -> str:
    """Return a figure as a table shows it."""
    if figure is None or figure.value is None:
        return "–"
    value = f"{figure.value:,.0f}" if figure.value >= 100 else f"{figure.value:.3g}"
    notes = [figure.note, figure.verdict if figure.verdict == "MISSED" else ""]
    noted = "; ".join(filter(None, notes))
    return f"{value} {figure.unit}".rstrip() + (f" ({noted})" if noted else "")
