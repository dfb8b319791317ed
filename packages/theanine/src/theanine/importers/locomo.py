"""LoCoMo: a list of conversations with dated sessions, and facts observed in each session.

``{"sample_id", "conversation": {"session_1": [{"speaker", "dia_id", "text", "blip_caption"?}],
"session_1_date_time": "1:56 pm on 8 May, 2023"}, "observation"?: {"session_1_observation":
{speaker: [[fact, dia_id]]}}}``. Its questions and summaries are not read. Dates have no zone. With
``memories`` the observed facts come along as ready-made memories with their source turns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, Preview, history
from theanine.importers.dates import ZONELESS, formatted_time
from theanine.importers.fields import (
    as_list,
    as_object,
    as_text,
    is_object,
    member,
    optional_text,
    require_storable,
    text_in,
)
from theanine.importers.timestamps import UntimedSession, UntimedTurn, on_dates
from theanine.types import History, ImportedMemory

_SESSION = re.compile(r"session_(\d{1,6})")
_TURN_ID = re.compile(r"D\d+:\d+")
_DATES = ("%I:%M %p on %d %B, %Y", "%I:%M %p on %d %B %Y")


def _sniff(sample: Preview) -> bool:
    return is_object(sample.first.get("conversation")) and "sample_id" in sample.first


def _read(intake: Intake) -> Iterator[History]:
    for where, record in intake.records():
        with intake.catching():
            notes = Counter[str]()
            name = text_in(record, "sample_id", where)
            observed = as_object(record.get("observation") or {}, f"{where}.observation")
            sittings = list(_sittings(intake, name, record, where, observed, notes))
            transcripts = list(on_dates(intake, sittings, notes))
            if not transcripts:
                raise BadInput("no session with turns in it; is this the whole file?", where)
            notes[ZONELESS] += 0 if intake.options.zone else len(transcripts)
            yield history(name, transcripts, +notes)


def _sittings(
    intake: Intake,
    name: str,
    record: Mapping[str, object],
    where: str,
    observed: Mapping[str, object],
    notes: Counter[str],
) -> Iterator[UntimedSession]:
    """Its sessions by number. A date without a session is passed over: the source has such."""
    talk = as_object(member(record, "conversation", where), f"{where}.conversation")
    for number in sorted(int(m[1]) for key in talk if (m := _SESSION.fullmatch(key))):
        key = f"session_{number}"
        place = f"{where}.conversation.{key}"
        with intake.catching():
            date = text_in(talk, f"{key}_date_time", f"{where}.conversation")
            at = formatted_time(date, _DATES, f"{place}_date_time", intake.options.local)
            turns = list(_turns(intake, as_list(talk[key], place), place))
            spot = f"{where}.observation.{key}_observation"
            memories: list[ImportedMemory] = []
            if intake.options.memories:
                facts = as_object(observed.get(f"{key}_observation") or {}, spot)
                keys = frozenset(turn.key for turn in turns if turn.key)
                memories.extend(_memories(intake, facts, keys, spot, notes))
            yield UntimedSession(f"{name}/{key}", turns, place, at, memories=memories)


def _turns(intake: Intake, items: Sequence[object], place: str) -> Iterator[UntimedTurn]:
    for i, item in enumerate(items):
        where = f"{place}[{i}]"
        with intake.catching():
            turn = as_object(item, where)
            yield UntimedTurn(
                text_in(turn, "speaker", where),
                optional_text(turn, "text", where),
                where,
                key=text_in(turn, "dia_id", where),
                shared=_shared(turn, where),
            )


def _shared(turn: Mapping[str, object], where: str) -> str:
    caption = optional_text(turn, "blip_caption", where)
    return caption or ("a picture" if turn.get("img_url") else "")


def _memories(
    intake: Intake,
    by_speaker: Mapping[str, object],
    keys: frozenset[str],
    where: str,
    notes: Counter[str],
) -> Iterator[ImportedMemory]:
    for speaker, facts in by_speaker.items():
        with intake.catching():
            require_storable(speaker, where)
            for i, fact in enumerate(as_list(facts, f"{where}.{speaker}")):
                with intake.catching():
                    yield _memory(fact, speaker, keys, f"{where}.{speaker}[{i}]", notes)


def _memory(
    item: object, speaker: str, keys: frozenset[str], where: str, notes: Counter[str]
) -> ImportedMemory:
    parts = as_list(item, where)
    text = as_text(parts[0] if parts else None, where)
    if not text.strip():
        raise BadInput("an empty fact; fill it or leave it out", where)
    # The source names turns as "D1:3", as a list of such, or as several in one text.
    named = _TURN_ID.findall(str(parts[1:]))
    sources = tuple(dict.fromkeys(key for key in named if key in keys))
    notes["memories' sources that name no turn of their session"] += len(set(named) - keys)
    return ImportedMemory(text=text, speakers=(speaker,), source_keys=sources)


FORMAT = Format(
    name="locomo",
    summary="LoCoMo: dated conversations of two friends, with observed facts",
    sniff=_sniff,
    read=_read,
    memories=True,
)
