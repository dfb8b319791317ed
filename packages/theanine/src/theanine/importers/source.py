"""Sources of histories: a file, a stream or a folder; always UTF-8."""

from __future__ import annotations

import io
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from theanine.errors import BadInput
from theanine.importers.schema import as_object, parse

_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Source:
    """Named bytes that are read once; the first lines can be peeked at.

    Attributes:
        name: its name in messages: the file's name, or ``standard input``.
        path: the file, or None for a stream.
    """

    def __init__(self, stream: BinaryIO, name: str, path: Path | None = None) -> None:
        self.name = name
        self.path = path
        self._stream = stream
        self._ahead: list[bytes] = []

    @property
    def suffix(self) -> str:
        """The file name's suffix in lower case, with its dot; empty for a stream."""
        return self.path.suffix.lower() if self.path else ""

    def peek(self, count: int) -> list[str]:
        """Return the first ``count`` lines that aren't blank, stripped; invalid UTF-8 replaced."""
        while len(self._ahead) < 1000 and sum(1 for line in self._ahead if line.strip()) < count:
            line = self._stream.readline()
            if not line:
                break
            self._ahead.append(self._without_mark(line) if not self._ahead else line)
        lines = [line.decode("utf-8", errors="replace").strip() for line in self._ahead]
        return [line for line in lines if line][:count]

    def lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield number (from 1), byte offset and bytes of each line that isn't blank."""
        self.peek(1)
        number, offset = 0, self._skipped
        while True:
            line = self._ahead.pop(0) if self._ahead else self._stream.readline()
            if not line:
                return
            number += 1
            if line.strip():
                yield number, offset, line
            offset += len(line)

    def text(self) -> str:
        """Return the whole text. Raises BadInput if it isn't UTF-8."""
        self.peek(1)
        ahead, self._ahead = self._ahead, []
        return decode(b"".join(ahead) + self._stream.read(), self.name, self._skipped)

    _skipped = 0

    def _without_mark(self, line: bytes) -> bytes:
        if line.startswith(_UTF16_MARKS):
            raise BadInput("this is UTF-16; save or convert it as UTF-8", self.name)
        if line.startswith(_UTF8_MARK):
            self._skipped = len(_UTF8_MARK)
            return line[len(_UTF8_MARK) :]
        return line


def decode(data: bytes, where: str, offset: int = 0) -> str:
    """Decode UTF-8. Raises BadInput with the byte, counted from ``offset`` before the data."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise BadInput(
            f"not UTF-8 at byte {offset + fault.start} (0x{data[fault.start]:02x}); "
            "convert it to UTF-8",
            where,
        ) from None


@contextmanager
def opened(source: Path | TextIO) -> Generator[Source]:
    """Open a file or a text stream as a source. A stream isn't closed.

    Raises:
        BadInput: the file is missing or can't be read.
    """
    if not isinstance(source, Path):
        yield Source(_bytes_of(source), "standard input")
        return
    try:
        stream = source.open("rb")
    except OSError as fault:
        reason = (fault.strerror or "can't be read").lower()
        raise BadInput(f"{reason}; check the path", str(source)) from None
    with stream:
        yield Source(stream, source.name, source)


def _bytes_of(stream: TextIO) -> BinaryIO:
    binary: BinaryIO | None = getattr(stream, "buffer", None)
    if binary is not None:
        return binary
    text = stream.read()
    try:
        return io.BytesIO(text.encode("utf-8"))
    except UnicodeEncodeError as fault:
        raise BadInput(
            f"a lone surrogate (U+{ord(text[fault.start]):04X}) at character {fault.start}; "
            "take it out",
            "standard input",
        ) from None


_SESSION_FOLDER = re.compile(r"session_(\d+)")


def files_in(folder: Path) -> Sequence[Path]:
    """Return the files to read of a folder, in order.

    They are ``conversations*.json`` of a ChatGPT export; ``chat.json`` of each of BEAM's chats, or
    its truncated version if there is one; ``session_N/*.jsonl`` of Multi-Session Chat, the longest
    histories first.

    Raises:
        BadInput: the folder has none of these.
    """
    if files := sorted(folder.glob("conversations*.json")):
        return files

    def number(chat: Path) -> tuple[int, str]:
        return (int(chat.name) if chat.name.isdecimal() else 0, chat.name)

    chats = sorted({file.parent for file in folder.glob("*/chat.json")}, key=number)
    if (folder / "chat.json").exists():
        chats.insert(0, folder)
    if chats:
        # The published name of the truncated chats is misspelled.
        versions = [(chat / "chat_trunecated.json", chat / "chat.json") for chat in chats]
        return [short if short.exists() else whole for short, whole in versions]
    sessions = [
        (int(match[1]), path)
        for path in folder.iterdir()
        if (match := _SESSION_FOLDER.fullmatch(path.name))
    ]
    if files := [
        f for _, path in sorted(sessions, reverse=True) for f in sorted(path.glob("*.jsonl"))
    ]:
        return files
    raise BadInput(
        "a folder without conversations*.json, chat.json or session_N/*.jsonl; name the files",
        str(folder),
    )


def is_store_export(source: Path | TextIO) -> bool:
    """Return whether a file or stream is the export of a whole store.

    A stream isn't consumed; one that can't be peeked at without consuming it gives False.
    """
    if isinstance(source, Path):
        if source.is_dir():
            return False
        with opened(source) as file:
            return starts_export(file)
    peek = getattr(getattr(source, "buffer", None), "peek", None)
    if peek is not None:
        return _is_export_line(bytes(peek(1 << 16)).split(b"\n")[0].decode("utf-8", "replace"))
    if not source.seekable():
        return False
    position = source.tell()
    line = source.readline(1 << 16)
    source.seek(position)
    return _is_export_line(line)


def starts_export(source: Source) -> bool:
    """Return whether an opened source is the export of a whole store, without consuming it."""
    return any(_is_export_line(line) for line in source.peek(1))


def _is_export_line(line: str) -> bool:
    """An export's first line is an object with a type, but without a turn's fields."""
    try:
        record = as_object(parse(line.removeprefix("\ufeff").strip(), ""), "")
    except BadInput:
        return False
    return isinstance(record.get("type"), str) and not {"speaker", "text"} <= record.keys()
