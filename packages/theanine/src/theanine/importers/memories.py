"""Memories of sessions without their turns.

``[{"dataID", "summary": {"s1-m1": sentence, …}}]``: session 1, memory 1. The sessions have no
dates; they are put a day apart on a synthetic calendar.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from pydantic import Field

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, each_record
from theanine.importers.schema import Filled, Item, Object, check, require_storable
from theanine.importers.timestamps import UntimedSession, make_history
from theanine.types import History, ImportedMemory

_KEY = re.compile(r"s(\d{1,6})-m(\d{1,6})")


class _Episode(Item):
    data_id: Filled = Field(validation_alias="dataID")
    summary: Object


def _read(intake: Intake) -> Iterator[History]:
    if not intake.options.memories:
        raise BadInput("it holds only memories; import it with --memories", intake.name)
    yield from each_record(_read_episode)(intake)


def _read_episode(intake: Intake, record: Object, where: str) -> History:
    episode = check(_Episode, record, where)
    sessions: dict[int, dict[int, ImportedMemory]] = defaultdict(dict)
    for key, sentence in episode.summary.items():
        with intake.catching():
            if not (match := _KEY.fullmatch(key)):
                raise BadInput(
                    f'"{key[:40]}" is not a memory\'s name; write s1-m1 for session 1, memory 1',
                    f"{where}, summary",
                )
            at_memory = f"{where}, summary.{key}"
            text = require_storable(check(str, sentence, at_memory), at_memory)
            if not text.strip():
                raise BadInput("an empty memory; fill it or leave it out", at_memory)
            sessions[int(match[1])][int(match[2])] = ImportedMemory(text=text)
    untimed = [
        UntimedSession(
            f"{episode.data_id}/s{number}",
            (),
            where,
            memories=[memories[position] for position in sorted(memories)],
        )
        for number, memories in sorted(sessions.items())
    ]
    return make_history(intake, episode.data_id, untimed)


FORMAT = Format(
    name="memories",
    sniff=lambda intake: "dataID" in intake.first and isinstance(intake.first.get("summary"), dict),
    read=_read,
    memories=True,
)
