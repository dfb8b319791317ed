"""Damage a file: cut it, change its bytes, or change or delete a value of its JSON.

A file can be a folder, an archive or a database of JSON; its parts are read and written by name.
"""

from __future__ import annotations

import json
import re
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

_DEEP: Any = json.loads("[" * 300 + "]" * 300)
_VALUES: list[Any] = [
    *(None, True, "", "x", "\ud800", "a\0b", "2024-13-45T99:00", "9999-12-31T23:59:59-23:59"),
    *(-1, 0, 2**31, 2**63, 10**30, 1.5, 1e308, -1e308, float("nan"), float("inf")),
    *([], [1], [[]], {}, {"a": {}}, _DEEP),
]
_BYTES = [
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xe2\x80\xae",
    b"[" * 100_000,
    b'"',
    b"\n\n",
    b"\x1a",
]


def damaged(content: bytes, data: st.DataObject) -> bytes:
    """Return the bytes of a file of JSON, JSON Lines or anything else with one thing damaged."""
    lines = content.split(b"\n")
    parsed = [_parse(content)] if _parse(content) is not None else [_parse(line) for line in lines]
    found = [place for value in parsed for place in places(value)]
    if found and data.draw(st.integers(0, 3)):
        holder, key = data.draw(st.sampled_from(found))
        if data.draw(st.booleans()):
            holder[key] = data.draw(st.sampled_from(_VALUES))
        else:
            del holder[key]
        if len(parsed) == 1:
            return json.dumps(parsed[0]).encode()
        return b"\n".join(
            line if value is None else json.dumps(value).encode()
            for line, value in zip(lines, parsed, strict=True)
        )
    start = data.draw(st.integers(0, len(content)))
    match data.draw(st.sampled_from(["cut", "replace", "insert"])):
        case "cut":
            return content[:start]
        case "replace":
            return content[:start] + data.draw(st.binary(max_size=8)) + content[start + 4 :]
        case _:
            return content[:start] + data.draw(st.sampled_from(_BYTES)) + content[start:]


_ASSIGNED = re.compile(rb"^window\.[\w.]+ = ")
"""The beginning of a script that assigns JSON to a name."""


def _parse(text: bytes) -> Any:
    """Return a JSON object or list; None for anything else."""
    try:
        value: Any = json.loads(text)
    except ValueError:
        return None
    return value if type(value) in (dict, list) else None


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each key of an object and index of a list, with its holder."""
    if type(value) not in (dict, list):
        return
    keys: list[Any] = [*value] if type(value) is dict else [*range(len(value))]
    for key in keys:
        yield value, key
        yield from places(value[key])


def parsed(content: bytes) -> Iterator[Any]:
    """Yield the value of a JSON document, or those of its lines."""
    content = _ASSIGNED.sub(b"", content).rstrip(b";\n")
    try:
        yield json.loads(content)
    except ValueError:
        for line in content.splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                yield None


def read_files(file: Path) -> dict[str, bytes]:
    """Return the files below a path, those of an archive, or the values of a database."""
    if file.is_dir():
        return {str(each): each.read_bytes() for each in file.rglob("*") if each.is_file()}
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            return {each: archive.read(each) for each in archive.namelist()}
    if file.suffix == ".vscdb":
        with closing(sqlite3.connect(file)) as db:
            rows = db.execute("SELECT key, value FROM cursorDiskKV").fetchall()
            return {key: value.encode() for key, value in rows}
    return {str(file): file.read_bytes()}


def write_file(file: Path, path: str, values: list[Any]) -> None:
    """Write the values of one of the files that :func:`read_files` returns."""
    assigned = _ASSIGNED.match(read_files(file)[path])
    content = (assigned[0].decode() if assigned else "") + "\n".join(map(json.dumps, values))
    if zipfile.is_zipfile(file):
        files = {**read_files(file), path: content.encode()}
        with zipfile.ZipFile(file, "w") as archive:
            for each, text in files.items():
                archive.writestr(each, text)
    elif file.suffix == ".vscdb":
        with closing(sqlite3.connect(file)) as db, db:
            db.execute("UPDATE cursorDiskKV SET value = ? WHERE key = ?", (content, path))
    else:
        Path(path).write_text(content, "utf-8")
