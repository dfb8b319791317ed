"""LongMemEval: questions, each with its own haystack of chats with an assistant.

``[{"question_id", "haystack_session_ids", "haystack_dates": ["2023/05/20 (Sat) 02:21"],
"haystack_sessions": [[{"role", "content"}]]}]``: each question has a history. Dates have no zone.
The question itself is not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, Preview, history
from theanine.importers.dates import ZONELESS, formatted_time
from theanine.importers.schema import Filled, Item, Text, check
from theanine.importers.timestamps import ChatTurn, UntimedSession, UntimedTurn, on_dates
from theanine.types import History

_DATES = ("%Y/%m/%d (%a) %H:%M", "%Y/%m/%d %H:%M")


class _Question(Item):
    question_id: Filled
    haystack_sessions: list[object]
    haystack_dates: list[Text]
    haystack_session_ids: list[Text]


def _sniff(sample: Preview) -> bool:
    return "haystack_sessions" in sample.first


def _read(intake: Intake) -> Iterator[History]:
    for where, record in intake.records():
        with intake.catching():
            notes = Counter[str]()
            question = check(_Question, record, where)
            sessions = list(_sessions(intake, question, where, notes))
            transcripts = list(on_dates(intake, sessions, notes))
            if not transcripts:
                raise BadInput("a haystack without a single turn; leave it out", where)
            notes[ZONELESS] += 0 if intake.options.zone else len(transcripts)
            yield history(question.question_id, transcripts, +notes)


def _sessions(
    intake: Intake, question: _Question, where: str, notes: Counter[str]
) -> Iterator[UntimedSession]:
    dates, ids = question.haystack_dates, question.haystack_session_ids
    if not len(question.haystack_sessions) == len(dates) == len(ids):
        raise BadInput(
            "haystack_sessions, haystack_dates, haystack_session_ids differ in length; "
            "make them match",
            where,
        )
    seen = Counter[str]()
    for i, (items, date, id_) in enumerate(
        zip(question.haystack_sessions, dates, ids, strict=True)
    ):
        at_session = f"{where}.haystack_sessions[{i}]"
        with intake.catching():
            at = formatted_time(date, _DATES, at_session, intake.options.local)
            key = f"{question.question_id}/{id_}"
            seen[key] += 1
            if seen[key] > 1:
                notes["sessions under a name used before"] += 1
                key = f"{key} ({seen[key]})"
            turns: list[UntimedTurn] = []
            for number, item in enumerate(check(list[object], items, at_session)):
                at_turn = f"{at_session}[{number}]"
                with intake.catching():
                    # Keyed by position, so that a turn that is left out renumbers no other.
                    turns.append(check(ChatTurn, item, at_turn).untimed(at_turn, str(number + 1)))
            yield UntimedSession(key, turns, at_session, at)


FORMAT = Format(
    name="longmemeval",
    summary="LongMemEval: questions with their haystacks of dated chats",
    sniff=_sniff,
    read=_read,
)
