"""The export of a whole store: only told apart here, as restoring it is the store's work.

Its first line is an object with a ``type`` and none of a turn's ``speaker`` and ``text``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from theanine.errors import BadInput
from theanine.importers.fields import as_object, parse
from theanine.importers.source import Source, opened


def is_store_export(source: Path | TextIO) -> bool:
    """Whether a file, or a stream that can be looked into, holds a whole store's export.

    A stream is not used up. One that can't be looked into without using it up is taken for none.
    """
    if isinstance(source, Path):
        if source.is_dir():
            return False
        with opened(source) as file:
            return first_is_dump(file)
    peek = getattr(getattr(source, "buffer", None), "peek", None)
    if peek is not None:
        return _line_is_dump(bytes(peek(1 << 16)).split(b"\n")[0].decode("utf-8", "replace"))
    if not source.seekable():
        return False
    place = source.tell()
    line = source.readline(1 << 16)
    source.seek(place)
    return _line_is_dump(line)


def first_is_dump(source: Source) -> bool:
    """The same for an opened source, which can be read afterwards."""
    return any(_line_is_dump(line) for line in source.peek(1))


def _line_is_dump(line: str) -> bool:
    try:
        record = as_object(parse(line.removeprefix("\ufeff").strip(), ""), "")
    except BadInput:
        return False
    return isinstance(record.get("type"), str) and not {"speaker", "text"} <= record.keys()
