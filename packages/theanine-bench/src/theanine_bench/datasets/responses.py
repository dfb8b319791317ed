"""Turns of later sessions to be predicted: MSC, Conversation Chronicles, or any history."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from theanine.errors import BadInput, SettingsError
from theanine.importers import read_histories
from theanine.importers.datasets import CC, MSC
from theanine.types import History, Transcript, Utterance
from theanine_bench.datasets.personachat import is_personachat, read_personachat
from theanine_bench.samples import Group, Sample, Stage

SESSIONS = (3, 4, 5)
"""The sessions that Theanine (section 3.3) and LLM-Rsum (section 4.1) test."""
DATA_SETS = {MSC.name: "MSC", CC.name: "Conversation Chronicles"}
"""Names of the data sets by their import format."""


def read_responses(
    path: Path, sessions: Collection[int] = SESSIONS, speaker: int | None = None
) -> list[Group]:
    """Read one group an episode: before each of the sessions, all earlier ones are remembered.

    Every turn of such a session but the first is a sample: the turns before it are the dialogue,
    its text is the reference, its speaker answers; with ``speaker``, only the turns of a session's
    first speaker (1), second (2) and so on are. The category is ``session N``. Persona-Chat has
    samples of its own; see :mod:`theanine_bench.datasets.personachat`. MSC's samples have in
    ``extra["persona"]`` the personas that people wrote of the earlier sessions, by speaker.

    Raises BadInput if no history has the first of these sessions, SettingsError for ``speaker``
    with Persona-Chat.
    """
    if is_personachat(path):
        if speaker is not None:
            raise SettingsError(
                "--speaker is for sets of sessions: of Persona-Chat it is the second"
            )
        return read_personachat(path)
    reading = read_histories(path, keep_going=True)
    if reading.format == MSC.name:
        reading = read_histories(path, keep_going=True, memories=True)
    dataset = DATA_SETS.get(reading.format, "")
    groups = [
        replace(_group(history, sessions, speaker), dataset=dataset)
        for history in reading.histories
    ]
    usable = [group for group in groups if group.samples]
    if not usable:
        raise BadInput(
            f"no history in it has a session {min(sessions)} with two turns or more", str(path)
        )
    if reading.rejected:
        dropped = {"turns or sessions that can't be read": len(reading.rejected)}
        usable[0] = replace(usable[0], dropped=dropped)
    return usable


def _group(history: History, sessions: Collection[int], speaker: int | None) -> Group:
    stages: list[Stage] = []
    before: list[Transcript] = []
    personas: dict[str, list[str]] = {}
    notes = history.notes
    for number, transcript in enumerate(history.transcripts, 1):
        if number in sessions:
            earlier = History(name=history.name, transcripts=before, notes=notes)
            histories = (earlier,) if before else ()
            samples = _samples(transcript, number, dict(personas))
            if speaker is not None:
                order = list(dict.fromkeys(turn.speaker for turn in transcript.turns))
                samples = [one for one in samples if one.speaker in order[speaker - 1 : speaker]]
            stages.append(Stage(histories=histories, samples=tuple(samples)))
            before, notes = [], dict[str, int]()
        for memory in transcript.memories:
            names = ", ".join(memory.speakers)
            personas[names] = [*personas.get(names, ()), memory.text]
        if transcript.turns:  # else it has only memories
            before.append(replace(transcript, memories=()))
    return Group(id=history.name, stages=tuple(stages))


def _samples(
    transcript: Transcript, session: int, persona: Mapping[str, Sequence[str]]
) -> Iterator[Sample]:
    for i, turn in enumerate(transcript.turns[1:], 1):
        yield Sample(
            id=f"{transcript.key}/{i + 1}",
            category=f"session {session}",
            dialogue=tuple(_without_key(turn) for turn in transcript.turns[:i]),
            reference=turn.full_text,
            speaker=turn.speaker,
            extra={"persona": persona} if persona else {},
        )


def _without_key(turn: Utterance) -> Utterance:
    return Utterance(text=turn.text, speaker=turn.speaker, at=turn.at, attachment=turn.attachment)
