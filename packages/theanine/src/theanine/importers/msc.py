"""Multi-Session Chat: an episode a line, the last session with the ones before it.

``{"dialog": [{"id": "Speaker 1", "text"}], "metadata": {"initial_data_id"}, "previous_dialogs":
[{"dialog": [{"text"}], "time_back": "6 days ago", "personas": [["I have a son."], […]]}]}``. The
file of session N also holds the N - 1 sessions before it; all are read. There are no dates:
``time_back`` gives the gaps. Turns that name no speaker belong alternately to Speaker 1 and
Speaker 2.

With ``memories``, the personas of an earlier session, what people wrote down of each speaker from
it, become its memories; they name no turns. Those of the last session are the earlier ones in other
words and are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta

from theanine.importers.base import Entry, Format, Intake, each_record
from theanine.importers.dates import parse_duration
from theanine.importers.folder import Folder
from theanine.importers.schema import Filled, Item, Object, Text, check, require_storable
from theanine.importers.timestamps import UntimedSession, make_history
from theanine.types import History, ImportedMemory

_FILE = re.compile(r"session_(\d{1,6})/[^/]+\.jsonl")
_SPEAKERS = ("Speaker 1", "Speaker 2")


class _Metadata(Item):
    initial_data_id: Filled


class _Dialog(Item):
    dialog: list[object]
    personas: list[list[object]] | None = None
    time_back: Text | None = None


class _Episode(_Dialog):
    metadata: _Metadata
    previous_dialogs: list[_Dialog] | None = None


class _Turn(Item):
    id: Text | None = None
    text: Filled


def _read(intake: Intake, record: Object, where: str) -> History:
    episode = check(_Episode, record, where)
    name = episode.metadata.initial_data_id
    sessions: list[UntimedSession] = []
    previous_age: timedelta | None = None
    dialogs = [*(episode.previous_dialogs or []), episode]
    for i, dialog in enumerate(dialogs):
        at_dialog, age = where, timedelta()
        if dialog is not episode:
            at_dialog, age = (
                f"{where}, previous_dialogs[{i}]",
                parse_duration(dialog.time_back or ""),
            )
            intake.notes["sessions without a gap"] += age is None
        gap = previous_age - age if previous_age is not None and age is not None else None
        previous_age = age
        turns = _turns(intake, dialog, at_dialog)
        read = intake.options.memories and dialog is not episode
        memories = list(_personas(intake, dialog.personas or [], at_dialog)) if read else []
        key = f"{name}/session_{i + 1}"
        sessions.append(UntimedSession(key, turns, at_dialog, gap=gap, memories=memories))
    return make_history(intake, name, sessions)


def _personas(
    intake: Intake, personas: Sequence[Sequence[object]], where: str
) -> Iterator[ImportedMemory]:
    """Yield the statements about each speaker; the first list is Speaker 1's."""
    for i, (speaker, lines) in enumerate(zip(_SPEAKERS, personas, strict=False)):
        for j, line in enumerate(lines):
            at_line = f"{where}.personas[{i}][{j}]"
            with intake.catching():
                if text := require_storable(check(str, line, at_line), at_line).strip():
                    yield ImportedMemory(text=text, speakers=(speaker,))


def _turns(intake: Intake, dialog: _Dialog, where: str) -> list[Entry]:
    turns: list[Entry] = []
    for i, at_turn, turn in intake.items(_Turn, dialog.dialog, f"{where}.dialog"):
        speaker = turn.id
        if speaker not in _SPEAKERS:
            # Session 1 names nobody, and some first turns carry a worker's number.
            intake.notes["turns whose speaker goes by position"] += 1
            speaker = _SPEAKERS[i % 2]
        turns.append(Entry(at_turn, "user", speaker, turn.text))
    return turns


def _pick(folder: Folder) -> Sequence[str]:
    """Return the files ``session_N/*.jsonl``, the longest histories first."""
    files = [(int(match[1]), name) for name in folder.names if (match := _FILE.fullmatch(name))]
    return [name for _, name in sorted(files, key=lambda file: (-file[0], file[1]))]


FORMAT = Format(
    name="msc",
    sniff=lambda intake: {"dialog", "previous_dialogs"} <= intake.first.keys(),
    read=each_record(_read),
    pick=_pick,
    memories=True,
)
