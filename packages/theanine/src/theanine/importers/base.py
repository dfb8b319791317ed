"""What every reader of a format is given and gives back.

A reader is a :class:`Format`: it tells by a sample whether a source is its own, and turns the
source into histories. Each item that can't be taken is one fault with its place and the reason;
the reader goes on with the next item, and ``read_histories`` decides what faults mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Literal, NamedTuple, cast

from theanine.errors import BadInput
from theanine.importers.fields import as_object, parse, require_storable
from theanine.importers.source import Source, decode
from theanine.types import History, ImportedMemory, Transcript, Utterance

Kind = Literal["lines", "json", "text"]
"""How a source is written: a JSON value a line, one JSON value, or plain text."""

REPEATED = "turns given twice"


class Rejected(NamedTuple):
    """An item that was not taken: its place in the source, and why."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the caller asked for; see :func:`theanine.importers.read_histories`."""

    zone: tzinfo | None = None
    start: datetime | None = None
    memories: bool = False
    name: str | None = None

    @property
    def local(self) -> tzinfo:
        """The zone in which dates without one are read."""
        return self.zone or UTC


@dataclass(frozen=True, slots=True)
class Preview:
    """The beginning of a source, to tell its format by.

    Attributes:
        kind: how it is written.
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
        faults: what couldn't be taken so far.
    """

    source: Source
    kind: Kind
    options: Options
    document: object = None
    faults: list[Rejected] = field(default_factory=list[Rejected])

    @property
    def name(self) -> str:
        """What the source is called in messages."""
        return self.source.name

    @property
    def own_name(self) -> str:
        """What to call a history that the source itself gives no name."""
        if self.options.name:
            return self.options.name
        return self.source.path.stem if self.source.path else "stdin"

    @contextmanager
    def catching(self) -> Generator[None]:
        """Turns a BadInput inside the block into a fault; the block's rest is skipped."""
        try:
            yield
        except BadInput as fault:
            where = fault.where or self.name
            self.faults.append(Rejected(where, str(fault).removeprefix(f"{where}: ")))

    def records(self) -> Iterator[tuple[str, Mapping[str, object]]]:
        """The source's JSON objects, each with its place: one a line, or the items of a list."""
        if self.kind == "lines":
            yield from self._line_records()
            return
        document = self.document
        items = cast("list[object]", document) if isinstance(document, list) else None
        for i, item in enumerate([self.document] if items is None else items):
            where = self.name if items is None else f"{self.name}, [{i}]"
            with self.catching():
                yield where, as_object(item, where)

    def _line_records(self) -> Iterator[tuple[str, Mapping[str, object]]]:
        for number, offset, line in self.source.lines():
            where = f"{self.name}, line {number}"
            with self.catching():
                yield (
                    where,
                    as_object(parse(decode(line, where, offset).strip(), where), where),
                )


class SessionBuilder:
    """A session being put together; refuses what a session can't hold."""

    def __init__(self, key: str, notes: Counter[str]) -> None:
        self.key = key
        self.turns: list[Utterance] = []
        self.memories: list[ImportedMemory] = []
        self._notes = notes
        self._by_key: dict[str, Utterance] = {}

    def add(self, turn: Utterance, where: str) -> None:
        """Takes one more turn.

        Without a key it gets its position in the session. The same key with the same words again
        is dropped and counted.

        Raises:
            BadInput: it is blank, holds what no store can, is older than the turn before it, or
                has the key of another turn.
        """
        for text in (turn.text, turn.speaker, turn.attachment, turn.key or ""):
            require_storable(text, where)
        if not turn.text.strip() and not turn.attachment:
            raise BadInput("an empty turn; give it words or leave it out", where)
        if not turn.speaker.strip():
            raise BadInput("a turn without a speaker's name; name who says it", where)
        key = turn.key or str(len(self.turns) + 1)
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

    @property
    def keys(self) -> frozenset[str]:
        """The keys of its turns."""
        return frozenset(self._by_key)

    def done(self, at: datetime | None = None, *, dated: bool = True) -> Transcript:
        """The session. ``at`` is its date; without one, its first turn's."""
        begin = at or self.turns[0].at
        return Transcript(
            key=self.key,
            turns=self.turns,
            at=begin,
            dated=dated,
            memories=self.memories,
        )

    def __bool__(self) -> bool:
        return bool(self.turns or self.memories)


def history(name: str, transcripts: Iterable[Transcript], notes: Counter[str]) -> History:
    """A history with its sessions oldest first; sessions that had to be moved are counted."""
    given = list(transcripts)
    ordered = sorted(given, key=lambda t: t.at)
    if moved := sum(a is not b for a, b in zip(given, ordered, strict=True)):
        notes["sessions put in order of time"] += moved
    return History(name=name, transcripts=ordered, notes=dict(notes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One way in which histories are written.

    Attributes:
        name: what ``--format`` calls it.
        summary: one line for ``--help``.
        sniff: whether a sample is of this format.
        read: gives its histories.
        memories: whether it can hold ready-made memories.
    """

    name: str
    summary: str
    sniff: Callable[[Preview], bool]
    read: Callable[[Intake], Iterator[History]]
    memories: bool = False
