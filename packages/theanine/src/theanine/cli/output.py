"""What commands write besides tables: JSON, files, and a progress bar."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from theanine import private_files
from theanine.cli.text import csv_cell, visible
from theanine.errors import SettingsError

_TIMES = {"at", "started_at", "ended_at", "session_ended_at"}
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True, kw_only=True)
class FormatOptions:
    """Options of a command that prints records."""

    as_json: JsonOption = False
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False

    def __post_init__(self) -> None:
        if self.as_json and self.as_csv:
            raise SettingsError("--json and --csv exclude each other: leave one out")

    def __bool__(self) -> bool:
        """Whether records are printed for another program."""
        return self.as_json or self.as_csv

    def show(self, records: Sequence[Any]) -> None:
        """Print records, dataclasses or mappings, in the format that was asked for."""
        if self.as_csv:
            show_csv(records)
        else:
            show_json(list(records))


def show_csv(records: Sequence[Any]) -> None:
    """Print records as CSV with a header; values that are no text or number are JSON."""
    rows = [to_json(record) for record in records]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {
                name: csv_cell(value if _is_number(value) else visible(_cell(value)))
                for name, value in row.items()
            }
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return json.dumps(value, default=json_default, ensure_ascii=False)
    return json_default(value)


def show_json(value: Any) -> None:
    """Print dataclasses, lists and mappings as indented JSON; times in ISO 8601."""
    value = to_json(value)
    print(visible(json.dumps(value, default=json_default, ensure_ascii=False, indent=2)))


def to_json(value: Any) -> Any:
    """Return dataclasses as mappings, at any depth.

    Times that only keep the order of an undated source are null.
    """
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, dict):
        converted = {k: to_json(v) for k, v in cast("dict[str, Any]", value).items()}
        if converted.get("dated") is False:
            converted |= dict.fromkeys(_TIMES & converted.keys())
        return converted
    if isinstance(value, list | tuple):
        return [to_json(item) for item in cast("list[Any]", value)]
    return value


def json_default(value: Any) -> str:
    """Return the text for a value that JSON has no form for; times in ISO 8601."""
    iso = getattr(value, "isoformat", None)
    return str(iso() if iso else value)


def confirm(question: str) -> None:
    """Ask on standard error whether to go on; exit with 1 if not. Raises SettingsError."""
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    try:
        answer = input()
    except EOFError:
        raise SettingsError(
            "there was no answer, so nothing was done; --yes goes on without asking"
        ) from None
    if answer.strip().casefold() not in ("y", "yes"):
        print("Nothing was done.", file=sys.stderr)
        raise typer.Exit(1)


@contextmanager
def resumable() -> Generator[None]:
    """Say at an interrupt that the same command resumes, and exit with 130."""
    try:
        yield
    except KeyboardInterrupt:
        print("interrupted: the same command resumes", file=sys.stderr)
        raise typer.Exit(130) from None


def check_writable(file: Path) -> None:
    """Raise SettingsError if a file can't be written; called before any work is done."""
    folder = file.absolute().parent
    if not folder.is_dir() or file.is_dir():
        raise SettingsError(f"{file} can't be written; name a file in an existing folder")
    if not os.access(file if file.exists() else folder, os.W_OK):
        what = "the file" if file.exists() else f"the folder {folder}"
        raise SettingsError(
            f"{file} can't be written: {what} is read-only; change its permissions or name another"
        )


def write_text(file: Path, text: str) -> None:
    """Write a file. Raises SettingsError if that fails."""
    try:
        private_files.write_text(file, text)
    except OSError as error:
        raise SettingsError(
            f"{file} can't be written ({error.strerror}); name another file"
        ) from error


@contextmanager
def progress(length: int, label: str = "") -> Generator[Callable[..., None]]:
    """Show a progress bar on standard error if that is a terminal.

    Yields a function to call after each step; it takes a new label, and ``count`` if the step is
    more than one of ``length``.
    """
    hidden = not sys.stderr.isatty()  # elsewhere the bar would leave its bare label behind
    with typer.progressbar(
        length=length, label=visible(label), hidden=hidden, file=sys.stderr
    ) as bar:

        def step(label: str = "", count: int = 1) -> None:
            bar.label = visible(label) or bar.label
            bar.update(count)

        yield step
