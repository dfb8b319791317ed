"""No words are lost, and one odd thing costs one thing: exports with a field planted or damaged."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any, cast

import pytest

from support.history_samples import save
from support.planting import STRUCTURE, Step, at, leaves, log_of
from support.rich_exports import RICH, Rich
from theanine.errors import BadInput
from theanine.importers import ImportedHistories, read_histories
from theanine.importers.base import CUT_OFF
from theanine.importers.words import is_prose
from theanine.importers.written_dates import any_time

MARKUP = frozenset({"Prompted", "Said", "document", "dayone", "moment"})
"""Words of the services themselves."""


def read(rich: Rich, value: Any, folder: Path, **options: Any) -> ImportedHistories:
    content = "".join(json.dumps(line) + "\n" for line in value) if rich.lines else value
    return read_histories(save(folder, rich.file, content), **options)


def fields(value: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    if isinstance(value, dict):
        for key, each in cast("dict[str, Any]", value).items():
            yield (*path, key)
            yield from fields(each, (*path, key))
    elif isinstance(value, list):
        for i, each in enumerate(cast("list[Any]", value)):
            yield from fields(each, (*path, i))


def words_of(rich: Rich) -> dict[tuple[Step, ...], list[str]]:
    """Return the words that come in of an undamaged export, by their places."""
    found: dict[tuple[Step, ...], list[str]] = {}
    for path, text in leaves(rich.value):
        if isinstance(text, str) and is_prose(text) and not {"header", "products"} & set(path):
            if any_time(text, UTC):
                continue
            found[path] = re.findall(r"[^\W\d_]{3,}", re.sub(r"<[^<>]*>|[\"\w]+\":", " ", text))
    return found


@pytest.mark.parametrize("name", RICH)
def test_all_words_of_a_rich_export_come_in(name: str, tmp_path: Path) -> None:
    rich = RICH[name]
    reading = read(rich, rich.value, tmp_path)
    assert reading.format == name
    log = log_of(reading)
    for path, words in words_of(rich).items():
        assert [word for word in words if word not in log and word not in MARKUP] == [], path


@pytest.mark.parametrize("name", RICH)
def test_a_word_in_any_field_is_logged_or_noted(name: str, tmp_path: Path) -> None:
    rich = RICH[name]
    before = Counter(read(rich, rich.value, tmp_path).notes)
    lost: list[str] = []
    for number, (path, old) in enumerate(leaves(rich.value)):
        key = next(step for step in reversed(path) if isinstance(step, str))
        if not isinstance(old, str) or key in STRUCTURE:
            continue
        value = copy.deepcopy(rich.value)
        planted = f"Kestrel{number}x lands softly."
        at(value, path[:-1])[path[-1]] = planted
        reading = read(rich, value, tmp_path)
        more = Counter(reading.notes) - before
        if f"Kestrel{number}x" not in log_of(reading) and not more and not reading.rejected:
            lost.append(f"{path} {dict(reading.notes)}")
    assert lost == []


@pytest.mark.parametrize("name", RICH)
def test_a_new_field_with_words_is_logged_or_noted(name: str, tmp_path: Path) -> None:
    rich = RICH[name]
    before = Counter(read(rich, rich.value, tmp_path).notes)
    holders = {path[:-1] for path in fields(rich.value)}
    lost: list[str] = []
    for number, path in enumerate(sorted(holders, key=str)):
        if rich.lines and len(path) == 1 and number > 4:
            continue
        value = copy.deepcopy(rich.value)
        at(value, path)["novelty"] = f"Kestrel{number}x lands softly."
        reading = read(rich, value, tmp_path)
        more = Counter(reading.notes) - before
        if f"Kestrel{number}x" not in log_of(reading) and not more and not reading.rejected:
            lost.append(f"{path} {dict(reading.notes)}")
    assert lost == []


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("name", RICH)
def test_one_missing_field_costs_one_thing(name: str, null: bool, tmp_path: Path) -> None:
    rich = RICH[name]
    whole = log_of(read(rich, rich.value, tmp_path))
    words = {p: [x for x in w if x in whole] for p, w in words_of(rich).items()}
    faults: list[str] = []
    for path in fields(rich.value):
        value = copy.deepcopy(rich.value)
        if null:
            at(value, path[:-1])[path[-1]] = None
        else:
            del at(value, path[:-1])[path[-1]]
        others = {p: w for p, w in words.items() if p[: len(path)] != path and len(p) > 2}
        try:
            log = log_of(read(rich, value, tmp_path))
        except BadInput as fault:
            if others and not is_container(rich.value, path):
                faults.append(f"{path}: {fault}"[:200])
            continue
        for place, each in others.items():
            if [word for word in each if word not in log]:
                faults.append(f"{path}: lost {place}")
    assert faults == []


@pytest.mark.parametrize("name", RICH)
def test_of_a_cut_export_what_is_whole_comes_in_and_the_loss_is_noted(
    name: str, tmp_path: Path
) -> None:
    rich = RICH[name]
    lines = cast("list[Any]", rich.value) if rich.lines else [rich.value]
    text = "\n".join(json.dumps(line) for line in lines)
    whole = reading = read(rich, rich.value, tmp_path)
    end = len(text.rstrip("]}"))
    start = text.rindex("\n") + 2 if rich.lines else len(text) // 2
    for cut in (*range(start, end, max(1, (end - start) // 20)), end):
        try:
            reading = read_histories(save(tmp_path, rich.file, text[:cut]))
        except BadInput:  # nothing was whole yet
            continue
        assert reading.notes[CUT_OFF] == 1
        assert reading.rejected
        with pytest.raises(BadInput):
            read_histories(tmp_path / rich.file, strict=True)
    if not rich.lines:  # cut off after its last words
        assert re.findall(r"\w+", log_of(reading)) == re.findall(r"\w+", log_of(whole))


def is_container(value: Any, path: tuple[Step, ...]) -> bool:
    """Return whether all messages are at a path or below."""
    inner = at(value, path)
    return isinstance(inner, list | dict) and len(json.dumps(inner)) * 2 > len(json.dumps(value))
