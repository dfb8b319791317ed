"""Ready-made memories of sessions whose words aren't there.

``[{"dataID", "summary": {"s1-m1": sentence, …}}]``: session 1, memory 1. Sessions have no turns and
no dates; they stand a day apart on a made-up calendar.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, Preview, history
from theanine.importers.fields import as_object, is_object, member, text_in
from theanine.importers.timestamps import UntimedSession, on_calendar
from theanine.types import History, ImportedMemory

_KEY = re.compile(r"s(\d{1,6})-m(\d{1,6})")


def _sniff(sample: Preview) -> bool:
    return "dataID" in sample.first and is_object(sample.first.get("summary"))


def _read(intake: Intake) -> Iterator[History]:
    if not intake.options.memories:
        raise BadInput("it holds only ready-made memories; import it with --memories", intake.name)
    for where, record in intake.records():
        with intake.catching():
            notes = Counter[str]()
            name = text_in(record, "dataID", where)
            found: dict[int, dict[int, ImportedMemory]] = defaultdict(dict)
            summary = as_object(member(record, "summary", where), f"{where}, summary")
            for key in summary:
                with intake.catching():
                    if not (match := _KEY.fullmatch(key)):
                        raise BadInput(
                            f'"{key[:40]}" is no memory\'s name; write s1-m1 for session 1, '
                            "memory 1",
                            f"{where}, summary",
                        )
                    text = text_in(summary, key, f"{where}, summary")
                    found[int(match[1])][int(match[2])] = ImportedMemory(text=text)
            sittings = [
                UntimedSession(f"{name}/s{n}", (), where, memories=[of[m] for m in sorted(of)])
                for n, of in sorted(found.items())
            ]
            if not sittings:
                raise BadInput("no memory in it; leave it out", where)
            yield history(name, on_calendar(intake, sittings, notes), notes)


FORMAT = Format(
    name="memories",
    summary="ready-made memories by session, without the words (--memories)",
    sniff=_sniff,
    read=_read,
    memories=True,
)
