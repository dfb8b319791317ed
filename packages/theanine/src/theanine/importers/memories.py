"""Ready-made memories of sessions without their turns.

``[{"dataID", "summary": {"s1-m1": sentence, …}}]``: session 1, memory 1. The sessions have no
dates; they are put a day apart on a synthetic calendar.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from pydantic import Field

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, Preview, history
from theanine.importers.schema import Filled, Item, Object, check, require_storable
from theanine.importers.timestamps import UntimedSession, on_calendar
from theanine.types import History, ImportedMemory

_KEY = re.compile(r"s(\d{1,6})-m(\d{1,6})")


class _Record(Item):
    data_id: Filled = Field(validation_alias="dataID")
    summary: Object


def _sniff(sample: Preview) -> bool:
    return "dataID" in sample.first and isinstance(sample.first.get("summary"), dict)


def _read(intake: Intake) -> Iterator[History]:
    if not intake.options.memories:
        raise BadInput("it holds only ready-made memories; import it with --memories", intake.name)
    for where, item in intake.records():
        with intake.catching():
            notes = Counter[str]()
            record = check(_Record, item, where)
            memories: dict[int, dict[int, ImportedMemory]] = defaultdict(dict)
            for key, sentence in record.summary.items():
                with intake.catching():
                    if not (match := _KEY.fullmatch(key)):
                        raise BadInput(
                            f'"{key[:40]}" is no memory\'s name; write s1-m1 for session 1, '
                            "memory 1",
                            f"{where}, summary",
                        )
                    at_memory = f"{where}, summary.{key}"
                    text = require_storable(check(str, sentence, at_memory), at_memory)
                    if not text.strip():
                        raise BadInput("an empty memory; fill it or leave it out", at_memory)
                    memories[int(match[1])][int(match[2])] = ImportedMemory(text=text)
            sessions = [
                UntimedSession(
                    f"{record.data_id}/s{number}",
                    (),
                    where,
                    memories=[by_number[m] for m in sorted(by_number)],
                )
                for number, by_number in sorted(memories.items())
            ]
            if not sessions:
                raise BadInput("no memory in it; leave it out", where)
            yield history(record.data_id, on_calendar(intake, sessions, notes), notes)


FORMAT = Format(
    name="memories",
    summary="ready-made memories by session, without the turns (--memories)",
    sniff=_sniff,
    read=_read,
    memories=True,
)
