"""Formats: what a reader of histories gets and returns.

A :class:`Format` recognizes its sources by their beginning and reads them as histories. An item
that can't be read becomes a fault with its place and the reason; reading goes on with the next
item, and ``read_histories`` decides what to do about faults.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Literal, NamedTuple, TypeVar, cast
from xml.etree.ElementTree import ParseError
from xml.parsers.expat.errors import XML_ERROR_NO_ELEMENTS, XML_ERROR_UNCLOSED_TOKEN, codes

from theanine.clock import fault_of_time
from theanine.errors import BadInput
from theanine.importers.dates import formatted_time, has_offset, iso_date_time
from theanine.importers.folder import Folder
from theanine.importers.json_stream import ITEMS, select
from theanine.importers.schema import (
    Object,
    as_object,
    check,
    has_keys,
    parse,
    parse_all,
    require_storable,
)
from theanine.importers.source import STANDARD_INPUT, Source, decode
from theanine.importers.wording import read_data
from theanine.importers.written_dates import ISO_DATE, NUMBER, any_time, find_date, written_time
from theanine.types import History, Role, Transcript, Utterance

T = TypeVar("T")

Kind = Literal["lines", "json", "text", "sqlite"]
"""The syntax of a source: a JSON value a line, one JSON value, plain text, or a database."""

PUT_RIGHT = "files whose JSON was put right"
CUT_OFF = "files that are cut off at their end"
_CUT_XML = (codes[XML_ERROR_NO_ELEMENTS], codes[XML_ERROR_UNCLOSED_TOKEN])
ZONELESS = "dates without a zone"


SPEAKERS: Mapping[Role, str] = {"user": "User", "assistant": "Assistant"}
"""Speakers' names in a chat that has only roles."""


class Rejected(NamedTuple):
    """An item that was left out: its place in the source, and why."""

    where: str
    reason: str


@dataclass(slots=True)
class Entry:
    """A turn as it was read; what the source doesn't say is empty or None.

    Attributes:
        where: its place in the source.
        role: turns of a ``tool`` are found, but never remembered as the user's.
        name: the speaker's.
        key: its id in the source.
        thread: of a turn in a thread, what all its turns have, or the key of its first turn.
    """

    where: str
    role: Role | None = None
    name: str = ""
    text: str = ""
    attachment: str = ""
    key: str | None = None
    at: datetime | None = None
    thread: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The caller's options; see :func:`theanine.importers.read_histories`."""

    zone: tzinfo | None = None
    start: datetime | None = None
    memories: bool = False
    name: str | None = None
    speaker: str | None = None
    strict: bool = False
    layout: Mapping[str, object] | None = None

    @property
    def local(self) -> tzinfo:
        """The zone of dates without one."""
        return self.zone or UTC


@dataclass(slots=True)
class Intake:
    """One source being read.

    Attributes:
        kind: its syntax.
        options: the caller's options.
        original: the source as it is, if its JSON or its charset had to be put right.
        is_cut: whether its JSON was cut off at the end; of the rest, what is whole is read.
        format: the name of the format in which it is read.
        folder: the folder or archive that it is from, or None.
        first: the first JSON object in it (of a list: its first item), or empty; of a large one
            only its beginning.
        ahead: the first JSON objects of a list or of lines.
        lines: the first lines of a plain text that aren't blank.
        inside: where the records are, in a document that wraps them: patterns for ``select``.
        around: what such a document has beside them, until a reader takes it.
        seen: ids that were read from any file of the same import, for formats that repeat turns;
            and files of the folder that were read with another.
        people: names of those who are in the chats, though they may have said nothing.
        notes: oddities of the history that is being read, counted.
        faults: the items that couldn't be read so far.
    """

    source: Source
    kind: Kind
    options: Options
    original: Source
    is_cut: bool = False
    format: str = ""
    folder: Folder | None = None
    first: Mapping[str, object] = field(default_factory=dict[str, object])
    ahead: Sequence[Mapping[str, object]] = ()
    lines: Sequence[str] = ()
    inside: Sequence[tuple[str, ...]] = ()
    around: Object = field(default_factory=dict[str, object])
    seen: set[str] = field(default_factory=set[str])
    people: set[str] = field(default_factory=set[str])
    notes: Counter[str] = field(default_factory=Counter[str])
    faults: list[Rejected] = field(default_factory=list[Rejected])

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return self.source.name

    @property
    def stem(self) -> str:
        """The source's name without folder and suffix, for the keys of sessions."""
        return "stdin" if self.source.name == STANDARD_INPUT else self.source.stem

    @property
    def own_name(self) -> str:
        """The name of a history that has none in the source."""
        return self.options.name or self.stem

    def user_name(self, found: str = "") -> str:
        """Return whose history it is: as the caller says, as found in the source, or the format's.

        ``found`` is the name of the account's owner, or empty.
        """
        return self.options.name or self.options.speaker or found or self.format

    def speaker_of(self, role: Role) -> str:
        """Return the speaker of a turn in a chat that has only roles."""
        return (self.options.speaker if role == "user" else None) or SPEAKERS[role]

    def turn(self, entry: Entry, key: str | None = None) -> Utterance:
        """Return an entry that has a time as a turn; without a name it gets that of its role.

        Raises BadInput if it can't be stored.
        """
        role = entry.role or "user"
        fallback = self.speaker_of("user" if role == "user" else "assistant")
        text, name, attachment = (
            require_storable(each, entry.where)
            for each in (entry.text, entry.name or fallback, entry.attachment)
        )
        key = key and require_storable(key, entry.where)
        at = cast("datetime", entry.at)
        return Utterance(text=text, speaker=name, at=at, role=role, key=key, attachment=attachment)

    def part(self, name: str, *transcripts: Transcript) -> History:
        """Return a part of a history that may change until it is exported again.

        Its sessions get the format's name as ``source`` in their metadata. It takes the notes since
        the previous part; those after the last one are taken by who reads the parts.
        """
        notes = dict(+self.notes)
        self.notes.clear()
        source = {"source": self.format}
        revised = [
            replace(transcript, revised=True, metadata={**source, **transcript.metadata})
            for transcript in transcripts
        ]
        return History(name=name, transcripts=revised, notes=notes)

    @contextmanager
    def catching(self) -> Generator[None]:
        """Record a BadInput raised in the block as a fault and skip the rest of the block."""
        try:
            yield
        except BadInput as fault:
            where = fault.where or self.name
            self.faults.append(Rejected(where, str(fault).removeprefix(f"{where}: ")))

    @contextmanager
    def _noting_cut(self, line: bytes) -> Generator[None]:
        """Note a BadInput raised in the block if the line is one that was cut off."""
        try:
            yield
        except BadInput:
            self.notes[CUT_OFF] += not line.endswith(b"\n")
            raise

    def broken_xml(self, fault: ParseError) -> None:
        """Record a fault of XML, before which all was read."""
        self.faults.append(Rejected(self.name, f"broken XML ({fault}); export it again"))
        self.notes[CUT_OFF] += fault.code in _CUT_XML

    def repaired(self, what: str, where: str, count: int = 1) -> None:
        """Note something odd that was put right. Raises BadInput if reading is strict."""
        if self.options.strict:
            raise BadInput(f"{what}; leave out --strict to have it put right", where)
        self.notes[what] += count

    def records(self) -> Iterator[tuple[str, Object]]:
        """Yield the source's JSON objects with their places: one a line, or a list's items."""
        if self.kind == "lines":
            for number, offset, line in self.source.lines():
                where = f"{self.name}, line {number}"
                with self.catching(), self._noting_cut(line):
                    values = parse_all(decode(line, where, offset).strip(), where)
                    for count, value in enumerate(values):
                        if count:
                            self.repaired("JSON values on the line of another", where)
                        yield where, as_object(value, where)
            return
        if not self.inside and not self.source.head.lstrip().startswith(b"["):
            with self.catching():
                yield self.name, as_object(parse(self.source.text(), self.name), self.name)
            return
        for place, item in select(self.source.stream(), self.name, *(self.inside or (ITEMS,))):
            where = f"{self.name}, {'.'.join(map(str, place)) if self.inside else [*place]}"
            with self.catching():
                yield where, as_object(item, where)

    def text_lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines of a text with their numbers; those that end with CR LF keep the CR."""
        for number, offset, line in self.source.lines(blank=True):
            yield number, decode(line, f"{self.name}, line {number}", offset).removesuffix("\n")

    def items(self, kind: type[T], values: object, where: str) -> Iterator[tuple[int, str, T]]:
        """Yield index, place and content of the items of a JSON list, as models or another type.

        An item that doesn't fit becomes a fault. Raises BadInput for a value that isn't a list.
        """
        for i, value in enumerate(check(list[object], values, where)):
            with self.catching():
                yield i, f"{where}[{i}]", check(kind, value, f"{where}[{i}]")

    def iso_date(self, text: str, where: str) -> datetime:
        """Parse a date in ISO 8601, which is noon without a time; note one without an offset."""
        self.notes[ZONELESS] += self.options.zone is None and not has_offset(text)
        return iso_date_time(text, where, self.options.local)

    def date_in(self, text: str) -> datetime | None:
        """Return the date in a text, by its day noon if it has no time; None if it has none.

        It can be in ISO 8601, as people write it in any language, or a number since 1970.
        """
        if match := ISO_DATE.search(text):
            with suppress(BadInput):
                return self.iso_date(match[0], self.name)
            return None
        if NUMBER.fullmatch(text):
            return any_time(text, self.options.local)
        at = written_time(text, self.options.local)
        if at is None or fault_of_time(at):
            return None
        self.notes[ZONELESS] += self.options.zone is None
        found = find_date(text)
        swapped = "dates that could also have month and day the other way round"
        self.notes[swapped] += found is not None and found.swappable
        return at

    def date(self, text: str, patterns: Sequence[str], where: str) -> datetime:
        """Parse a date without a zone, as :func:`formatted_time`, and note that it has none."""
        at = formatted_time(text, patterns, where, self.options.local)
        self.notes[ZONELESS] += self.options.zone is None
        return at


def each_record(
    read: Callable[[Intake, Object, str], History],
) -> Callable[[Intake], Iterator[History]]:
    """Return the reader of a format in which each JSON object is a history.

    ``read`` gets an object and its place.
    """

    def read_all(intake: Intake) -> Iterator[History]:
        for where, record in intake.records():
            with intake.catching():
                history = read(intake, record, where)
                if not history.transcripts:
                    raise BadInput("it has no turns or memories; leave it out", where)
                yield history
            intake.notes = Counter()  # a history has its own

    return read_all


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A file format of histories.

    Attributes:
        name: its name for ``--format``.
        sniff: whether a source is of this format, by its ``kind``, ``first`` and ``lines``.
        read: yields the histories of a source.
            A long history can come in several parts of the same name.
        pick: the files of this format in a folder or an archive, in the order of reading.
        memories: whether it can hold memories.
        kind: the syntax of its sources, if they all have the same and it isn't JSON.
        joined: whether sessions of one key in several files are parts of one session.
        repairs: whether an item that can't be read is left out and reported, unless reading is
            strict; else it refuses the whole source.
        decodes: whether it finds the charset of a text by itself.
    """

    name: str
    sniff: Callable[[Intake], bool]
    read: Callable[[Intake], Iterator[History]]
    pick: Callable[[Folder], Sequence[str]]
    memories: bool = False
    kind: Kind | None = None
    joined: bool = False
    repairs: bool = False
    decodes: bool = False


def format_named(
    name: str,
    read: Callable[[Intake], Iterator[History]],
    sniff: Callable[[Intake], bool] | None = None,
    pick: Callable[[Folder], Sequence[str]] | None = None,
) -> Format:
    """Return the format of a row of ``formats.toml``.

    It is told by its keys, or by ``sniff``; its files by ``pick``, or without one by their names.
    """
    row = read_data("formats.toml")[name]

    def sniffed(intake: Intake) -> bool:
        if row.get("kind") == "text" and intake.kind != "text":
            return False
        by_keys = has_keys(intake.first, row.get("keys", ()))
        return by_keys or (sniff is not None and sniff(intake))

    def picked(folder: Folder) -> Sequence[str]:
        return folder.select(*row.get("files", ())) or folder.select(*row.get("otherwise", ()))

    known = ("kind", "memories", "joined", "repairs", "decodes")
    flags = {key: row[key] for key in known if key in row}
    return Format(name=name, sniff=sniffed, read=read, pick=pick or picked, **flags)
