"""Multi-Session Chat: an episode a line, the last session with the ones before it.

``{"dialog": [{"id": "Speaker 1", "text"}], "metadata": {"initial_data_id"}, "previous_dialogs":
[{"dialog": [{"text"}], "time_back": "6 days ago"}]}``. The file of session N also holds the N - 1
sessions before it; all are read. There are no dates: ``time_back`` gives the gaps. Turns that name
no speaker belong alternately to Speaker 1 and Speaker 2. Personas are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, Preview, history
from theanine.importers.dates import parse_duration
from theanine.importers.schema import Filled, Item, Text, check
from theanine.importers.timestamps import UntimedSession, UntimedTurn, on_calendar
from theanine.types import History

_SPEAKERS = ("Speaker 1", "Speaker 2")


class _Metadata(Item):
    initial_data_id: Filled


class _Dialog(Item):
    dialog: list[object]
    time_back: Text | None = None


class _Episode(_Dialog):
    metadata: _Metadata
    previous_dialogs: list[_Dialog] | None = None


class _Turn(Item):
    id: Text | None = None
    text: Filled


def _sniff(sample: Preview) -> bool:
    return "dialog" in sample.first and "previous_dialogs" in sample.first


def _read(intake: Intake) -> Iterator[History]:
    for where, record in intake.records():
        with intake.catching():
            notes = Counter[str]()
            episode = check(_Episode, record, where)
            sessions = _sessions(intake, episode, where, notes)
            transcripts = list(on_calendar(intake, sessions, notes))
            if not transcripts:
                raise BadInput("an episode without a single turn; leave it out", where)
            yield history(episode.metadata.initial_data_id, transcripts, +notes)


def _sessions(
    intake: Intake, episode: _Episode, where: str, notes: Counter[str]
) -> list[UntimedSession]:
    earlier = episode.previous_dialogs or []
    ages = [parse_duration(dialog.time_back or "") for dialog in earlier]
    notes["sessions without a gap"] += ages.count(None)
    gaps = _gaps([*ages, timedelta()])
    places = [*(f"{where}, previous_dialogs[{i}]" for i in range(len(earlier))), where]
    return [
        UntimedSession(
            f"{episode.metadata.initial_data_id}/session_{i + 1}",
            _turns(intake, dialog, places[i], notes),
            places[i],
            gap=gaps[i],
        )
        for i, dialog in enumerate([*earlier, episode])
    ]


def _gaps(ages: Sequence[timedelta | None]) -> list[timedelta | None]:
    """Turn times before the last session into times after the previous session."""
    gaps: list[timedelta | None] = [None]
    for older, newer in pairwise(ages):
        gaps.append(older - newer if older is not None and newer is not None else None)
    return gaps


def _turns(intake: Intake, dialog: _Dialog, where: str, notes: Counter[str]) -> list[UntimedTurn]:
    turns: list[UntimedTurn] = []
    for i, item in enumerate(dialog.dialog):
        at_turn = f"{where}.dialog[{i}]"
        with intake.catching():
            turn = check(_Turn, item, at_turn)
            speaker = turn.id
            if speaker not in _SPEAKERS:
                # Session 1 names nobody, and some first turns carry a worker's number.
                notes["turns whose speaker goes by position"] += 1
                speaker = _SPEAKERS[i % 2]
            turns.append(UntimedTurn(speaker, turn.text, at_turn))
    return turns


FORMAT = Format(
    name="msc",
    summary="Multi-Session Chat: two speakers over several undated sessions",
    sniff=_sniff,
    read=_read,
)
