"""Every figure of the papers' tables stands in the paper, in the line of its row."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from theanine_bench.analysis.tables import Row, Table, load_tables

PAPERS = Path(os.environ.get("THEANINE_PAPERS") or Path(__file__).parents[3] / "shared" / "papers")
FILES = {
    "Theanine": "theanine-naacl.txt",
    "Theanine, first version": "theanine-v1-with-prompts.txt",
    "SeCom": "secom.txt",
    "Conditional memory": "conditional-memory.txt",
    "LLM-Rsum": "llm-rsum.txt",
}
ACROSS = "Conditional memory"
"""Whose systems head the columns."""
REACH = 16
"""How many lines before its caption a table begins at the most."""
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
BRACKETS = re.compile(r"\(.*?\)")
WORD = re.compile(r"[a-z]{3,}")

pytestmark = pytest.mark.skipif(
    not PAPERS.is_dir(), reason="no papers' texts; set THEANINE_PAPERS to their folder"
)


@pytest.mark.parametrize("table", load_tables(), ids=lambda table: table.id)
def test_figures_are_as_printed(table: Table) -> None:
    lines = _lines(table)
    found = {row.label: [one for one in lines if _printed(row, one)] for row in table.rows}
    assert [label for label, there in found.items() if not there] == []
    if table.paper != ACROSS:
        assert [label for label, there in found.items() if not _named(label, there)] == []


@pytest.mark.parametrize("table", load_tables(), ids=lambda table: table.id)
def test_rows_are_in_the_printed_order(table: Table) -> None:
    lines = _lines(table)
    places = [[n for n, one in enumerate(lines) if _printed(row, one)] for row in table.rows]
    assert list(_descents(places)) == []


def _lines(table: Table) -> list[str]:
    """The lines of the table; of a paper without captions those that are in cells."""
    text = (PAPERS / FILES[table.paper]).read_text("utf-8").splitlines()
    if table.paper == "SeCom":
        return [line.replace("Ours", "SeCom") for line in text if line.endswith("|")]
    caption = f"{table.location.capitalize()}:"
    [end] = [place for place, line in enumerate(text) if line.startswith(caption)]
    return text[max(0, end - REACH) : end]


def _named(label: str, lines: list[str]) -> bool:
    """Whether one of the lines has a word of the label."""
    words = set(WORD.findall(label.casefold()))
    return any(words & set(WORD.findall(line.casefold())) for line in lines)


def _printed(row: Row, line: str) -> bool:
    """Whether a line has the row's figures one behind the other, from where a block may begin."""
    wanted = [value for value in row.values if value is not None]
    step = len(wanted) if len(wanted) == len(row.values) else 1
    there = [float(one.replace(",", "")) for one in NUMBER.findall(BRACKETS.sub("", line))]
    return any(there[at : at + len(wanted)] == wanted for at in range(0, len(there) + 1, step))


def _descents(places: list[list[int]]) -> Iterator[tuple[int, int]]:
    """Neighbouring rows of which the second can only stand above the first."""
    for one, two in pairwise(places):
        if min(one) > max(two):
            yield min(one), max(two)
