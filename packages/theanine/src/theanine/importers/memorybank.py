"""MemoryBank: users by name, each with days of exchanges with an assistant.

``{user: {"name", "history": {"2023-04-27": [{"query", "response"}]}}}``: a session a day. Days have
no time and no zone: they begin at noon. The assistant is called ``AI``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, Preview, history
from theanine.importers.dates import ZONELESS, day_time
from theanine.importers.fields import (
    as_list,
    as_object,
    is_object,
    member,
    optional_text,
    require_storable,
    text_in,
)
from theanine.importers.timestamps import UntimedSession, UntimedTurn, on_dates
from theanine.types import History

_ASSISTANT = "AI"


def _sniff(sample: Preview) -> bool:
    users = list(sample.first.values())
    if not users or not all(is_object(user) for user in users):
        return False
    return is_object(as_object(users[0], "").get("history"))


def _read(intake: Intake) -> Iterator[History]:
    for where, users in intake.records():
        for key, value in users.items():
            spot = f"{where}, {key}"
            with intake.catching():
                require_storable(key, where)
                user = as_object(value, spot)
                name = optional_text(user, "name", spot).strip() or key.strip()
                days = as_object(member(user, "history", spot), f"{spot}, history")
                notes = Counter[str]()
                sittings = list(_sittings(intake, name, days, f"{spot}, history"))
                transcripts = list(on_dates(intake, sittings, notes))
                if not transcripts:
                    raise BadInput("a user without a single turn; leave it out", spot)
                notes[ZONELESS] += 0 if intake.options.zone else len(transcripts)
                yield history(name, transcripts, +notes)


def _sittings(
    intake: Intake, name: str, days: Mapping[str, object], where: str
) -> Iterator[UntimedSession]:
    for day, exchanges in days.items():
        spot = f"{where}, {day}"
        with intake.catching():
            at = day_time(day, ("%Y-%m-%d",), spot, intake.options.local)
            turns: list[UntimedTurn] = []
            for i, item in enumerate(as_list(exchanges, spot)):
                place = f"{spot}[{i}]"
                with intake.catching():
                    exchange = as_object(item, place)
                    query = text_in(exchange, "query", place)
                    turns.append(UntimedTurn(name, query, place, key=str(2 * i + 1)))
                    answer = text_in(exchange, "response", place)
                    turns.append(
                        UntimedTurn(_ASSISTANT, answer, place, "assistant", key=str(2 * i + 2))
                    )
            yield UntimedSession(f"{name}/{day}", turns, spot, at)


FORMAT = Format(
    name="memorybank",
    summary="MemoryBank: users with days of exchanges with an assistant",
    sniff=_sniff,
    read=_read,
)
