"""Gold memories: what should be remembered of histories, as people or a data set wrote it.

They come from LoCoMo's observations, HaluMem's memory points, a JSON Lines history with memories,
MSC's persona summaries (a statement alongside the turn that shows it), or a second file such as
``[{"dataID", "summary": {"s1-m1": …}}]``, matched by the history's name and session number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.importers.dates import DEFAULT_START
from theanine.sentences import sentence_spans
from theanine.types import History, ImportedMemory, Transcript, Utterance
from theanine_bench.datasets.formats.halumem import is_halumem, read_memory_points
from theanine_bench.files import read_lines
from theanine_bench.validation import AnyAsText, OptionalAsText, OptionalText, validate

UNTRACED = "gold memories without a turn"
_SESSION = re.compile(r"session_(\d+)")
_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldMemory:
    """A gold memory.

    Attributes:
        speaker: whom it is about; empty if unknown.
        session: key of the session in which it came up.
        turns: the turns that show it, as ``Ana: …``; empty if unlabeled.
    """

    text: str
    speaker: str = ""
    session: str = ""
    turns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldHistory:
    """A history, stripped of imported memories, and its gold memories."""

    history: History
    memories: tuple[GoldMemory, ...]
    dropped: Mapping[str, int]


def read_gold(data: Path, gold: Path | None = None) -> list[GoldHistory]:
    """Read the histories of a file or folder that have gold memories, their own or ``gold``'s.

    Raises BadInput if there are none, and for a history without turns.
    """
    if gold is not None:
        histories = list(_add_memories(read_histories(data).histories, gold))
    elif data.is_dir() and (files := sorted(data.glob("session_*/*.json*"))):
        histories = _read_persona_summaries(files)
    elif is_halumem(data):
        histories = read_memory_points(data)
    else:
        histories = list(read_histories(data, memories=True).histories)
    labeled = [one for one in map(_split_memories, histories) if one.memories]
    if not labeled:
        raise BadInput(
            "no gold memories in it; give LoCoMo, MSC's folder of persona summaries or JSON Lines "
            "with memories, or name a file of them with --gold",
            str(gold or data),
        )
    for one in labeled:
        if not one.history.transcripts:
            raise BadInput(
                f"{one.history.name} has memories and no turns: give the conversations that the "
                "memories are of, and this file with --gold",
                str(data),
            )
    return labeled


def _split_memories(history: History) -> GoldHistory:
    memories: list[GoldMemory] = []
    for transcript in history.transcripts:
        texts = {turn.key: f"{turn.speaker}: {turn.full_text}" for turn in transcript.turns}
        memories += [
            GoldMemory(
                text=memory.text,
                speaker=", ".join(memory.speakers),
                session=transcript.key,
                turns=tuple(texts[key] for key in memory.source_keys if key in texts),
            )
            for memory in transcript.memories
        ]
    transcripts = [replace(one, memories=()) for one in history.transcripts if one.turns]
    untraced = sum(not memory.turns for memory in memories)
    return GoldHistory(
        history=replace(history, transcripts=transcripts),
        memories=tuple(memories),
        dropped={UNTRACED: untraced} if untraced else {},
    )


def _add_memories(histories: Sequence[History], file: Path) -> Iterator[History]:
    """Yield the histories that a second file has memories of, by name, session by session."""
    gold = {one.name: one for one in read_histories(file, memories=True).histories}
    for history in histories:
        if history.name in gold:
            sessions = zip(history.transcripts, gold[history.name].transcripts, strict=False)
            transcripts = [replace(one, memories=other.memories) for one, other in sessions]
            yield replace(history, transcripts=transcripts)


class _PersonaTurn(BaseModel):
    id: Any = None
    text: OptionalText = ""
    persona_text: OptionalAsText = ""


class _PersonaSession(BaseModel):
    initial_data_id: AnyAsText
    dialog: list[_PersonaTurn]


def _read_persona_summaries(files: Sequence[Path]) -> list[History]:
    """Read MSC's persona summaries: a session a line, in files by session number."""
    episodes: dict[str, dict[int, Transcript]] = {}
    for file in files:
        match = _SESSION.fullmatch(file.parent.name)
        if match is None:
            raise BadInput("its folder is no session_N", str(file))
        number = int(match[1])
        start = DEFAULT_START + (number - 1) * _WEEK
        for session in _persona_sessions(file):
            transcripts = episodes.setdefault(session.initial_data_id, {})
            key = f"{session.initial_data_id}/session_{number}"
            if transcript := _transcript(key, session, start):
                transcripts[number] = transcript
    return [
        History(name=name, transcripts=[one for _, one in sorted(transcripts.items())])
        for name, transcripts in episodes.items()
    ]


def _persona_sessions(file: Path) -> Iterator[_PersonaSession]:
    for record, where in read_lines(file):
        yield validate(_PersonaSession, record, where)


def _transcript(key: str, session: _PersonaSession, start: datetime) -> Transcript | None:
    """Return the session; a ``persona_text`` may hold several memories, a sentence each."""
    turns: list[Utterance] = []
    memories: list[ImportedMemory] = []
    spoken = [turn for turn in session.dialog if turn.text.strip()]
    for i, turn in enumerate(spoken):
        is_first = str(i % 2 if turn.id is None else turn.id).endswith("0")
        speaker = "Speaker 1" if is_first else "Speaker 2"
        turn_key, at = str(i + 1), start + i * timedelta(minutes=1)
        turns.append(Utterance(text=turn.text, speaker=speaker, at=at, key=turn_key))
        memories += [
            ImportedMemory(
                text=turn.persona_text[a:b], speakers=(speaker,), source_keys=(turn_key,)
            )
            for a, b in sentence_spans(turn.persona_text)
        ]
    if not turns:
        return None
    return Transcript(key=key, turns=turns, at=turns[0].at, dated=False, memories=memories)
