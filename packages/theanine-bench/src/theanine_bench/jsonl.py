"""Files of JSON lines that grow line by line, whatever kills the writer."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from theanine.errors import BadInput


def append_line(file: Path, line: str) -> None:
    """Append a line of JSON, durably. The last one is ended where it lacks its end, or goes."""
    with file.open("ab+") as out:
        _mend(out)
        out.write(line.encode() + b"\n")
        out.flush()
        os.fsync(out.fileno())


def read_lines(file: Path) -> Iterator[tuple[Any, str]]:
    """Each line's value, and where it stands; nothing where there is no such file.

    A last line that a kill cut off is left out. Raises BadInput for any other that is no JSON.
    """
    lines = file.read_bytes().split(b"\n") if file.exists() else []
    for place, line in enumerate(lines, 1):
        where = f"{file}, line {place}"
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError:
            if place == len(lines):
                return  # nothing follows it, not even the end of its line
            raise BadInput("no JSON", where) from None
        yield value, where


def _mend(out: BinaryIO) -> None:
    """Leave the file at its end, behind the end of a line."""
    out.seek(max(0, out.tell() - 1))
    if out.read(1) in (b"", b"\n"):
        return
    out.seek(0)
    text = out.read()
    whole = text.rfind(b"\n") + 1
    try:
        json.loads(text[whole:])
    except ValueError:
        out.truncate(whole)
    else:
        out.write(b"\n")
