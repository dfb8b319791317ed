"""Files: text, JSON and JSON Lines, hashes, and writes that survive a kill."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from theanine.errors import BadInput
from theanine.private_files import owner_only


def hash_files(path: Path) -> str:
    """SHA-256 of a file, or of all files of a folder with their names, in order."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            digest.update(f"{file.relative_to(path)}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def read_text(file: Path) -> str:
    """Return the text of a file in UTF-8. Raises BadInput."""
    try:
        return file.read_text("utf-8-sig")
    except OSError as error:
        raise BadInput(f"can't be read: {error.strerror}", str(file)) from None
    except ValueError:
        raise BadInput("can't be read: it is no text in UTF-8", str(file)) from None


def read_json(file: Path) -> Any:
    """Return the value of a JSON file, or the list of values of a JSON Lines file.

    Raises BadInput, with the line of a fault in JSON Lines.
    """
    text = read_text(file)
    if not text.strip():
        raise BadInput("it is empty", str(file))
    try:
        return json.loads(text)
    except RecursionError:
        raise BadInput("its JSON is nested too deeply", str(file)) from None
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2 or not lines[0].lstrip().startswith(("{", "[")):
            raise BadInput(f"invalid JSON: {error}", str(file)) from None
    return [value for value, _ in read_lines(file)]


def read_lines(file: Path, *, appended: bool = False) -> Iterator[tuple[Any, str]]:
    """Yield the value of each line of a JSON Lines file, and the line's place for messages.

    A file that :func:`append_line` writes (``appended``) may be missing, and a last line that a
    kill cut off is skipped. Raises BadInput for any other fault.
    """
    try:
        lines = file.read_bytes().split(b"\n") if file.exists() or not appended else []
    except OSError as error:
        raise BadInput(f"can't be read: {error.strerror}", str(file)) from None
    for number, line in enumerate(lines, 1):
        where = f"{file}, line {number}"
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except RecursionError:
            raise BadInput("its JSON is nested too deeply", where) from None
        except ValueError as error:
            if appended and number == len(lines):  # not even its newline was written
                return
            raise BadInput(f"invalid JSON: {error}", where) from None
        yield value, where


def append_line(file: Path, line: str) -> None:
    """Append a line and flush it to disk, after repairing a last line that a kill cut off."""
    with open(file, "ab+", opener=owner_only) as out:
        _repair_end(out)
        out.write(line.encode() + b"\n")
        out.flush()
        os.fsync(out.fileno())


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


def write_atomically(file: Path, text: str) -> None:
    """Replace a file in one step: a kill leaves the old one or the new one."""
    part = file.with_name(f".{file.name}.part")
    with open(part, "w", encoding="utf-8", opener=owner_only) as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    if file.exists():
        part.chmod(file.stat().st_mode)
    part.replace(file)
