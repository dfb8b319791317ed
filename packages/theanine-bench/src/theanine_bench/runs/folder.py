"""A run's folder: its settings, its store with the journal, and its items as they come."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from theanine.errors import BadInput, SettingsError
from theanine_bench.jsonl import append_line, read_lines
from theanine_bench.runs.item import Item

SETTINGS, ITEMS, SUMMARY, REPORT, STORE, COMMAND = (
    "settings.json",
    "items.jsonl",
    "summary.json",
    "report.html",
    "memory.db",
    "command.txt",
)


class RunFolder:
    """Where one run lives. Items are appended, each whole; a run that was cut off goes on."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def store(self) -> Path:
        """The run's store."""
        return self.path / STORE

    def begin(self, settings: Mapping[str, Any]) -> None:
        """Make the folder, or go on with a run of the same settings.

        Raises SettingsError, naming what differs, for the folder of another run, and where there
        can be no folder.
        """
        try:
            self._begin(settings)
        except OSError as error:
            raise SettingsError(
                f"{self.path} can't be a run's folder: {error.strerror}; name another"
            ) from None

    def _begin(self, settings: Mapping[str, Any]) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        wanted = json.loads(json.dumps(dict(settings)))
        file = self.path / SETTINGS
        if not file.exists():
            if strangers := sorted(one.name for one in self.path.iterdir()):
                raise SettingsError(
                    f"{self.path} holds {strangers[0]} and no run; name an empty or a new folder"
                )
            write_whole(file, _pretty(wanted))
            return
        for name, old, new in _differences(_record(file, ()), wanted):
            raise SettingsError(
                f"{self.path} holds a run with other settings ({name}: {old!r}, now {new!r}); give "
                "the same ones to go on with it, or name a new folder"
            )

    def settings(self) -> dict[str, Any]:
        """What the run was begun with. Raises BadInput where there is no run."""
        file = self.path / SETTINGS
        if not file.exists():
            raise BadInput("it holds no run: settings.json is missing", str(self.path))
        found = _record(file, ("bench", "cases", "measures", "setup"))
        if not isinstance(found["setup"], dict) or "method" not in found["setup"]:
            raise BadInput("it is not what a run writes: its setup names no method", str(file))
        return found

    def items(self) -> dict[str, Item]:
        """What is done so far, by id; the last one counts. A line cut off by a kill is dropped.

        Raises BadInput for a damaged line that is not the last.
        """
        found = (read_item(*line) for line in read_lines(self.path / ITEMS))
        return {item.id: item for item in found}

    def items_of(self, ids: Collection[str]) -> dict[str, Item]:
        """The same, of a run that asks these. Raises BadInput where it holds others."""
        found = self.items()
        if others := [id for id in found if id not in ids]:
            raise BadInput(
                f"it holds {len(others)} items that this run doesn't ask for, such as "
                f"{others[0]!r}; name another folder, or move {ITEMS} away",
                str(self.path),
            )
        return found

    def add(self, item: Item) -> None:
        """Append an item, durably; a line that a kill cut off goes."""
        append_line(self.path / ITEMS, lines_of([item])[:-1])

    def arrange(self, order: Iterable[str]) -> list[Item]:
        """Put the items in the plan's order, once each; gives them."""
        known = self.items()
        items = [known[id] for id in order if id in known]
        write_whole(self.path / ITEMS, lines_of(items))
        return items

    def write(self, name: str, text: str) -> Path:
        """Write a file of the folder, whole or not at all."""
        write_whole(self.path / name, text)
        return self.path / name

    def summary(self) -> dict[str, Any]:
        """The summary. Raises BadInput where the run isn't finished."""
        file = self.path / SUMMARY
        if not file.exists():
            raise BadInput("the run is not finished: summary.json is missing", str(self.path))
        return _record(file, ("cases", "done", "measures", "categories", "corpus"))


def _differences(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[tuple[str, object, object]]:
    """Each setting that differs, the innermost name alone."""
    for name in dict.fromkeys((*old, *new)):
        one, two = old.get(name), new.get(name)
        if isinstance(one, dict) and isinstance(two, dict):
            yield from _differences(cast("dict[str, Any]", one), cast("dict[str, Any]", two))
        elif one != two:
            yield name, one, two


def read_item(record: object, where: str) -> Item:
    """An item from its JSON. Raises BadInput, naming the place, for one that is malformed."""
    known = {field.name for field in fields(Item)}
    if not isinstance(record, dict):
        raise BadInput("it is no item", where)
    values = cast("dict[str, Any]", record)
    if wrong := ({"id", "group", "asked"} - set(values)) | (set(values) - known):
        raise BadInput(f"it is no item: {', '.join(sorted(wrong))} missing or unknown", where)
    return Item(**values)


def lines_of(items: Iterable[Item]) -> str:
    """Items as JSON Lines, the same for the same items."""
    return "".join(
        json.dumps(item.record(), ensure_ascii=False, sort_keys=True) + "\n" for item in items
    )


def write_whole(file: Path, text: str) -> None:
    """Replace a file in one step: a kill leaves the old one or the new one."""
    part = file.with_name(f".{file.name}.part")
    with part.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    part.replace(file)


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def _record(file: Path, names: Collection[str]) -> dict[str, Any]:
    """The object in a file. Raises BadInput where it lacks one of these names."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise BadInput(f"no JSON ({error})", str(file)) from None
    record = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    if lacking := [name for name in names if name not in record]:
        raise BadInput(f"it is not what a run writes: it lacks {', '.join(lacking)}", str(file))
    return record
