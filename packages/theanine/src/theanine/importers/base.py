"""Formats: what a reader of histories gets and returns.

A :class:`Format` recognizes its sources by their beginning and reads them as histories. An item
that can't be read becomes a fault with its place and the reason; reading goes on with the next
item, and ``read_histories`` decides what to do about faults.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Literal, NamedTuple, cast

from theanine.errors import BadInput
from theanine.importers.schema import Object, as_object, parse
from theanine.importers.source import Source, decode
from theanine.types import History, ImportedMemory, Transcript, Utterance

Kind = Literal["lines", "json", "text"]
"""The syntax of a source: a JSON value a line, one JSON value, or plain text."""

REPEATED = "turns given twice"


class Rejected(NamedTuple):
    """An item that was left out: its place in the source, and why."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The caller's options; see :func:`theanine.importers.read_histories`."""

    zone: tzinfo | None = None
    start: datetime | None = None
    memories: bool = False
    name: str | None = None

    @property
    def local(self) -> tzinfo:
        """The zone of dates without one."""
        return self.zone or UTC


@dataclass(frozen=True, slots=True)
class Preview:
    """The beginning of a source, by which formats recognize it.

    Attributes:
        kind: its syntax.
        first: the first JSON object in it (of a list: its first item), or empty.
        lines: the first lines of a plain text that aren't blank.
    """

    kind: Kind
    first: Mapping[str, object]
    lines: Sequence[str] = ()


@dataclass(slots=True)
class Intake:
    """One source being read.

    Attributes:
        document: the parsed JSON of a source of kind ``json``.
        faults: the items that couldn't be read so far.
    """

    source: Source
    kind: Kind
    options: Options
    document: object = None
    faults: list[Rejected] = field(default_factory=list[Rejected])

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return self.source.name

    @property
    def own_name(self) -> str:
        """The name of a history that has none in the source."""
        if self.options.name:
            return self.options.name
        return self.source.path.stem if self.source.path else "stdin"

    @contextmanager
    def catching(self) -> Generator[None]:
        """Record a BadInput raised in the block as a fault and skip the rest of the block."""
        try:
            yield
        except BadInput as fault:
            where = fault.where or self.name
            self.faults.append(Rejected(where, str(fault).removeprefix(f"{where}: ")))

    def records(self) -> Iterator[tuple[str, Object]]:
        """Yield the source's JSON objects with their places: one a line, or a list's items."""
        if self.kind == "lines":
            yield from self._line_records()
            return
        document = self.document
        items = cast("list[object]", document) if isinstance(document, list) else None
        for i, item in enumerate([self.document] if items is None else items):
            where = self.name if items is None else f"{self.name}, [{i}]"
            with self.catching():
                yield where, as_object(item, where)

    def _line_records(self) -> Iterator[tuple[str, Object]]:
        for number, offset, line in self.source.lines():
            where = f"{self.name}, line {number}"
            with self.catching():
                yield (
                    where,
                    as_object(parse(decode(line, where, offset).strip(), where), where),
                )


class SessionBuilder:
    """Builds a session turn by turn and checks each turn."""

    def __init__(self, key: str, notes: Counter[str]) -> None:
        self.key = key
        self.turns: list[Utterance] = []
        self.memories: list[ImportedMemory] = []
        self._notes = notes
        self._by_key: dict[str, Utterance] = {}

    def add(self, turn: Utterance, where: str) -> None:
        """Add a turn, whose texts the format has checked to be storable.

        Without a key it gets its position in the session. A turn with the same key and text as
        another is dropped and counted.

        Raises:
            BadInput: it is blank, is older than the turn before it, or has the key of a turn with
                other text.
        """
        if not turn.text.strip() and not turn.attachment:
            raise BadInput("an empty turn; give it text or leave it out", where)
        if not turn.speaker.strip():
            raise BadInput("a turn without a speaker; name the speaker", where)
        key = turn.key or self.next_key()
        if (same := self._by_key.get(key)) is not None:
            if (same.speaker, same.full_text) != (turn.speaker, turn.full_text):
                raise BadInput(
                    f'the key "{key}" is taken by another turn of session "{self.key}"; '
                    "give each turn its own",
                    where,
                )
            self._notes[REPEATED] += 1
            return
        if self.turns and turn.at < self.turns[-1].at:
            raise BadInput(
                f"out of order: {turn.at.isoformat()} comes after {self.turns[-1].at.isoformat()} "
                f'in session "{self.key}"; sort the turns by time',
                where,
            )
        self.turns.append(turn if turn.key else replace(turn, key=key))
        self._by_key[key] = self.turns[-1]

    def next_key(self) -> str:
        """Return the key of the next turn if that has none: its position, from 1."""
        return str(len(self.turns) + 1)

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the turns."""
        return frozenset(self._by_key)

    def build(self, at: datetime | None = None, *, dated: bool = True) -> Transcript:
        """Return the session. Its date is ``at``, by default the first turn's time."""
        return Transcript(
            key=self.key,
            turns=self.turns,
            at=at or self.turns[0].at,
            dated=dated,
            memories=self.memories,
        )

    def __bool__(self) -> bool:
        return bool(self.turns or self.memories)


def history(name: str, transcripts: Iterable[Transcript], notes: Counter[str]) -> History:
    """Return a history with its sessions sorted by time; count those that had to be moved."""
    unordered = list(transcripts)
    ordered = sorted(unordered, key=lambda transcript: transcript.at)
    if moved := sum(a is not b for a, b in zip(unordered, ordered, strict=True)):
        notes["sessions put in order of time"] += moved
    return History(name=name, transcripts=ordered, notes=dict(notes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A file format of histories.

    Attributes:
        name: its name for ``--format``.
        summary: one line of description.
        sniff: whether the beginning of a source is of this format.
        read: yields the histories of a source.
        memories: whether it can hold ready-made memories.
    """

    name: str
    summary: str
    sniff: Callable[[Preview], bool]
    read: Callable[[Intake], Iterator[History]]
    memories: bool = False
