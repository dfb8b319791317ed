"""Draw what ``run.py --json`` wrote: ``python benchmarks/rivals/chart.py FIGURES.json CHART.svg``.

The chart in the README is that of ``measured.json``. It has a background and colors of its own for
light and dark pages, since a page may be dark where the reader's system is light.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, cast
from xml.sax.saxutils import escape

PANELS = (
    ("diaries_report", "found", "Right turns that come back"),
    ("diaries_report", "precision", "Share of what comes back that is right"),
    ("diaries_report", "never", "Nothing comes back where nothing was said"),
    ("changes_report", "holds", "What holds comes before what is outdated"),
    ("diaries_report", "CPU a question, ms", "CPU of a question, ms (less is better)"),
    ("diaries_report", "main memory, MB", "Main memory, MB (less is better)"),
)
"""Data, label of the figure, and title."""
COLUMNS = 2
WIDTH, LEFT, ROW = 380, 84, 19
"""Pixels of a panel, of its names, and of the height of a row."""
BAR = WIDTH - LEFT - 70
"""Pixels of the longest bar."""
STYLE = """
  .card { fill: #ffffff; stroke: #d0d7de }
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .note { font-size: 11px; fill: #59636e }
  .bar { fill: #b6bec9 }
  .ours { fill: #2f7d4f }
  .range { stroke: #1f2328 }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #3d444d }
    text { fill: #f0f6fc }
    .note { fill: #9198a1 }
    .bar { fill: #4d5763 }
    .ours { fill: #46a86c }
    .range { stroke: #f0f6fc }
  }
"""


def draw(result: Mapping[str, Any]) -> str:
    """Return the chart as SVG, with a panel for each figure that was measured."""
    tables = {table["name"]: table for table in result["data"]}
    panels = [
        (title, [(system["system"], system[label]) for system in tables[name]["systems"]])
        for name, label, title in PANELS
        if name in tables and all(label in system for system in tables[name]["systems"])
    ]
    height = 34 + ROW * max(len(rows) for _, rows in panels)
    lines = -(-len(panels) // COLUMNS)
    width, total = COLUMNS * (WIDTH + 10) + 10, lines * height + 34
    drawn = [
        _panel(title, rows, 10 + number % COLUMNS * (WIDTH + 10), number // COLUMNS * height)
        for number, (title, rows) in enumerate(panels)
    ]
    sets = ", ".join(f"{t['stores']} histories of {t['name']}" for t in result["data"])
    when = f"{date.fromisoformat(result['date']):%d %B %Y}".lstrip("0")
    note = f"{when}; {sets}; lines are 95 % intervals"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}" '
            f'width="{width}" height="{total}" role="img" aria-labelledby="title">',
            f'<title id="title">{escape(describe(panels))}</title>',
            f"<style>{STYLE}</style>",
            f'<rect class="card" x=".5" y=".5" width="{width - 1}" height="{total - 1}" rx="6"/>',
            *drawn,
            f'<text class="note" x="20" y="{total - 12}">{escape(note)}</text>',
            "</svg>\n",
        ]
    )


def describe(panels: Sequence[tuple[str, Sequence[tuple[str, Any]]]]) -> str:
    """Return in words what the chart shows."""
    return ". ".join(
        f"{title}: " + ", ".join(f"{name} {_text(_mean(value))}" for name, value in rows)
        for title, rows in panels
    )


def _panel(title: str, rows: Sequence[tuple[str, Any]], left: int, top: int) -> str:
    values = [_mean(value) for _, value in rows]
    longest = 1.0 if all(isinstance(value, dict) for _, value in rows) else max(*values, 1e-9)
    lines = [f'<g transform="translate({left} {top})">']
    lines.append(f'<text class="title" x="10" y="24">{escape(title)}</text>')
    for number, (name, value) in enumerate(rows):
        y = 34 + number * ROW
        length = BAR * _mean(value) / longest
        kind = "bar ours" if name == "theanine" else "bar"
        lines.append(f'<text x="{LEFT + 4}" y="{y + 12}" text-anchor="end">{escape(name)}</text>')
        lines.append(
            f'<rect class="{kind}" x="{LEFT + 10}" y="{y + 2}" width="{length:.1f}" height="13"/>'
        )
        end = length
        if isinstance(value, dict):
            interval = cast("Mapping[str, float]", value)
            start, end = BAR * interval["low"], BAR * interval["high"]
            lines.append(
                f'<line class="range" x1="{LEFT + 10 + start:.1f}" x2="{LEFT + 10 + end:.1f}" '
                f'y1="{y + 8.5}" y2="{y + 8.5}"/>'
            )
        text = _text(_mean(value))
        lines.append(f'<text x="{LEFT + 16 + max(end, length):.1f}" y="{y + 12}">{text}</text>')
    return "\n".join([*lines, "</g>"])


def _mean(value: Any) -> float:
    return cast("Mapping[str, float]", value)["mean"] if isinstance(value, dict) else float(value)


def _text(value: float) -> str:
    if value > 1:
        return f"{value:.0f}" if value >= 10 else f"{value:.1f}"
    return f"{value:.2f}".removeprefix("0")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Draw the figures of run.py --json.")
    parser.add_argument("figures", type=Path)
    parser.add_argument("chart", type=Path)
    options = parser.parse_args()
    options.chart.write_text(draw(json.loads(options.figures.read_text("utf-8"))), "utf-8")
