"""LoCoMo: a list of conversations with dated sessions, and facts observed in each session.

``{"sample_id", "conversation": {"session_1": [{"speaker", "dia_id", "text", "blip_caption"?}],
"session_1_date_time": "1:56 pm on 8 May, 2023"}, "observation"?: {"session_1_observation":
{speaker: [[fact, dia_id]]}}}``. Its questions and summaries are not read. Dates have no zone. With
``memories``, the observed facts become memories with their source turns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from theanine.errors import BadInput
from theanine.importers.base import Entry, Format, Intake, each_record
from theanine.importers.schema import Filled, Item, Object, Text, check, require_storable
from theanine.importers.timestamps import UntimedSession, make_history
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


def _read(intake: Intake, record: Object, where: str) -> History:
    sample = check(_Sample, record, where)
    return make_history(intake, sample.sample_id, _sessions(intake, sample, where))


def _sessions(intake: Intake, sample: _Sample, where: str) -> Iterator[UntimedSession]:
    """Yield the sessions by number. Dates of sessions that don't exist occur and are ignored."""
    conversation = sample.conversation
    for number in sorted(int(m[1]) for key in conversation if (m := _SESSION.fullmatch(key))):
        key = f"session_{number}"
        at_session = f"{where}.conversation.{key}"
        with intake.catching():
            if (date := conversation.get(f"{key}_date_time")) is None:
                reason = f'the field "{key}_date_time" is missing'
                raise BadInput(reason, f"{where}.conversation")
            at_date = f"{at_session}_date_time"
            at = intake.date(check(str, date, at_date), _DATES, at_date)
            turns = [
                Entry(at_turn, "user", turn.speaker, turn.text or "", turn.attachment, turn.dia_id)
                for _, at_turn, turn in intake.items(_Turn, conversation[key], at_session)
            ]
            memories: list[ImportedMemory] = []
            if intake.options.memories:
                facts = (sample.observation or {}).get(f"{key}_observation")
                at_facts = f"{where}.observation.{key}_observation"
                memories += _memories(intake, facts, {turn.key for turn in turns}, at_facts)
            session_key = f"{sample.sample_id}/{key}"
            yield UntimedSession(session_key, turns, at_session, at, memories=memories)


def _memories(
    intake: Intake, facts: object, turn_keys: Set[str | None], where: str
) -> Iterator[ImportedMemory]:
    """Yield the facts of a session, given the keys of its turns."""
    for speaker, items in check(dict[str, object], facts or {}, where).items():
        with intake.catching():
            require_storable(speaker, where)
            for _, at_fact, parts in intake.items(list[object], items, f"{where}.{speaker}"):
                with intake.catching():
                    text = require_storable(
                        check(str, parts[0] if parts else None, at_fact), at_fact
                    )
                    if not text.strip():
                        raise BadInput("an empty fact; fill it or leave it out", at_fact)
                    # "D1:3", "D1:3, D1:4" or ["D1:3", "D1:4"]
                    sources = dict.fromkeys(_TURN_ID.findall(str(parts[1:])))
                    intake.notes["memories' sources that name no turn of their session"] += len(
                        sources.keys() - turn_keys
                    )
                    yield ImportedMemory(
                        text=text,
                        speakers=(speaker,),
                        source_keys=tuple(key for key in sources if key in turn_keys),
                    )


FORMAT = Format(
    name="locomo",
    sniff=lambda intake: (
        isinstance(intake.first.get("conversation"), dict) and "sample_id" in intake.first
    ),
    read=each_record(_read),
    memories=True,
)
