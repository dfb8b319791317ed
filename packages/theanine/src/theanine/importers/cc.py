"""Conversation Chronicles: episodes of five sessions between two people of a relationship.

``{"dataID", "relationship", "time interval": ["Start", "A few days after", …], "first session
dialogue": [text], "first session speakers": [name], … "fifth session …"}``, an episode a line or
in a list; underscores in the names do as well as blanks. There are no dates: the intervals give
the gaps (few = 3, couple = 2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, Preview, history
from theanine.importers.dates import parse_duration
from theanine.importers.fields import as_list, as_text, member, text_in
from theanine.importers.timestamps import UntimedSession, UntimedTurn, on_calendar
from theanine.types import History

_ORDINALS = ("first", "second", "third", "fourth", "fifth")


def _plain(record: Mapping[str, object]) -> dict[str, object]:
    return {key.replace("_", " "): value for key, value in record.items()}


def _sniff(sample: Preview) -> bool:
    return "dataID" in sample.first and "first session dialogue" in _plain(sample.first)


def _read(intake: Intake) -> Iterator[History]:
    for where, raw in intake.records():
        with intake.catching():
            notes = Counter[str]()
            record = _plain(raw)
            name = text_in(record, "dataID", where)
            transcripts = list(
                on_calendar(intake, list(_sittings(record, name, where, notes)), notes)
            )
            if not transcripts:
                raise BadInput("an episode without a single turn; leave it out", where)
            yield history(name, transcripts, +notes)


def _sittings(
    record: Mapping[str, object], name: str, where: str, notes: Counter[str]
) -> Iterator[UntimedSession]:
    intervals = as_list(record.get("time interval") or [], f"{where}, time interval")
    for i, ordinal in enumerate(_ORDINALS):
        if f"{ordinal} session dialogue" not in record:
            continue
        spot = f"{where}, time interval[{i}]"
        gap = parse_duration(as_text(intervals[i], spot)) if i < len(intervals) else None
        notes["sessions without a gap"] += i > 0 and gap is None
        place_name = f"{where}, {ordinal} session"
        yield UntimedSession(
            f"{name}/session_{i + 1}",
            _turns(record, ordinal, where),
            place_name,
            gap=gap,
        )


def _turns(record: Mapping[str, object], ordinal: str, where: str) -> list[UntimedTurn]:
    spot = f"{where}, {ordinal} session dialogue"
    texts = as_list(record[f"{ordinal} session dialogue"], spot)
    key = f"{ordinal} session speakers"
    speakers = as_list(member(record, key, where), f"{where}, {key}")
    if len(speakers) != len(texts):
        raise BadInput(f"{len(texts)} turns but {len(speakers)} speakers; make them match", spot)
    return [
        UntimedTurn(as_text(who, f"{spot}[{i}]"), as_text(text, f"{spot}[{i}]"), f"{spot}[{i}]")
        for i, (who, text) in enumerate(zip(speakers, texts, strict=True))
    ]


FORMAT = Format(
    name="cc",
    summary="Conversation Chronicles: five undated sessions of two people",
    sniff=_sniff,
    read=_read,
)
