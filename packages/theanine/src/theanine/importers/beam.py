"""BEAM: one user's long chat with an assistant, in batches.

``[{"turns": [[{"role", "content", "id", "time_anchor"?}]], "time_anchor"?}]``: a batch is a
session. Its date is the first time anchor in it (``March-15-2024``, without time and zone: noon).
The longest chats are ``[{"plan-1": [batch, …]}, {"plan-2": …}]``, one plan after another; as
published on the hub, each also names the other plans, with null. The history is named after the
file's folder, as the file of each chat is called ``chat.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from theanine.importers.base import Entry, Format, Intake
from theanine.importers.folder import Folder
from theanine.importers.schema import Item, Object, Text, as_object, check, require_storable
from theanine.importers.timestamps import ChatTurn, UntimedSession, make_history
from theanine.types import History


class _Batch(Item):
    turns: list[list[object]]
    time_anchor: Text | None = None


class _Turn(ChatTurn):
    id: object = None
    time_anchor: Text | None = None


def _holds_plans(record: Mapping[str, object]) -> bool:
    return bool(record) and all(key.startswith("plan-") for key in record)


def _read(intake: Intake) -> Iterator[History]:
    folder = intake.source.path.resolve().parent.name if intake.source.path else ""
    key = f"beam-{folder}" if folder else intake.stem
    name = intake.options.name or key
    sessions: list[UntimedSession] = []
    with intake.catching():
        for where, batch in _batches(intake):
            with intake.catching():
                sessions.append(_session(intake, f"{key}/{len(sessions) + 1}", batch, where))
        history = make_history(intake, name, sessions)
        if history.transcripts:
            yield history


def _batches(intake: Intake) -> Iterator[tuple[str, Object]]:
    """Yield each batch with its place, of all plans in order."""
    for where, record in intake.records():
        if not _holds_plans(record):
            yield where, record
            continue
        for plan, batches in record.items():
            with intake.catching():
                for _, at_batch, batch in intake.items(object, batches or [], f"{where}.{plan}"):
                    with intake.catching():
                        yield at_batch, as_object(batch, at_batch)


def _session(intake: Intake, key: str, record: Object, where: str) -> UntimedSession:
    batch = check(_Batch, record, where)
    turns: list[Entry] = []
    anchor = batch.time_anchor
    for number, group in enumerate(batch.turns):
        for _, at_turn, turn in intake.items(_Turn, group, f"{where}.turns[{number}]"):
            with intake.catching():
                anchor = anchor or turn.time_anchor
                turn_key = str(len(turns) + 1 if turn.id is None else turn.id)
                turns.append(turn.untimed(at_turn, require_storable(turn_key, at_turn)))
    at = intake.date(anchor, ("%B-%d-%Y",), where) if anchor else None
    return UntimedSession(key, turns, where, at)


def _pick(folder: Folder) -> Sequence[str]:
    """Return the file of each chat, or its truncated version if there is one."""

    def number(name: str) -> tuple[int, str]:
        chat = PurePosixPath(name).parent.name
        return (int(chat) if chat.isdecimal() else 0, chat)

    # The published name of the truncated chats is misspelled.
    short = {name: name.removesuffix("chat.json") + "chat_trunecated.json" for name in folder.names}
    return [
        short[name] if short[name] in short else name
        for name in sorted(folder.select("chat.json"), key=number)
        if name.count("/") < 2
    ]


FORMAT = Format(
    name="beam",
    sniff=lambda intake: (
        {"turns", "batch_number"} <= intake.first.keys() or _holds_plans(intake.first)
    ),
    read=_read,
    pick=_pick,
)
