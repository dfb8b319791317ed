"""Gold memories: what should be remembered of histories, as people or a data set wrote it down.

LoCoMo has observations with their turns, a JSON Lines history ready-made memories, and MSC's
persona summaries a statement beside the turn that shows it. Others come from a second file, such
as ``[{"dataID", "summary": {"s1-m1": …}}]``, by the history's name and the session's number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.importers.dates import DEFAULT_START
from theanine.importers.fields import as_list, as_object, member, optional_text, parse
from theanine.importers.source import decode, opened
from theanine.text.words import sentences
from theanine.types import History, ImportedMemory, Transcript, Utterance

_SESSION = re.compile(r"session_(\d+)")
_WEEK = timedelta(days=7)
UNTRACED = "gold memories without a turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldMemory:
    """One gold memory.

    Attributes:
        speaker: who it is about; empty where the data does not say.
        session: the key of the session in which it came up.
        turns: the words that show it, ``Ana: …``, where they are labelled.
    """

    text: str
    speaker: str = ""
    session: str = ""
    turns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldHistory:
    """A history without ready-made memories, and what should be remembered of it."""

    history: History
    memories: tuple[GoldMemory, ...]
    dropped: Mapping[str, int]


def read_gold(data: Path, gold: Path | None = None) -> list[GoldHistory]:
    """The histories of a file or folder that have gold memories, their own or those of ``gold``.

    Raises BadInput where there are none, and for a history that was never talked.
    """
    if gold is not None:
        histories = _with_gold(read_histories(data).histories, gold)
    elif data.is_dir() and (files := sorted(data.glob("session_*/*.json*"))):
        histories = _persona_summaries(files)
    else:
        histories = list(read_histories(data, memories=True).histories)
    found = [one for history in histories if (one := _golden(history)).memories]
    if not found:
        raise BadInput(
            "no gold memories in it; give LoCoMo, MSC's folder of persona summaries or JSON Lines "
            "with memories, or name a file of them with --gold",
            str(gold or data),
        )
    if silent := next((one.history.name for one in found if not one.history.transcripts), None):
        raise BadInput(
            f"{silent} has memories and no turns: give the conversations that the memories are of, "
            "and this file with --gold",
            str(data),
        )
    return found


def _golden(history: History) -> GoldHistory:
    wanted: list[GoldMemory] = []
    for transcript in history.transcripts:
        words = {turn.key: f"{turn.speaker}: {turn.full_text}" for turn in transcript.turns}
        for memory in transcript.memories:
            turns = tuple(words[key] for key in memory.source_keys if key in words)
            speaker = ", ".join(memory.speakers)
            one = GoldMemory(text=memory.text, speaker=speaker, session=transcript.key, turns=turns)
            wanted.append(one)
    bare = [replace(one, memories=()) for one in history.transcripts if one.turns]
    dropped = {UNTRACED: n} if (n := sum(not one.turns for one in wanted)) else {}
    return GoldHistory(
        history=replace(history, transcripts=bare), memories=tuple(wanted), dropped=dropped
    )


def _with_gold(histories: Sequence[History], file: Path) -> Iterator[History]:
    """The histories that a second file has memories of, by name, session by session."""
    known = {one.name: one for one in read_histories(file, memories=True).histories}
    for history in histories:
        if history.name in known:
            given = [one.memories for one in known[history.name].transcripts]
            sessions = zip(history.transcripts, given, strict=False)
            transcripts = [replace(one, memories=memories) for one, memories in sessions]
            yield replace(history, transcripts=transcripts)


def _persona_summaries(files: Sequence[Path]) -> list[History]:
    """MSC's persona summaries: a session a line, its episode in ``initial_data_id``.

    A turn's ``persona_text`` may hold several statements, a sentence each.
    """
    found: dict[str, dict[int, list[Utterance]]] = {}
    memories: dict[tuple[str, int], list[ImportedMemory]] = {}
    for file in files:
        number = _number(file)
        for name, dialog in _sessions(file):
            start = DEFAULT_START + (number - 1) * _WEEK
            turns, given = _turns(dialog, start)
            found.setdefault(name, {})[number] = turns
            memories[name, number] = given
    return [
        History(
            name=name,
            transcripts=[
                Transcript(
                    key=f"{name}/session_{number}",
                    turns=turns,
                    at=turns[0].at,
                    dated=False,
                    memories=memories[name, number],
                )
                for number, turns in sorted(sessions.items())
                if turns
            ],
        )
        for name, sessions in found.items()
    ]


def _number(file: Path) -> int:
    match = _SESSION.fullmatch(file.parent.name)
    if match is None:
        raise BadInput("its folder is no session_N", str(file))
    return int(match[1])


def _sessions(file: Path) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Each line's episode and its turns that have words. Raises BadInput, naming the place."""
    with opened(file) as source:
        for line, offset, raw in source.lines():
            where = f"{file}, line {line}"
            record = as_object(parse(decode(raw, where, offset), where), where)
            listed = as_list(member(record, "dialog", where), f"{where}.dialog")
            turns = [as_object(turn, f"{where}.dialog[{i}]") for i, turn in enumerate(listed)]
            said = [
                turn
                for i, turn in enumerate(turns)
                if optional_text(turn, "text", f"{where}.dialog[{i}]").strip()
            ]
            yield str(member(record, "initial_data_id", where)), said


def _turns(
    dialog: Sequence[Mapping[str, Any]], start: Any
) -> tuple[list[Utterance], list[ImportedMemory]]:
    turns: list[Utterance] = []
    given: list[ImportedMemory] = []
    for place, one in enumerate(dialog):
        speaker = "Speaker 1" if str(one.get("id", place % 2)).endswith("0") else "Speaker 2"
        key, at = str(place + 1), start + place * timedelta(minutes=1)
        turns.append(Utterance(text=str(one["text"]), speaker=speaker, at=at, key=key))
        text = str(one.get("persona_text") or "")
        given += [
            ImportedMemory(text=text[a:b], speakers=(speaker,), source_keys=(key,))
            for a, b in sentences(text)
        ]
    return turns, given
