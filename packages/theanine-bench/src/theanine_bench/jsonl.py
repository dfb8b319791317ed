"""JSON Lines files that survive a kill of the writer."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from theanine.errors import BadInput


def append_line(file: Path, line: str) -> None:
    """Append a line and flush it to disk, after repairing a last line that a kill cut off."""
    with file.open("ab+") as out:
        _repair_end(out)
        out.write(line.encode() + b"\n")
        out.flush()
        os.fsync(out.fileno())


def read_lines(file: Path) -> Iterator[tuple[Any, str]]:
    """Yield each line's value and its place, for messages; nothing if the file is missing.

    A last line that a kill cut off is skipped. Raises BadInput for any other invalid line.
    """
    lines = file.read_bytes().split(b"\n") if file.exists() else []
    for number, line in enumerate(lines, 1):
        where = f"{file}, line {number}"
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError:
            if number == len(lines):  # not even its newline was written
                return
            raise BadInput("invalid JSON", where) from None
        yield value, where


def _repair_end(out: BinaryIO) -> None:
    """Make the file end in a newline: complete the last line, or remove it if it is no JSON."""
    out.seek(max(0, out.tell() - 1))
    if out.read(1) in (b"", b"\n"):
        return
    out.seek(0)
    text = out.read()
    start = text.rfind(b"\n") + 1
    try:
        json.loads(text[start:])
    except ValueError:
        out.truncate(start)
    else:
        out.write(b"\n")
