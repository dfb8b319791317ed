"""Previews of imports: what a history contains and what of it is new to the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from theanine.types import History, Utterance

SAMPLED = 4
"""Number of first turns that a preview shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPreview:
    """The contents of a history that could be imported.

    Attributes:
        name: the source's name for it.
        sessions, turns, memories: how many it has.
        known: how many of its sessions are in the log already; of those, only new turns are logged.
        first, last: times of its first and last turn; None if a session has no date.
        speakers: turns by speaker, the most frequent first.
        sample: its first turns; where ``first`` is None, their times only keep the order.
    """

    name: str
    sessions: int
    known: int
    turns: int
    memories: int
    first: datetime | None
    last: datetime | None
    speakers: Mapping[str, int]
    sample: tuple[Utterance, ...]


def preview_history(history: History, keys: Collection[str] = ()) -> HistoryPreview:
    """Return what a history holds; ``keys`` are those of the sessions in the log."""
    transcripts = history.transcripts
    speakers = Counter(turn.speaker for each in transcripts for turn in each.turns)
    times = [turn.at for each in transcripts for turn in each.turns]
    dated = bool(times) and all(each.dated for each in transcripts)
    turns = (turn for each in transcripts for turn in each.turns)
    return HistoryPreview(
        name=history.name,
        sessions=len(transcripts),
        known=sum(each.key in keys for each in transcripts),
        turns=len(times),
        memories=sum(len(each.memories) for each in transcripts),
        first=min(times) if dated else None,
        last=max(times) if dated else None,
        speakers=dict(speakers.most_common()),
        sample=tuple(islice(turns, SAMPLED)),
    )


def is_one_account(histories: Collection[History]) -> bool:
    """Whether histories are parts of one account's export, not those of several people."""
    return all(history.transcripts[0].revised for history in histories)
