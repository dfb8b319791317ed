"""BEAM: one user's long chat with an assistant, in batches.

``[{"turns": [[{"role", "content", "id", "time_anchor"?}]], "time_anchor"?}]``: a batch is a
session. Its date is the first time anchor in it (``March-15-2024``, without time and zone: noon).
The longest chats are ``[{"plan-1": [batch, …]}, {"plan-2": …}]``, one plan after another; as
published on the hub, each also names the other plans, with null. The history is named after the
file's folder, as the file of each chat is called ``chat.json``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, Preview, history
from theanine.importers.dates import ZONELESS, day_time
from theanine.importers.schema import Item, Object, Text, as_object, check, require_storable
from theanine.importers.timestamps import (
    ChatTurn,
    UntimedSession,
    UntimedTurn,
    on_calendar,
    on_dates,
)
from theanine.types import History


class _Batch(Item):
    turns: list[list[object]]
    time_anchor: Text | None = None


class _Turn(ChatTurn):
    id: object = None
    time_anchor: Text | None = None


def _sniff(sample: Preview) -> bool:
    return {"turns", "batch_number"} <= sample.first.keys() or _holds_plans(sample.first)


def _read(intake: Intake) -> Iterator[History]:
    with intake.catching():
        notes = Counter[str]()
        folder = intake.source.path.resolve().parent.name if intake.source.path else ""
        name = intake.options.name or (f"beam-{folder}" if folder else intake.own_name)
        sessions: list[UntimedSession] = []
        for where, batch in _batches(intake):
            with intake.catching():
                sessions.append(_session(intake, f"{name}/{len(sessions) + 1}", batch, where))
        if all(session.at is None for session in sessions):
            transcripts = list(on_calendar(intake, sessions, notes))
        else:
            for session in sessions:
                if session.at is None:
                    reason = "a batch without a time_anchor where others have one; give it one"
                    raise BadInput(reason, session.where)
            transcripts = list(on_dates(intake, sessions, notes))
            notes[ZONELESS] += 0 if intake.options.zone else len(transcripts)
        if transcripts:
            yield history(name, transcripts, +notes)


def _holds_plans(record: Mapping[str, object]) -> bool:
    return bool(record) and all(key.startswith("plan-") for key in record)


def _batches(intake: Intake) -> Iterator[tuple[str, Object]]:
    """Yield each batch with its place, of all plans in order."""
    for where, record in intake.records():
        if not _holds_plans(record):
            yield where, record
            continue
        for plan, batches in record.items():
            with intake.catching():
                in_plan = f"{where}.{plan}"
                for i, batch in enumerate(check(list[object], batches or [], in_plan)):
                    with intake.catching():
                        yield f"{in_plan}[{i}]", as_object(batch, f"{in_plan}[{i}]")


def _session(intake: Intake, key: str, record: Object, where: str) -> UntimedSession:
    batch = check(_Batch, record, where)
    turns: list[UntimedTurn] = []
    anchor = batch.time_anchor
    for g, group in enumerate(batch.turns):
        for i, item in enumerate(group):
            at_turn = f"{where}.turns[{g}][{i}]"
            with intake.catching():
                turn = check(_Turn, item, at_turn)
                anchor = anchor or turn.time_anchor
                turn_key = str(len(turns) + 1 if turn.id is None else turn.id)
                turns.append(turn.untimed(at_turn, require_storable(turn_key, at_turn)))
    at = day_time(anchor, ("%B-%d-%Y",), where, intake.options.local) if anchor else None
    return UntimedSession(key, turns, where, at)


FORMAT = Format(
    name="beam",
    summary="BEAM: a long chat with an assistant in dated batches (chat.json)",
    sniff=_sniff,
    read=_read,
)
