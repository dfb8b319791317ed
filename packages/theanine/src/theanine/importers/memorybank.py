"""MemoryBank: users by name, each with days of exchanges with an assistant.

``{user: {"name", "history": {"2023-04-27": [{"query", "response"}]}}}``: a day is a session. Days
have no time and no zone: they begin at noon. The assistant is called ``AI``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from theanine.errors import BadInput
from theanine.importers.base import Entry, Format, Intake
from theanine.importers.schema import Filled, Item, Object, Text, check, is_object, require_storable
from theanine.importers.timestamps import UntimedSession, make_history
from theanine.types import History

_ASSISTANT = "AI"


class _User(Item):
    name: Text | None = None
    history: Object


class _Query(Item):
    query: Filled


class _Response(Item):
    response: Filled


def _sniff(intake: Intake) -> bool:
    users = list(intake.first.values())
    objects = [user for user in users if is_object(user)]
    return bool(users) and users == objects and is_object(objects[0].get("history"))


def _read(intake: Intake) -> Iterator[History]:
    for where, users in intake.records():
        for key, value in users.items():
            at_user = f"{where}, {key}"
            with intake.catching():
                intake.notes = Counter()
                require_storable(key, where)
                user = check(_User, value, at_user)
                name = (user.name or "").strip() or key.strip()
                if not name:
                    raise BadInput("a user without a name; name the user", where)
                sessions = _sessions(intake, name, user.history, f"{at_user}, history")
                history = make_history(intake, name, sessions)
                if not history.transcripts:
                    raise BadInput("it has no turns; leave it out", at_user)
                yield history


def _sessions(intake: Intake, name: str, days: Object, where: str) -> Iterator[UntimedSession]:
    for day, exchanges in days.items():
        at_day = f"{where}, {day}"
        with intake.catching():
            at = intake.date(day, ("%Y-%m-%d",), at_day)
            turns: list[Entry] = []
            for i, at_exchange, exchange in intake.items(object, exchanges, at_day):
                with intake.catching():
                    # The query is read even if its response can't be.
                    query = check(_Query, exchange, at_exchange).query
                    turns.append(Entry(at_exchange, "user", name, query, key=str(2 * i + 1)))
                    text = check(_Response, exchange, at_exchange).response
                    key = str(2 * i + 2)
                    turns.append(Entry(at_exchange, "assistant", _ASSISTANT, text, key=key))
            yield UntimedSession(f"{name}/{day}", turns, at_day, at)


FORMAT = Format(
    name="memorybank",
    sniff=_sniff,
    read=_read,
)
