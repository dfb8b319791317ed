"""Conversation Chronicles: episodes of five sessions between two people of a relationship.

``{"dataID", "relationship", "time interval": ["Start", "A few days after", …], "first session
dialogue": [text], "first session speakers": [name], … "fifth session …"}``, an episode a line or
in a list. Names may have underscores for blanks. There are no dates: the intervals give the gaps
(few = 3, couple = 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field

from theanine.errors import BadInput
from theanine.importers.base import Entry, Format, Intake, each_record
from theanine.importers.dates import parse_duration
from theanine.importers.schema import Filled, Item, Object, Text, check
from theanine.importers.timestamps import UntimedSession, make_history
from theanine.types import History

_ORDINALS = ("first", "second", "third", "fourth", "fifth")


class _Episode(Item):
    data_id: Filled = Field(validation_alias="dataID")


def _with_blanks(record: Mapping[str, object]) -> Object:
    return {key.replace("_", " "): value for key, value in record.items()}


def _sniff(intake: Intake) -> bool:
    return "dataID" in intake.first and "first session dialogue" in _with_blanks(intake.first)


def _read(intake: Intake, record: Object, where: str) -> History:
    record = _with_blanks(record)
    name = check(_Episode, record, where).data_id
    return make_history(intake, name, _sessions(intake, record, name, where))


def _sessions(intake: Intake, record: Object, name: str, where: str) -> Iterator[UntimedSession]:
    intervals = check(list[Text], record.get("time interval") or [], f"{where}, time interval")
    for i, ordinal in enumerate(_ORDINALS):
        session = f"{ordinal} session"
        if f"{session} dialogue" not in record:
            continue
        gap = parse_duration(intervals[i]) if i < len(intervals) else None
        intake.notes["sessions without a gap"] += i > 0 and gap is None
        at_dialogue = f"{where}, {session} dialogue"
        texts = check(list[Text], record[f"{session} dialogue"], at_dialogue)
        if record.get(f"{session} speakers") is None:
            raise BadInput(f'the field "{session} speakers" is missing', where)
        speakers = check(list[Text], record[f"{session} speakers"], f"{where}, {session} speakers")
        if len(speakers) != len(texts):
            reason = f"{len(texts)} turns but {len(speakers)} speakers; make them match"
            raise BadInput(reason, at_dialogue)
        turns: list[Entry] = []
        for number, (speaker, text) in enumerate(zip(speakers, texts, strict=True)):
            with intake.catching():
                at_turn = f"{at_dialogue}[{number}]"
                if not speaker.strip():
                    raise BadInput("a turn without a speaker; name the speaker", at_turn)
                turns.append(Entry(at_turn, "user", speaker, text))
        yield UntimedSession(f"{name}/session_{i + 1}", turns, f"{where}, {session}", gap=gap)


FORMAT = Format(
    name="cc",
    sniff=_sniff,
    read=each_record(_read),
)
