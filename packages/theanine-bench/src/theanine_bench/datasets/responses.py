"""Turns of later sessions for the agent to say: MSC, Conversation Chronicles, or any history.

Persona-Chat, which has no later sessions, is read by a module of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.types import History, Transcript, Utterance
from theanine_bench.datasets.personachat import is_personachat, read_personachat
from theanine_bench.samples import Group, Sample, Stage

SESSIONS = (3, 4, 5)
"""Theanine (section 3.3) and LLM-Rsum (section 4.1) test these: before, methods hardly differ."""


def read_responses(path: Path, sessions: Collection[int] = SESSIONS) -> list[Group]:
    """One group an episode: before each of the sessions, all earlier ones are remembered.

    Every turn of such a session but its first is a case: the dialogue up to it is what was said,
    its own words are the reference, and its speaker is the one who answers. The category is
    ``session N``. Raises BadInput where no history reaches the first of these sessions.
    """
    if is_personachat(path):
        return read_personachat(path)
    reading = read_histories(path, keep_going=True)
    groups = [_group(history, sessions) for history in reading.histories]
    found = [group for group in groups if group.samples]
    if not found:
        raise BadInput(
            f"no history in it has a session {min(sessions)} with two turns or more", str(path)
        )
    if reading.rejected:
        dropped = {"turns or sessions that can't be read": len(reading.rejected)}
        found[0] = Group(id=found[0].id, stages=found[0].stages, dropped=dropped)
    return found


def _group(history: History, sessions: Collection[int]) -> Group:
    stages: list[Stage] = []
    before: list[Transcript] = []
    notes = history.notes
    for number, transcript in enumerate(history.transcripts, 1):
        if number in sessions:
            known = (History(name=history.name, transcripts=before, notes=notes),) if before else ()
            stages.append(Stage(histories=known, samples=tuple(_cases(transcript, number))))
            before, notes = [], dict[str, int]()
        before.append(transcript)
    return Group(id=history.name, stages=tuple(stages))


def _cases(transcript: Transcript, number: int) -> Iterator[Sample]:
    for place in range(1, len(transcript.turns)):
        turn = transcript.turns[place]
        yield Sample(
            id=f"{transcript.key}/{place + 1}",
            category=f"session {number}",
            dialogue=tuple(_plain(said) for said in transcript.turns[:place]),
            reference=turn.full_text,
            speaker=turn.speaker,
        )


def _plain(said: Utterance) -> Utterance:
    return Utterance(text=said.text, speaker=said.speaker, at=said.at, attachment=said.attachment)
