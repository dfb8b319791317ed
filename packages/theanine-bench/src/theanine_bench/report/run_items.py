"""Items for a page, each thing that several of them show held once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from theanine.text.words import format_date
from theanine_bench.samples import SampleResult


class Packed:
    """What was said, source turns and recalled parts as numbered rows, for items to point to.

    Args:
        undated: by group, numbers of the sessions whose times only keep their order.
    """

    def __init__(self, undated: Mapping[str, frozenset[int]]) -> None:
        self._undated = undated
        self._said, self._turns, self._parts = _Rows(), _Rows(), _Rows()

    def rows(self) -> dict[str, list[Any]]:
        """The rows: ``said`` (speaker, time, words), ``turns`` and ``parts``."""
        return {"utterances": self._said.rows, "turns": self._turns.rows, "parts": self._parts.rows}

    def dialogue(self, item: SampleResult) -> list[int]:
        """Where the dialogue's turns are; their times are left out where sessions have no dates."""
        dated = not self._undated.get(item.group)
        return [
            self._said.place((one["speaker"], _when(one["at"]) if dated else "", one["text"]))
            for one in item.dialogue
        ]

    def recalled(self, item: SampleResult) -> list[int]:
        """Where the recalled parts are: words, numbers of memories, places of source turns."""
        return [
            self._parts.place(
                (part["text"], tuple(part["memories"]), tuple(self._sources(item.group, part)))
            )
            for part in item.recalled
        ]

    def _sources(self, group: str, part: Mapping[str, Any]) -> Iterable[int]:
        undated = self._undated.get(group, frozenset())
        for one in part["sources"]:
            when = "" if one["session"] in undated else _when(one["at"])
            yield self._turns.place(
                (one["turn"], one["session"], one["speaker"], when, one["text"])
            )


class _Rows:
    def __init__(self) -> None:
        self.rows: list[Sequence[Any]] = []
        self._places: dict[Hashable, int] = {}

    def place(self, row: tuple[Any, ...]) -> int:
        """Where the row stands; it is added where it isn't there yet."""
        if row not in self._places:
            self._places[row] = len(self.rows)
            self.rows.append(row)
        return self._places[row]


def _when(at: str) -> str:
    time = datetime.fromisoformat(at)
    return f"{format_date(time)}, {time:%H:%M}"
