"""LoCoMo: a list of conversations with dated sessions, and facts observed in each session.

``{"sample_id", "conversation": {"session_1": [{"speaker", "dia_id", "text", "blip_caption"?}],
"session_1_date_time": "1:56 pm on 8 May, 2023"}, "observation"?: {"session_1_observation":
{speaker: [[fact, dia_id]]}}}``. Its questions and summaries are not read. Dates have no zone. With
``memories``, the observed facts become ready-made memories with their source turns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, Preview, history
from theanine.importers.dates import ZONELESS, formatted_time
from theanine.importers.schema import Filled, Item, Object, Text, check, require_storable
from theanine.importers.timestamps import UntimedSession, UntimedTurn, on_dates
from theanine.types import History, ImportedMemory

_SESSION = re.compile(r"session_(\d{1,6})")
_TURN_ID = re.compile(r"D\d+:\d+")
_DATES = ("%I:%M %p on %d %B, %Y", "%I:%M %p on %d %B %Y")


class _Sample(Item):
    sample_id: Filled
    conversation: Object
    observation: Object | None = None


class _Turn(Item):
    speaker: Filled
    dia_id: Filled
    text: Text | None = None
    blip_caption: Text | None = None
    img_url: object = None

    @property
    def attachment(self) -> str:
        return self.blip_caption or ("a picture" if self.img_url else "")


def _sniff(sample: Preview) -> bool:
    return isinstance(sample.first.get("conversation"), dict) and "sample_id" in sample.first


def _read(intake: Intake) -> Iterator[History]:
    for where, record in intake.records():
        with intake.catching():
            notes = Counter[str]()
            sample = check(_Sample, record, where)
            sessions = list(_sessions(intake, sample, where, notes))
            transcripts = list(on_dates(intake, sessions, notes))
            if not transcripts:
                raise BadInput("no session with turns in it; is this the whole file?", where)
            notes[ZONELESS] += 0 if intake.options.zone else len(transcripts)
            yield history(sample.sample_id, transcripts, +notes)


def _sessions(
    intake: Intake, sample: _Sample, where: str, notes: Counter[str]
) -> Iterator[UntimedSession]:
    """Yield the sessions by number. Dates of sessions that don't exist occur and are ignored."""
    conversation = sample.conversation
    for number in sorted(int(m[1]) for key in conversation if (m := _SESSION.fullmatch(key))):
        key = f"session_{number}"
        at_session = f"{where}.conversation.{key}"
        with intake.catching():
            written = conversation.get(f"{key}_date_time")
            if written is None:
                reason = f'the field "{key}_date_time" is missing'
                raise BadInput(reason, f"{where}.conversation")
            date = check(str, written, f"{at_session}_date_time")
            at = formatted_time(date, _DATES, f"{at_session}_date_time", intake.options.local)
            turns: list[UntimedTurn] = []
            for i, item in enumerate(check(list[object], conversation[key], at_session)):
                at_turn = f"{at_session}[{i}]"
                with intake.catching():
                    turn = check(_Turn, item, at_turn)
                    turns.append(
                        UntimedTurn(
                            turn.speaker,
                            turn.text or "",
                            at_turn,
                            key=turn.dia_id,
                            attachment=turn.attachment,
                        )
                    )
            memories: list[ImportedMemory] = []
            if intake.options.memories:
                facts = (sample.observation or {}).get(f"{key}_observation")
                at_facts = f"{where}.observation.{key}_observation"
                keys = frozenset(turn.key for turn in turns if turn.key)
                memories.extend(_memories(intake, facts, keys, at_facts, notes))
            yield UntimedSession(
                f"{sample.sample_id}/{key}", turns, at_session, at, memories=memories
            )


def _memories(
    intake: Intake, facts: object, keys: frozenset[str], where: str, notes: Counter[str]
) -> Iterator[ImportedMemory]:
    """Yield the facts of a session, whose turns have the given keys."""
    for speaker, items in check(dict[str, object], facts or {}, where).items():
        with intake.catching():
            require_storable(speaker, where)
            for i, item in enumerate(check(list[object], items, f"{where}.{speaker}")):
                at_fact = f"{where}.{speaker}[{i}]"
                with intake.catching():
                    parts = check(list[object], item, at_fact)
                    text = require_storable(
                        check(str, parts[0] if parts else None, at_fact), at_fact
                    )
                    if not text.strip():
                        raise BadInput("an empty fact; fill it or leave it out", at_fact)
                    sources = _source_keys(parts[1:])
                    notes["memories' sources that name no turn of their session"] += len(
                        set(sources) - keys
                    )
                    yield ImportedMemory(
                        text=text,
                        speakers=(speaker,),
                        source_keys=tuple(key for key in sources if key in keys),
                    )


def _source_keys(references: Sequence[object]) -> Sequence[str]:
    """Return turn ids from ``"D1:3"``, ``"D1:3, D1:4"`` or ``["D1:3", "D1:4"]``, each once."""
    return list(dict.fromkeys(_TURN_ID.findall(str(references))))


FORMAT = Format(
    name="locomo",
    summary="LoCoMo: dated conversations of two friends, with observed facts",
    sniff=_sniff,
    read=_read,
    memories=True,
)
