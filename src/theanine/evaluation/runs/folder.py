"""A run's folder: its settings, its store with the journal, and its items as they come."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from theanine.errors import BadInput, SettingsError
from theanine.evaluation.runs.item import Item

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

        Raises SettingsError, naming what differs, for the folder of another run.
        """
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
        for name, old, new in _differences(self.settings(), wanted):
            raise SettingsError(
                f"{self.path} holds a run with other settings ({name}: {old!r}, now {new!r}); give "
                "the same ones to go on with it, or name a new folder"
            )

    def settings(self) -> dict[str, Any]:
        """What the run was begun with. Raises BadInput where there is no run."""
        file = self.path / SETTINGS
        if not file.exists():
            raise BadInput("it holds no run: settings.json is missing", str(self.path))
        return cast("dict[str, Any]", _json(file))

    def items(self) -> dict[str, Item]:
        """What is done so far, by id; the last one counts. A line cut off by a kill is dropped.

        Raises BadInput for a damaged line that is not the last.
        """
        file = self.path / ITEMS
        if not file.exists():
            return {}
        found: dict[str, Item] = {}
        lines = file.read_bytes().split(b"\n")
        for place, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError:
                if place == len(lines):
                    break  # nothing follows it, not even the end of its line
                raise BadInput("no JSON", f"{file}, line {place}") from None
            item = read_item(record, f"{file}, line {place}")
            found[item.id] = item
        return found

    def add(self, item: Item) -> None:
        """Append an item, durably; a line that a kill cut off goes."""
        with (self.path / ITEMS).open("ab+") as out:
            out.seek(max(0, out.tell() - 1))
            if out.read(1) not in (b"", b"\n"):
                out.seek(0)
                out.truncate(out.read().rfind(b"\n") + 1)
            out.write(lines_of([item]).encode())
            out.flush()
            os.fsync(out.fileno())

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
        return cast("dict[str, Any]", _json(file))


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


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise BadInput(f"no JSON ({error})", str(file)) from None
