"""Where a history is read from: a file or a stream, as lines or whole, always UTF-8."""

from __future__ import annotations

import io
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from theanine.errors import BadInput

_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Source:
    """Bytes with a name, read once; the first lines can be looked at beforehand.

    Attributes:
        name: what error messages call it: the file's name, or ``standard input``.
        path: the file, or None for a stream.
    """

    def __init__(self, stream: BinaryIO, name: str, path: Path | None = None) -> None:
        self.name = name
        self.path = path
        self._stream = stream
        self._ahead: list[bytes] = []

    @property
    def suffix(self) -> str:
        """The file name's ending in lower case, with its dot; empty for a stream."""
        return self.path.suffix.lower() if self.path else ""

    def peek(self, count: int) -> list[str]:
        """The first ``count`` lines that aren't blank, stripped; what is no text replaced."""
        while len(self._ahead) < 1000 and sum(1 for line in self._ahead if line.strip()) < count:
            line = self._stream.readline()
            if not line:
                break
            self._ahead.append(self._without_mark(line) if not self._ahead else line)
        lines = [line.decode("utf-8", errors="replace").strip() for line in self._ahead]
        return [line for line in lines if line][:count]

    def lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Every line that isn't blank, with its number from 1 and its byte offset in the source."""
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
        """All of it. Raises BadInput where it isn't UTF-8."""
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
    """The text of UTF-8 bytes; ``offset`` is where they begin in their file."""
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
    """A file or a text stream as a Source. A stream is left open; its bytes are used if it has any.

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
