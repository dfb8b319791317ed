"""MT-Bench+ (MemoChat): turns with topic ids, and a closing question about one or two topics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from theanine.errors import BadInput
from theanine.importers.fields import as_list, as_object, member, optional_text
from theanine.types import Utterance

START = datetime(2000, 1, 1, tzinfo=UTC)
_TOPIC = re.compile(r"[a-z]+-\d+")


def read_mtbench(
    path: Path, records: list[Any]
) -> Iterator[tuple[str, str, list[Utterance], str, list[str]]]:
    """Name, category, turns, the closing question, and the keys of the turns on its topics.

    Raises BadInput, naming the place, for a chat that is none.
    """
    for place, item in enumerate(records):
        where = f"{path}, [{place}]"
        record = as_object(item, where)
        *rows, asked = _rows(record, where)
        topics = _topics(asked)
        said = [_turn(row, number) for number, row in enumerate(rows, 1)]
        gold = [f"t{number}" for number, row in enumerate(rows, 1) if topics & _topics(row)]
        name, category = str(member(record, "id", where)), optional_text(record, "type", where)
        yield name, category, said, str(asked["value"]), gold


def _rows(record: Mapping[str, object], where: str) -> list[Mapping[str, object]]:
    """The turns with words: one at least, and the question."""
    where = f"{where}.conversations"
    rows = [
        as_object(row, f"{where}[{number}]")
        for number, row in enumerate(as_list(record.get("conversations"), where))
    ]
    rows = [
        row
        for number, row in enumerate(rows)
        if optional_text(row, "value", f"{where}[{number}]").strip()
    ]
    if len(rows) < 2:
        raise BadInput("it needs a turn with words, and a question after it", where)
    return rows


def _topics(row: Mapping[str, object]) -> set[str]:
    return set(_TOPIC.findall(str(row.get("turn-info") or "")))


def _turn(row: Mapping[str, object], number: int) -> Utterance:
    person = row.get("from") == "human"
    return Utterance(
        text=str(row["value"]),
        speaker="user" if person else "assistant",
        role="user" if person else "assistant",
        at=START + timedelta(minutes=number),
        key=f"t{number}",
    )
