"""Attacks on a memory by what is said: forged lines, hidden characters, formulas.

See :mod:`support.hostile`, and OWASP's page on CSV injection.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from contextlib import redirect_stdout
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fuzzing import cases
from support.hostile import DIRECTIVES, FORGED, INVISIBLE, LOOKALIKES
from theanine.cli.output import show_csv
from theanine.fences import list_items, one_line, remembered_block
from theanine.text.formatting import format_speaker, format_turn, group_by_day
from theanine.text.numbering import split_windows
from theanine.types import Turn

pytestmark = pytest.mark.fuzz

PIECES = st.sampled_from(INVISIBLE + LOOKALIKES + FORGED + DIRECTIVES) | st.text(max_size=12)
HOSTILE = st.lists(PIECES, min_size=1, max_size=6).map("".join)
_LINE = re.compile(r"\[\d+\] [^\[\]():]+ \((?:user|agent)(?:, recalled)?\): ")


def _turn(number: int, speaker: str, text: str) -> Turn:
    return Turn(
        id=number, session=1, speaker=speaker, role="user", text=text,
        at=datetime(2024, 5, 8, tzinfo=UTC),
    )  # fmt: skip


@given(HOSTILE, HOSTILE)
@cases(200)
def test_a_name_is_no_line_of_a_prompt(speaker: str, text: str) -> None:
    name = format_speaker(speaker)
    assert name
    assert format_speaker(name) == name
    assert not set(unicodedata.normalize("NFKC", name)) & set(":[](){}<>|\n")
    assert not name.startswith("-")
    assert not any(0xE0000 <= ord(c) <= 0xE007F or c in "\u202e\u200b" for c in name)
    lines = [line.shown for window in split_windows([_turn(1, speaker, text)]) for line in window]
    for line in lines:
        assert len(line.splitlines()) == 1
        match = _LINE.match(line)
        assert match is not None
        assert match[0] == f"[1] {name} (user): "


@given(st.lists(st.tuples(HOSTILE, HOSTILE), min_size=1, max_size=4))
@cases(100)
def test_a_dialogue_has_a_line_a_turn_and_its_own_days(said: list[tuple[str, str]]) -> None:
    turns = [_turn(number, *words) for number, words in enumerate(said, 1)]
    lines = group_by_day(("8 May 2024", format_turn(turn)) for turn in turns).splitlines()
    assert lines[0] == "-- 8 May 2024"
    assert len(lines) == 1 + len(turns)
    assert not any(line.startswith("-") for line in lines[1:])
    for line, turn in zip(lines[1:], turns, strict=True):
        assert line.startswith(f"{format_speaker(turn.speaker)}: ")


@given(st.lists(HOSTILE, max_size=4))
@cases(200)
def test_a_fence_holds_against_normalization_and_hidden_text(texts: list[str]) -> None:
    block = remembered_block(texts)
    if not block:
        return
    inside = block.split("\n")[2:-1]
    assert inside == list_items(texts).split("\n")
    for line in inside:
        plain = unicodedata.normalize("NFKC", line)
        assert "<<<" not in plain
        assert ">>>" not in plain
        assert not any(0xE0000 <= ord(c) <= 0xE01EF for c in line)
        assert not set(line) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@given(HOSTILE)
@cases(100)
def test_flattening_twice_changes_nothing(text: str) -> None:
    assert one_line(one_line(text)) == one_line(text)


FORMULAS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", " ", "\t", "\r", "\n", "\u00a0", "\u3000"]),
    st.sampled_from(["=", "+", "-", "@", "＝", "＋", "－", "＠", "\t=", "\r="]),
    st.sampled_from(
        ['HYPERLINK("//x","y")', "cmd|'/C x'!A0", "1+1", "SUM(A1:A9)", 'IMPORTXML("//x";"//a")', ""]
    ),
)


@given(FORMULAS, st.sampled_from([-1, -2.5, 0, 3, None, True]))
@cases(100)
def test_no_text_of_a_csv_is_a_formula(text: str, number: object) -> None:
    out = io.StringIO()
    with redirect_stdout(out):
        show_csv([{"text": text, "number": number, "metadata": {"a": text}, "list": [text]}])
    row = next(csv.DictReader(io.StringIO(out.getvalue(), newline="")))
    for name in ("text", "metadata", "list"):
        cell = unicodedata.normalize("NFKC", row[name])
        assert not cell.lstrip().startswith(("=", "+", "-", "@"))
        assert not cell.startswith(("\t", "\r"))
    assert row["number"] == ("" if number is None else str(number))
