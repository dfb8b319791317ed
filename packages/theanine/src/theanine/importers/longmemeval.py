"""LongMemEval: questions, each with its own haystack of chats with an assistant.

``[{"question_id", "haystack_session_ids", "haystack_dates": ["2023/05/20 (Sat) 02:21"],
"haystack_sessions": [[{"role", "content"}]]}]``: a history a question. Dates have no zone. The
question itself is not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, Preview, history
from theanine.importers.chat import said
from theanine.importers.dates import ZONELESS, formatted_time
from theanine.importers.fields import as_list, as_object, as_text, member, text_in
from theanine.importers.timestamps import UntimedSession, UntimedTurn, on_dates
from theanine.types import History

_DATES = ("%Y/%m/%d (%a) %H:%M", "%Y/%m/%d %H:%M")


def _sniff(sample: Preview) -> bool:
    return "haystack_sessions" in sample.first


def _read(intake: Intake) -> Iterator[History]:
    for where, record in intake.records():
        with intake.catching():
            notes = Counter[str]()
            name = text_in(record, "question_id", where)
            sittings = list(_sittings(intake, name, record, where, notes))
            transcripts = list(on_dates(intake, sittings, notes))
            if not transcripts:
                raise BadInput("a haystack without a single turn; leave it out", where)
            notes[ZONELESS] += 0 if intake.options.zone else len(transcripts)
            yield history(name, transcripts, +notes)


def _sittings(
    intake: Intake,
    name: str,
    record: Mapping[str, object],
    where: str,
    notes: Counter[str],
) -> Iterator[UntimedSession]:
    fields = ("haystack_sessions", "haystack_dates", "haystack_session_ids")
    columns = [as_list(member(record, field, where), f"{where}.{field}") for field in fields]
    if len({len(column) for column in columns}) > 1:
        raise BadInput(f"{', '.join(fields)} differ in length; make them match", where)
    seen = Counter[str]()
    for i, (items, date, session) in enumerate(zip(*columns, strict=True)):
        spot = f"{where}.haystack_sessions[{i}]"
        with intake.catching():
            written = as_text(date, f"{where}.haystack_dates[{i}]")
            at = formatted_time(written, _DATES, spot, intake.options.local)
            key = f"{name}/{as_text(session, f'{where}.haystack_session_ids[{i}]')}"
            seen[key] += 1
            if seen[key] > 1:
                notes["sessions under a name used before"] += 1
                key = f"{key} ({seen[key]})"
            turns = list(_turns(intake, as_list(items, spot), spot))
            yield UntimedSession(key, turns, spot, at)


def _turns(intake: Intake, items: Sequence[object], spot: str) -> Iterator[UntimedTurn]:
    """The turns, each named by its place, so that one that can't be taken moves no other."""
    for place, item in enumerate(items, 1):
        where = f"{spot}[{place - 1}]"
        with intake.catching():
            yield said(as_object(item, where), where, key=str(place))


FORMAT = Format(
    name="longmemeval",
    summary="LongMemEval: questions with their haystacks of dated chats",
    sniff=_sniff,
    read=_read,
)
