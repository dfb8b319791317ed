"""Multi-Session Chat: an episode a line, the last session with the ones before it.

``{"dialog": [{"id": "Speaker 1", "text"}], "metadata": {"initial_data_id"}, "previous_dialogs":
[{"dialog": [{"text"}], "time_back": "6 days ago"}]}``. The file of session N holds the N - 1
sessions before as well; all are given. It has no dates: ``time_back`` gives the gaps. Turns that
name no speaker go to Speaker 1 and Speaker 2 by turns. Personas are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, Preview, history
from theanine.importers.dates import parse_duration
from theanine.importers.fields import as_list, as_object, member, optional_text, text_in
from theanine.importers.timestamps import UntimedSession, UntimedTurn, on_calendar
from theanine.types import History

_SPEAKERS = ("Speaker 1", "Speaker 2")


def _sniff(sample: Preview) -> bool:
    return "dialog" in sample.first and "previous_dialogs" in sample.first


def _read(intake: Intake) -> Iterator[History]:
    for where, record in intake.records():
        with intake.catching():
            notes = Counter[str]()
            metadata = as_object(member(record, "metadata", where), f"{where}, metadata")
            name = text_in(metadata, "initial_data_id", f"{where}, metadata")
            sittings = _sittings(intake, record, name, where, notes)
            transcripts = list(on_calendar(intake, sittings, notes))
            if not transcripts:
                raise BadInput("an episode without a single turn; leave it out", where)
            yield history(name, transcripts, +notes)


def _sittings(
    intake: Intake,
    record: Mapping[str, object],
    name: str,
    where: str,
    notes: Counter[str],
) -> list[UntimedSession]:
    earlier = as_list(record.get("previous_dialogs") or [], f"{where}, previous_dialogs")
    places = [f"{where}, previous_dialogs[{i}]" for i in range(len(earlier))]
    dialogs = [as_object(item, spot) for item, spot in zip(earlier, places, strict=True)]
    backs = [
        parse_duration(optional_text(d, "time_back", p))
        for d, p in zip(dialogs, places, strict=True)
    ]
    notes["sessions without a gap"] += backs.count(None)
    gaps = _gaps([*backs, timedelta()])
    return [
        UntimedSession(
            f"{name}/session_{i + 1}",
            _turns(intake, dialog, spot, notes),
            spot,
            gap=gaps[i],
        )
        for i, (dialog, spot) in enumerate(zip([*dialogs, record], [*places, where], strict=True))
    ]


def _gaps(backs: Sequence[timedelta | None]) -> list[timedelta | None]:
    """From "so long before the last session" to "so long after the session before"."""
    gaps: list[timedelta | None] = [None]
    for older, newer in pairwise(backs):
        gaps.append(older - newer if older is not None and newer is not None else None)
    return gaps


def _turns(
    intake: Intake, dialog: Mapping[str, object], where: str, notes: Counter[str]
) -> list[UntimedTurn]:
    turns: list[UntimedTurn] = []
    for i, item in enumerate(as_list(member(dialog, "dialog", where), f"{where}.dialog")):
        spot = f"{where}.dialog[{i}]"
        with intake.catching():
            turn = as_object(item, spot)
            speaker = optional_text(turn, "id", spot)
            if speaker not in _SPEAKERS:
                # Session 1 names nobody, and some first turns carry a worker's number.
                notes["turns whose speaker goes by position"] += 1
                speaker = _SPEAKERS[i % 2]
            turns.append(UntimedTurn(speaker, text_in(turn, "text", spot), spot))
    return turns


FORMAT = Format(
    name="msc",
    summary="Multi-Session Chat: two speakers over several undated sessions",
    sniff=_sniff,
    read=_read,
)
