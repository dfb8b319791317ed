"""BEAM: one user's long chat with an assistant, in batches.

``[{"turns": [[{"role", "content", "id", "time_anchor"?}]], "time_anchor"?}]``: a session a batch,
its date the first time anchor in it (``March-15-2024``, no time, no zone: noon). The longest chats
are ``[{"plan-1": [batch, …]}, {"plan-2": …}]``, one plan after another; where the hub wrote them,
each also names the other plans, with null. The history is named after the file's folder, as each
chat's file is called ``chat.json``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, Preview, history
from theanine.importers.chat import said
from theanine.importers.dates import ZONELESS, day_time
from theanine.importers.fields import as_list, as_object, member, optional_text
from theanine.importers.timestamps import UntimedSession, UntimedTurn, on_calendar, on_dates
from theanine.types import History


def _sniff(sample: Preview) -> bool:
    return {"turns", "batch_number"} <= sample.first.keys() or _holds_plans(sample.first)


def _read(intake: Intake) -> Iterator[History]:
    with intake.catching():
        notes = Counter[str]()
        folder = intake.source.path.resolve().parent.name if intake.source.path else ""
        name = intake.options.name or (f"beam-{folder}" if folder else intake.own_name)
        sittings: list[UntimedSession] = []
        for where, batch in _batches(intake):
            with intake.catching():
                sittings.append(_sitting(intake, f"{name}/{len(sittings) + 1}", batch, where))
        if all(sitting.at is None for sitting in sittings):
            transcripts = list(on_calendar(intake, sittings, notes))
        else:
            for sitting in sittings:
                if sitting.at is None:
                    reason = "a batch without a time_anchor where others have one; give it one"
                    raise BadInput(reason, sitting.where)
            transcripts = list(on_dates(intake, sittings, notes))
            notes[ZONELESS] += 0 if intake.options.zone else len(transcripts)
        if transcripts:
            yield history(name, transcripts, +notes)


def _holds_plans(record: Mapping[str, object]) -> bool:
    return bool(record) and all(key.startswith("plan-") for key in record)


def _batches(intake: Intake) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Every batch with its place, of all plans in their order."""
    for where, record in intake.records():
        if not _holds_plans(record):
            yield where, record
            continue
        for plan, batches in record.items():
            with intake.catching():
                spot = f"{where}.{plan}"
                for b, batch in enumerate(as_list(batches, spot) if batches is not None else ()):
                    with intake.catching():
                        yield f"{spot}[{b}]", as_object(batch, f"{spot}[{b}]")


def _sitting(intake: Intake, key: str, batch: Mapping[str, object], where: str) -> UntimedSession:
    turns: list[UntimedTurn] = []
    anchor = optional_text(batch, "time_anchor", where)
    for g, group in enumerate(as_list(member(batch, "turns", where), f"{where}.turns")):
        for i, item in enumerate(as_list(group, f"{where}.turns[{g}]")):
            spot = f"{where}.turns[{g}][{i}]"
            with intake.catching():
                turn = as_object(item, spot)
                anchor = anchor or optional_text(turn, "time_anchor", spot)
                turns.append(said(turn, spot, key=str(turn.get("id", len(turns) + 1))))
    at = day_time(anchor, ("%B-%d-%Y",), where, intake.options.local) if anchor else None
    return UntimedSession(key, turns, where, at)


FORMAT = Format(
    name="beam",
    summary="BEAM: a long chat with an assistant in dated batches (chat.json)",
    sniff=_sniff,
    read=_read,
)
