"""Turns and recalled parts of results for a page, each stored once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from theanine.text.words import format_date
from theanine_bench.samples import SampleResult


class SharedRows:
    """Numbered rows that results of a page refer to.

    Args:
        undated: by group, ids of the sessions whose times only give their order.
    """

    def __init__(self, undated: Mapping[str, frozenset[int]]) -> None:
        self._undated = undated
        self._utterances, self._turns, self._parts = _Rows(), _Rows(), _Rows()

    def record(self) -> dict[str, list[Sequence[Any]]]:
        """Return all rows.

        ``utterances`` are (speaker, time, text); ``turns`` are (id, session, speaker, time, text);
        ``parts`` are (text, memory ids, indexes of source turns).
        """
        return {
            "utterances": self._utterances.rows,
            "turns": self._turns.rows,
            "parts": self._parts.rows,
        }

    def dialogue(self, result: SampleResult) -> list[int]:
        """Return the indexes of the dialogue's utterances; without times if a session has none."""
        dated = not self._undated.get(result.group)
        return [
            self._utterances.index(
                (turn["speaker"], _format_time(turn["at"]) if dated else "", turn["text"])
            )
            for turn in result.dialogue
        ]

    def recalled(self, result: SampleResult) -> list[int]:
        """Return the indexes of the recalled parts."""
        return [
            self._parts.index(
                (part["text"], tuple(part["memories"]), tuple(self._sources(result.group, part)))
            )
            for part in result.recalled
        ]

    def _sources(self, group: str, part: Mapping[str, Any]) -> Iterable[int]:
        undated = self._undated.get(group, frozenset())
        for turn in part["sources"]:
            time = "" if turn["session"] in undated else _format_time(turn["at"])
            yield self._turns.index(
                (turn["turn"], turn["session"], turn["speaker"], time, turn["text"])
            )


class _Rows:
    def __init__(self) -> None:
        self.rows: list[Sequence[Any]] = []
        self._indexes: dict[Hashable, int] = {}

    def index(self, row: tuple[Any, ...]) -> int:
        """Return the index of a row; add it if it is new."""
        if row not in self._indexes:
            self._indexes[row] = len(self.rows)
            self.rows.append(row)
        return self._indexes[row]


def _format_time(at: str) -> str:
    time = datetime.fromisoformat(at)
    return f"{format_date(time)}, {time:%H:%M}"
