"""Sources of histories: the bytes of a file or a stream, which can be read several times."""

from __future__ import annotations

import codecs
import io
import json
import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from theanine.errors import BadInput
from theanine.importers.charsets import guessed_charset, is_utf8
from theanine.importers.json_stream import whole_part
from theanine.importers.schema import Object, as_object, is_object, parse

_CONTROLS = bytes({*range(32)} - {*b"\t\n\r"})
_VALUE = rb'(?!["{\[\s]|(?:-?\d[\d.eE+-]*|true|false|null)\s*(?:[,}\]]|$))'
_UNQUOTED = re.compile(
    rb'(?m)^([ \t]*"[^"\\\n]*"[ \t]*:[ \t]*)' + _VALUE + rb"([^\n]+?)(,?[ \t]*\r?)$"
)
_WRONG: Mapping[re.Pattern[bytes], Callable[[re.Match[bytes]], bytes]] = {
    # An escape that JSON lacks, such as Telegram's \x0B.
    re.compile(rb'(?<!\\)((?:\\\\)*)\\(?!["\\/bfnrtu])(?:x([0-9A-Fa-f]{2}))?'): lambda found: (
        found[1] + (rb"\u00" + found[2] if found[2] else rb"\\")
    ),
    re.compile(b"[%s]" % re.escape(_CONTROLS)): lambda found: b"\\u%04x" % ord(found[0]),
    # A value without quotation marks, in JSON that has a line for each field.
    _UNQUOTED: lambda found: (
        found[1] + json.dumps(found[2].decode("utf-8", "replace")).encode() + found[3]
    ),
}
"""Patterns of invalid JSON that some programs write, with the valid JSON for each match."""
_ASSIGNED = re.compile(
    rb"\s*(?:(?:var|let|const)\s+\w{1,80}|(?:window|self|globalThis)\.[\w.]{1,120})\s*=\s*(?=[\[{])"
)
"""The beginning of a script that assigns JSON to a name, up to the JSON."""
_OPENING, _CLOSING = (b"{", b"["), (b"}", b"]")
_ODD_ESCAPE, _ODD_VALUE = re.compile(rb'\\[^"/bfnrtu]'), re.compile(rb'":[ \t]*' + _VALUE)


def _temporary_file() -> BinaryIO:
    """Return an empty file, in main memory while it is small; whoever reads it closes it."""
    return cast("BinaryIO", tempfile.SpooledTemporaryFile(_IN_MEMORY))


def _is_wrong(block: bytes) -> bool:
    """Return whether a block has something wrong, by what can be found fast."""
    has_value = _ODD_VALUE.search(block) and _UNQUOTED.search(block)
    escapes = block.replace(rb"\\", b"")
    has_control = len(block.translate(None, _CONTROLS)) < len(block)
    return bool(has_control or has_value or _ODD_ESCAPE.search(escapes))


STANDARD_INPUT = "standard input"
"""The name of a stream in messages."""

_UTF8_MARK = b"\xef\xbb\xbf"
_WIDE = 0.02
"""The share of a text's characters that are ASCII at least, which have a zero byte in UTF-16."""
_WIDE_MARKS = {
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
_PRINTABLE = b" ~"
_HEAD = 1 << 16
_MAX_LINE = 64 << 20
_IN_MEMORY = 8 << 20
_BLOCK = 1 << 20
_END = 80


class Source:
    """Named bytes, read from the start as often as needed.

    Attributes:
        name: its name in messages: the file's name, or ``standard input``.
        path: the file, or None for a stream or a member of an archive.
        modified: when it was last changed, aware; None if unknown.
        head: its first bytes after a byte order mark, at most 64 KiB.
    """

    def __init__(
        self,
        stream: BinaryIO,
        name: str,
        path: Path | None = None,
        modified: datetime | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self.modified = modified
        self._stream = stream
        stream.seek(0)
        self.head = stream.read(_HEAD)
        if codec := _wide_codec(self.head):
            self._stream = _recoded(stream, codec)
            weakref.finalize(self, self._stream.close)
            self.head = self._stream.read(_HEAD)
        self._skipped = len(_UTF8_MARK) if self.head.startswith(_UTF8_MARK) else 0
        self.head = self.head[self._skipped :]

    @property
    def suffix(self) -> str:
        """The suffix of its name in lower case, with its dot; empty if it has none."""
        return Path(self.name).suffix.lower()

    @property
    def stem(self) -> str:
        """Its name without folder and suffix."""
        return Path(self.name).stem

    def unpacked(self) -> Source:
        """Return the JSON document that is written in a text or a script, if the source is such."""
        if assigned := _ASSIGNED.match(self.head):
            copy = _temporary_file()
            stream = self.raw()
            stream.seek(self._skipped + assigned.end())
            shutil.copyfileobj(stream, copy)
            end = copy.tell()
            copy.seek(max(0, end - _END))
            tail = copy.read()
            copy.truncate(end - len(tail) + len(tail.rstrip(b"; \r\n\t")))
            return self._replaced(copy)
        if self.head.lstrip().startswith((b'"{', b'"[', b'"\\n')):
            with suppress(BadInput):
                text = parse(self.text(), "")
                if isinstance(text, str) and text.lstrip().startswith(("{", "[")):
                    return self._replaced(io.BytesIO(text.encode("utf-8", "replace")))
        return self

    def put_right(self) -> Source:
        """Return it with the JSON that programs write wrongly as it was meant; or itself."""
        if not any(map(_is_wrong, self._blocks())):
            return self
        copy = _temporary_file()
        for block in self._blocks():
            for wrong, right in _WRONG.items():
                block = wrong.sub(right, block)
            copy.write(block)
        return self._replaced(copy)

    def completed(self) -> Source:
        """Return what is whole of JSON that is cut off at its end as a document; or itself."""
        left_open = size = 0
        for block in self._blocks():
            left_open += sum(map(block.count, _OPENING)) - sum(map(block.count, _CLOSING))
            if (size := size + len(block)) > _MAX_LINE:  # too large for the main memory
                return self
        whole = whole_part(self.stream(), self.name) if left_open else None
        return self._replaced(io.BytesIO(json.dumps(whole).encode())) if whole else self

    def in_utf8(self) -> tuple[Source, str]:
        """Return a text of which lines are in another charset in UTF-8, with it; or itself.

        Lines that are UTF-8 stay so, as a log can have several writers.
        """
        if all(map(_is_whole, self._blocks())):
            return self, ""
        odd = b"".join(line for _, _, line in self.lines() if not is_utf8(line))
        charset = guessed_charset(odd) if odd else "utf-8"
        copy = _temporary_file()
        for _, _, line in self.lines(blank=True):
            text = line.decode("utf-8" if is_utf8(line) else charset, "replace")
            copy.write(text.encode())
        return self._replaced(copy), charset

    def _replaced(self, stream: BinaryIO) -> Source:
        source = Source(stream, self.name, self.path, self.modified)
        weakref.finalize(source, stream.close)
        return source

    def _blocks(self) -> Iterator[bytes]:
        """Yield its bytes in blocks that end with a line, or before a string of JSON."""
        stream, pieces = self.stream(), list[bytes]()
        while block := stream.read(_BLOCK):
            end = max(map(block.rfind, (b"\n", b',"', b', "'))) + 1
            if not end and len(pieces) * _BLOCK > _MAX_LINE:
                end = len(block)
            if end:
                yield b"".join([*pieces, block[:end]])
                pieces.clear()
            pieces.append(block[end:])
        yield b"".join(pieces)

    def raw(self) -> BinaryIO:
        """Return its bytes from the very start."""
        self._stream.seek(0)
        return self._stream

    def stream(self) -> BinaryIO:
        """Return its bytes after a byte order mark."""
        self._stream.seek(self._skipped)
        return self._stream

    def peek(self, count: int) -> list[str]:
        """Return the first ``count`` lines that aren't blank, stripped; invalid UTF-8 replaced.

        A line that doesn't fit into the first 64 KiB is cut.
        """
        text = self.head.decode("utf-8", errors="replace")
        lines = [line.strip() for line in text.split("\n")]
        return [line for line in lines if line][:count]

    def lines(self, *, blank: bool = False) -> Iterator[tuple[int, int, bytes]]:
        """Yield number (from 1), byte offset and bytes of each line, also of a ``blank`` one.

        Raises:
            BadInput: a line is longer than 64 MiB.
        """
        stream, offset, number = self.stream(), self._skipped, 0
        while line := stream.readline(_MAX_LINE + 1):
            number += 1
            if len(line) > _MAX_LINE:
                raise BadInput("longer than 64 MiB; split it", f"{self.name}, line {number}")
            if blank or line.strip():
                yield number, offset, line
            offset += len(line)

    def text(self) -> str:
        """Return the whole text. Raises BadInput if it isn't UTF-8."""
        return decode(self.stream().read(), self.name, self._skipped)


def _wide_codec(head: bytes) -> str:
    """Return the codec of a text in UTF-16 or UTF-32, by its mark or by its zeros; else nothing.

    Without a mark, the zeros of ASCII characters are at odd or at even places, and most other
    pairs of bytes aren't two characters of ASCII, as they are in a text with stray zeros.
    """
    marks = {mark: codec for codec, mark in _WIDE_MARKS.items() if head.startswith(mark)}
    if marks:
        return marks[max(marks, key=len)]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) <= max(_WIDE * len(head) / 2, 4 * min(even, odd)):
        return ""
    pairs = list(zip(head[::2], head[1::2], strict=False))
    narrow = sum(_PRINTABLE[0] <= min(pair) and max(pair) <= _PRINTABLE[1] for pair in pairs)
    if narrow * 2 >= len(pairs) or (0, 0) in pairs:
        return ""
    return "utf-16-be" if even > odd else "utf-16-le"


def _recoded(stream: BinaryIO, codec: str) -> BinaryIO:
    """Return a text in UTF-8, at its beginning; what can't be decoded is replaced."""
    copy = _temporary_file()
    stream.seek(0)
    decoder = codecs.getincrementaldecoder(codec)("replace")
    while block := stream.read(_HEAD):
        copy.write(decoder.decode(block).encode("utf-8", "replace"))
    copy.write(decoder.decode(b"", final=True).encode("utf-8", "replace"))
    copy.seek(0)
    return copy


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


def _is_whole(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def require_file(path: Path) -> None:
    """Raise BadInput for what is there but is no file: to read it could take for ever."""
    with suppress(OSError):  # which reading it will report
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise BadInput(
                "it is no file but a pipe or a device; pass its content as standard input: "
                "`theanine import - < FILE`",
                str(path),
            )


@contextmanager
def opened(source: Path | TextIO) -> Generator[Source]:
    """Open a file or a text stream as a source. A stream is read to its end, but not closed.

    Raises:
        BadInput: the file is missing or can't be read.
    """
    if not isinstance(source, Path):
        with _copied(source) as stream:
            yield Source(stream, STANDARD_INPUT)
        return
    require_file(source)
    try:
        stream = source.open("rb")
    except OSError as fault:
        reason = (fault.strerror or "can't be read").lower()
        raise BadInput(f"{reason}; check the path", str(source)) from None
    with stream:
        modified = datetime.fromtimestamp(source.stat().st_mtime, UTC)
        yield Source(stream, source.name, source, modified)


def read_text(stream: TextIO) -> str:
    """Return the text of a stream. Raises BadInput that names the first byte that isn't UTF-8."""
    with opened(stream) as source:
        return source.text()


@contextmanager
def _copied(stream: TextIO) -> Generator[BinaryIO]:
    """Copy a stream into a temporary file, in memory while it is small."""
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as copy:
        shutil.copyfileobj(_bytes_of(stream), copy)
        yield cast("BinaryIO", copy)


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
            STANDARD_INPUT,
        ) from None


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


def read_export(source: Path | TextIO, *, partial: bool = False) -> Iterator[Object]:
    """Yield the records of a store's export, reading as it goes.

    Of a part (``partial``), a last line that was cut off is left out. Raises BadInput for a line
    that is not a JSON object.
    """
    name = str(source) if isinstance(source, Path) else STANDARD_INPUT
    with ExitStack() as stack:
        if isinstance(source, Path):
            source = stack.enter_context(source.open(encoding="utf-8-sig", newline="\n"))
        try:
            for number, line in enumerate(source, 1):
                where = f"{name}, line {number}"
                if not line.strip():
                    continue
                try:
                    yield as_object(parse(line, where), where)
                except BadInput:
                    if partial and not line.endswith("\n"):
                        return
                    raise
        except UnicodeDecodeError as error:
            raise BadInput(f"not valid UTF-8: {error.reason}", name) from None


def starts_export(source: Source) -> bool:
    """Return whether an opened source is the export of a whole store."""
    return b'"type"' in source.head and any(_is_export_line(line) for line in source.peek(1))


def _is_export_line(line: str) -> bool:
    """An export's first line names theanine; each other line names the scope that owns it."""
    try:
        record = as_object(parse(line.removeprefix("\ufeff").strip(), ""), "")
    except BadInput:
        return False
    return record.get("type") == "theanine" or ("type" in record and is_object(record.get("scope")))
