"""Sessions kept in a temporary file while a source is read, so that memory stays bounded."""

from __future__ import annotations

import hashlib
import io
import pickle
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple, cast, overload

from theanine.importers.base import Rejected
from theanine.types import History, Transcript

_IN_MEMORY = 8 << 20


class _Entry(NamedTuple):
    at: datetime
    position: int
    digests: frozenset[bytes]
    """Digests of the whole session, and of its turns alone."""


class _Blobs:
    """Pickled sessions in a temporary file, which is closed with the last reader and then gone."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (closed below)

    def add(self, transcript: Transcript) -> int:
        position = self._file.seek(0, io.SEEK_END)
        pickle.dump(transcript, self._file, pickle.HIGHEST_PROTOCOL)
        return position

    def load(self, position: int) -> Transcript:
        self._file.seek(position)
        return cast("Transcript", pickle.load(self._file))

    def __del__(self) -> None:
        self._file.close()


class Spool:
    """Collects histories: merges those of the same name and keeps the first session of each key.

    Attributes:
        speakers: the speakers and the numbers of their turns.

    The files of an export overlap. Sessions with the same key but other turns are rejected; their
    times may differ, and the later one may lack the memories.
    """

    def __init__(self) -> None:
        self._blobs = _Blobs()
        self._sessions: dict[str, dict[str, _Entry]] = {}
        self._notes: dict[str, Counter[str]] = {}
        self.speakers = Counter[str]()

    def add(self, history: History, *, joined: bool = False) -> list[Rejected]:
        """Add a history, or a part of one, and return what was rejected of it.

        With ``joined``, sessions of one key become one, with each turn's key once.
        """
        sessions = self._sessions.setdefault(history.name, {})
        rejected: list[Rejected] = []
        has_new = not history.transcripts
        for transcript in history.transcripts:
            first = sessions.get(transcript.key)
            if first is None or joined:
                if first is not None:
                    earlier = self._blobs.load(first.position)
                    self.speakers.subtract(turn.speaker for turn in earlier.turns)
                    transcript = _join(earlier, transcript)
                position = self._blobs.add(transcript)
                digests = {_digest(transcript), _digest(replace(transcript, memories=()))}
                sessions[transcript.key] = _Entry(transcript.at, position, frozenset(digests))
                self.speakers.update(turn.speaker for turn in transcript.turns)
                has_new = True
            elif _digest(transcript) not in first.digests:
                where = f"{history.name}, session {transcript.key}"
                reason = "the name of two sessions with different turns; give each its own"
                rejected.append(Rejected(where, reason))
        if has_new:
            self._notes[history.name] = self._notes.get(history.name, Counter()) + Counter(
                history.notes
            )
        return rejected

    @property
    def count(self) -> int:
        """The number of sessions."""
        return sum(len(sessions) for sessions in self._sessions.values())

    @property
    def notes(self) -> Counter[str]:
        """The notes of all histories, also of those without sessions."""
        return sum(self._notes.values(), Counter[str]())

    def histories(self) -> list[History]:
        """Return all histories that have sessions, in the order of their first parts."""
        return [
            History(
                name=name,
                transcripts=SpooledTranscripts(
                    self._blobs, [e.position for e in sorted(sessions.values(), key=_by_time)]
                ),
                notes=dict(self._notes.get(name, {})),
            )
            for name, sessions in self._sessions.items()
            if sessions
        ]


class SpooledTranscripts(Sequence[Transcript]):
    """Sessions that are read from the spool when they are needed."""

    def __init__(self, blobs: _Blobs, positions: Sequence[int]) -> None:
        self._blobs = blobs
        self._positions = positions

    def __len__(self) -> int:
        return len(self._positions)

    @overload
    def __getitem__(self, index: int) -> Transcript: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Transcript]: ...

    def __getitem__(self, index: int | slice) -> Transcript | Sequence[Transcript]:
        if isinstance(index, slice):
            return SpooledTranscripts(self._blobs, self._positions[index])
        return self._blobs.load(self._positions[index])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return list(self) == list(cast("Sequence[object]", other))

    def __hash__(self) -> int:
        return hash(tuple(transcript.key for transcript in self))

    def __repr__(self) -> str:
        return repr(list(self))


def _join(one: Transcript, other: Transcript) -> Transcript:
    """Return a session with the turns of both by time, and the metadata of the earlier one."""
    first, second = sorted((one, other), key=lambda transcript: transcript.at)
    turns = {turn.key: turn for turn in (*second.turns, *first.turns)}.values()
    return replace(
        first,
        turns=tuple(sorted(turns, key=lambda turn: turn.at)),
        memories=tuple(dict.fromkeys((*first.memories, *second.memories))),
    )


def _by_time(entry: _Entry) -> datetime:
    return entry.at


def _digest(transcript: Transcript) -> bytes:
    """Return a hash of what was said and of the memories, without the times."""
    turns = [(turn.speaker, turn.full_text) for turn in transcript.turns]
    return hashlib.blake2b(
        repr((turns, list(transcript.memories))).encode(), digest_size=16
    ).digest()
