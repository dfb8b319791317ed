"""Conversation Chronicles: episodes of five sessions between two people of a relationship.

``{"dataID", "relationship", "time interval": ["Start", "A few days after", …], "first session
dialogue": [text], "first session speakers": [name], … "fifth session …"}``, an episode a line or
in a list. Names may have underscores for blanks. There are no dates: the intervals give the gaps
(few = 3, couple = 2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from pydantic import Field

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, Preview, history
from theanine.importers.dates import parse_duration
from theanine.importers.schema import Filled, Item, Object, Text, check
from theanine.importers.timestamps import UntimedSession, UntimedTurn, on_calendar
from theanine.types import History

_ORDINALS = ("first", "second", "third", "fourth", "fifth")


class _Episode(Item):
    data_id: Filled = Field(validation_alias="dataID")


def _with_blanks(record: Mapping[str, object]) -> Object:
    return {key.replace("_", " "): value for key, value in record.items()}


def _sniff(sample: Preview) -> bool:
    return "dataID" in sample.first and "first session dialogue" in _with_blanks(sample.first)


def _read(intake: Intake) -> Iterator[History]:
    for where, raw in intake.records():
        with intake.catching():
            notes = Counter[str]()
            record = _with_blanks(raw)
            name = check(_Episode, record, where).data_id
            sessions = list(_sessions(record, name, where, notes))
            transcripts = list(on_calendar(intake, sessions, notes))
            if not transcripts:
                raise BadInput("an episode without a single turn; leave it out", where)
            yield history(name, transcripts, +notes)


def _sessions(
    record: Object, name: str, where: str, notes: Counter[str]
) -> Iterator[UntimedSession]:
    intervals = check(list[Text], record.get("time interval") or [], f"{where}, time interval")
    for i, ordinal in enumerate(_ORDINALS):
        if f"{ordinal} session dialogue" not in record:
            continue
        gap = parse_duration(intervals[i]) if i < len(intervals) else None
        notes["sessions without a gap"] += i > 0 and gap is None
        yield UntimedSession(
            f"{name}/session_{i + 1}",
            _turns(record, f"{ordinal} session", where),
            f"{where}, {ordinal} session",
            gap=gap,
        )


def _turns(record: Object, session: str, where: str) -> list[UntimedTurn]:
    at_dialogue = f"{where}, {session} dialogue"
    texts = check(list[Text], record[f"{session} dialogue"], at_dialogue)
    if record.get(f"{session} speakers") is None:
        raise BadInput(f'the field "{session} speakers" is missing', where)
    speakers = check(list[Text], record[f"{session} speakers"], f"{where}, {session} speakers")
    if len(speakers) != len(texts):
        raise BadInput(
            f"{len(texts)} turns but {len(speakers)} speakers; make them match", at_dialogue
        )
    return [
        UntimedTurn(speaker, text, f"{at_dialogue}[{i}]")
        for i, (speaker, text) in enumerate(zip(speakers, texts, strict=True))
    ]


FORMAT = Format(
    name="cc",
    summary="Conversation Chronicles: five undated sessions of two people",
    sniff=_sniff,
    read=_read,
)
