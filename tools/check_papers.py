"""Check that every figure of the papers' tables is printed in the paper, in the line of its row.

    THEANINE_PAPERS=FOLDER python tools/check_papers.py

The folder holds the papers as plain text. Prints each fault; exits with 1 if there is any.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from theanine_bench.analysis.tables import Row, Table, load_tables

FILES = {
    "Theanine": "theanine-naacl.txt",
    "Theanine, first version": "theanine-v1-with-prompts.txt",
    "SeCom": "secom.txt",
    "Conditional memory": "conditional-memory.txt",
    "LLM-Rsum": "llm-rsum.txt",
}
TRANSPOSED = "Conditional memory"
"""The paper whose tables have the systems as columns."""
MAX_HEIGHT = 16
"""How many lines before its caption a table may begin."""
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
BRACKETS = re.compile(r"\(.*?\)")
WORD = re.compile(r"[a-z]{3,}")


def find_faults(table: Table, papers: Path) -> Iterator[str]:
    """Yield each row of a table that is not printed, not labeled so, or out of order."""
    lines = _table_lines(table, papers)
    positions = {
        row.label: [number for number, line in enumerate(lines) if _has_figures(row, line)]
        for row in table.rows
    }
    for label, numbers in positions.items():
        if not numbers:
            yield f"{table.id}: no line has the figures of {label!r}"
        elif table.paper != TRANSPOSED and not _has_label(label, [lines[n] for n in numbers]):
            yield f"{table.id}: no line with the figures of {label!r} has its label"
    for (upper, above), (lower, below) in pairwise(positions.items()):
        if above and below and min(above) > max(below):
            yield f"{table.id}: {upper!r} is printed below {lower!r}"


def _table_lines(table: Table, papers: Path) -> list[str]:
    """Return the lines of a table; of SeCom, whose text has no captions, all table cells."""
    text = (papers / FILES[table.paper]).read_text("utf-8").splitlines()
    if table.paper == "SeCom":
        return [line.replace("Ours", "SeCom") for line in text if line.endswith("|")]
    caption = f"{table.location.capitalize()}:"
    [end] = [number for number, line in enumerate(text) if line.startswith(caption)]
    return text[max(0, end - MAX_HEIGHT) : end]


def _has_label(label: str, lines: list[str]) -> bool:
    """Return whether one of the lines shares a word with the label."""
    words = set(WORD.findall(label.casefold()))
    return any(words & set(WORD.findall(line.casefold())) for line in lines)


def _has_figures(row: Row, line: str) -> bool:
    """Return whether a line has the row's figures in succession, from where a block may begin."""
    wanted = [value for value in row.values if value is not None]
    step = len(wanted) if len(wanted) == len(row.values) else 1
    printed = [float(one.replace(",", "")) for one in NUMBER.findall(BRACKETS.sub("", line))]
    return any(printed[i : i + len(wanted)] == wanted for i in range(0, len(printed) + 1, step))


def main() -> int:
    """Check all tables and return the exit code."""
    papers = Path(os.environ.get("THEANINE_PAPERS") or "")
    if not os.environ.get("THEANINE_PAPERS") or not papers.is_dir():
        print("set THEANINE_PAPERS to the folder of the papers' texts", file=sys.stderr)
        return 2
    tables = load_tables()
    faults = [fault for table in tables for fault in find_faults(table, papers)]
    print("\n".join(faults) or f"{len(tables)} tables are as printed")
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main())
