"""LongMemEval: questions, each with its own haystack of chats with an assistant.

``[{"question_id", "haystack_session_ids", "haystack_dates": ["2023/05/20 (Sat) 02:21"],
"haystack_sessions": [[{"role", "content"}]]}]``: each question has a history. Dates have no zone.
The question itself is not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, each_record
from theanine.importers.schema import Filled, Item, Object, Text, check
from theanine.importers.timestamps import ChatTurn, UntimedSession, make_history
from theanine.types import History

_DATES = ("%Y/%m/%d (%a) %H:%M", "%Y/%m/%d %H:%M")


class _Question(Item):
    question_id: Filled
    haystack_sessions: list[object]
    haystack_dates: list[Text]
    haystack_session_ids: list[Text]


def _read(intake: Intake, record: Object, where: str) -> History:
    question = check(_Question, record, where)
    return make_history(intake, question.question_id, _sessions(intake, question, where))


def _sessions(intake: Intake, question: _Question, where: str) -> Iterator[UntimedSession]:
    sessions, dates = question.haystack_sessions, question.haystack_dates
    ids = question.haystack_session_ids
    if not len(sessions) == len(dates) == len(ids):
        raise BadInput(
            "haystack_sessions, haystack_dates, haystack_session_ids differ in length; "
            "make them match",
            where,
        )
    uses = Counter[str]()
    for i, (items, date, id) in enumerate(zip(sessions, dates, ids, strict=True)):
        at_session = f"{where}.haystack_sessions[{i}]"
        with intake.catching():
            at = intake.date(date, _DATES, at_session)
            uses[id] += 1
            key = f"{question.question_id}/{id}"
            if uses[id] > 1:
                intake.notes["sessions under a name used before"] += 1
                key += f" ({uses[id]})"
            turns = [
                # Keyed by position, so that a turn that is left out renumbers no other.
                turn.untimed(at_turn, str(number + 1))
                for number, at_turn, turn in intake.items(ChatTurn, items, at_session)
            ]
            yield UntimedSession(key, turns, at_session, at)


FORMAT = Format(
    name="longmemeval",
    sniff=lambda intake: "haystack_sessions" in intake.first,
    read=each_record(_read),
)
