"""MemoryBank: users by name, each with days of exchanges with an assistant.

``{user: {"name", "history": {"2023-04-27": [{"query", "response"}]}}}``: a day is a session. Days
have no time and no zone: they begin at noon. The assistant is called ``AI``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import cast

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, Preview, history
from theanine.importers.dates import ZONELESS, day_time
from theanine.importers.schema import Filled, Item, Object, Text, check, require_storable
from theanine.importers.timestamps import UntimedSession, UntimedTurn, on_dates
from theanine.types import History

_ASSISTANT = "AI"


class _User(Item):
    name: Text | None = None
    history: Object


class _Query(Item):
    query: Filled


class _Response(Item):
    response: Filled


def _sniff(sample: Preview) -> bool:
    users = list(sample.first.values())
    if not users or not all(isinstance(user, dict) for user in users):
        return False
    return isinstance(cast("Mapping[str, object]", users[0]).get("history"), dict)


def _read(intake: Intake) -> Iterator[History]:
    for where, users in intake.records():
        for key, value in users.items():
            at_user = f"{where}, {key}"
            with intake.catching():
                require_storable(key, where)
                user = check(_User, value, at_user)
                name = (user.name or "").strip() or key.strip()
                notes = Counter[str]()
                sessions = list(_sessions(intake, name, user.history, f"{at_user}, history"))
                transcripts = list(on_dates(intake, sessions, notes))
                if not transcripts:
                    raise BadInput("a user without a single turn; leave it out", at_user)
                notes[ZONELESS] += 0 if intake.options.zone else len(transcripts)
                yield history(name, transcripts, +notes)


def _sessions(intake: Intake, name: str, days: Object, where: str) -> Iterator[UntimedSession]:
    for day, exchanges in days.items():
        at_day = f"{where}, {day}"
        with intake.catching():
            at = day_time(day, ("%Y-%m-%d",), at_day, intake.options.local)
            turns: list[UntimedTurn] = []
            for i, item in enumerate(check(list[object], exchanges, at_day)):
                at_exchange = f"{at_day}[{i}]"
                with intake.catching():
                    # The query is read even if its response can't be.
                    query = check(_Query, item, at_exchange).query
                    turns.append(UntimedTurn(name, query, at_exchange, key=str(2 * i + 1)))
                    answer = check(_Response, item, at_exchange).response
                    turns.append(
                        UntimedTurn(
                            _ASSISTANT, answer, at_exchange, "assistant", key=str(2 * i + 2)
                        )
                    )
            yield UntimedSession(f"{name}/{day}", turns, at_day, at)


FORMAT = Format(
    name="memorybank",
    summary="MemoryBank: users with days of exchanges with an assistant",
    sniff=_sniff,
    read=_read,
)
