"""HaluMem: users' sessions with an assistant, and the questions asked after each session.

A user a line, as the README and ``eval/eval_memos.py`` of MemTensor/HaluMem describe and read them:
``{"uuid", "persona_info": "Name: …; Gender: …", "sessions": [{"dialogue": [{"role", "content",
"timestamp"}], "questions": [{"question", "answer", "evidence": [{"memory_content"}],
"question_type"}], "memory_points": [{"memory_content", "memory_source", "original_memories"}]}]}``.
Sessions with ``is_generated_qa_session`` distract: nothing of them is asked or to be remembered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from theanine.errors import BadInput
from theanine.types import History, ImportedMemory, Transcript, Utterance
from theanine_bench.datasets.formats import QaFormat
from theanine_bench.datasets.reading import ASSISTANT, PAUSE, records
from theanine_bench.files import read_json
from theanine_bench.samples import Group, Sample, Stage
from theanine_bench.validation import AnyAsText, OptionalAsText, OptionalText, Text, validate

_NAME = re.compile(r"Name:\s*(.*?);")
_TIME = "%b %d, %Y, %H:%M:%S"


class _Turn(BaseModel):
    role: Text
    content: OptionalText = ""
    timestamp: Text


class _Evidence(BaseModel):
    memory_content: OptionalText = ""


class _Question(BaseModel):
    question: Text
    answer: OptionalAsText = ""
    evidence: list[_Evidence] = []
    question_type: OptionalText = ""


class _MemoryPoint(BaseModel):
    memory_content: OptionalText = ""
    memory_source: OptionalText = ""
    original_memories: list[OptionalAsText] | None = None


class _Session(BaseModel):
    dialogue: list[_Turn]
    questions: list[_Question] = []
    memory_points: list[_MemoryPoint] = []
    is_generated_qa_session: bool = False


class _User(BaseModel):
    uuid: AnyAsText
    persona_info: OptionalText = ""
    sessions: list[_Session]


def is_halumem(file: Path) -> bool:
    """Return whether the first line of a file is a user."""
    try:
        with file.open("rb") as lines:
            return _matches(file, json.loads(lines.readline()))
    except (OSError, ValueError):
        return False


def _matches(path: Path, document: Any) -> bool:
    first = records(document)[:1]
    return bool(first) and {"uuid", "sessions"} <= first[0].keys()


def read_memory_points(path: Path) -> list[History]:
    """Return each user's sessions with what is to be remembered of them in the end.

    What the assistant says to mislead (``interference``) is left out, as in ``eval/evaluation.py``,
    and so is what a later memory replaces. Raises BadInput with the place of a fault.
    """
    histories: list[History] = []
    for index, row in enumerate(records(read_json(path))):
        user = validate(_User, row, str(path), f"[{index}]")
        replaced = {
            old
            for session in user.sessions
            for point in session.memory_points
            for old in point.original_memories or ()
        }
        transcripts = [
            replace(
                transcript,
                memories=tuple(
                    ImportedMemory(text=point.memory_content, speakers=(), source_keys=())
                    for point in ([] if session.is_generated_qa_session else session.memory_points)
                    if point.memory_source != "interference"
                    and point.memory_content.strip()
                    and point.memory_content not in replaced
                ),
            )
            for session, transcript in _transcripts(user, f"{path}, [{index}]")
        ]
        histories.append(History(name=user.uuid, transcripts=transcripts))
    return histories


def _read(path: Path, document: Any) -> list[Group]:
    """Return a group a user, a stage a session. Raises BadInput with the place of a fault."""
    groups = [
        _group(validate(_User, row, str(path), f"[{index}]"), f"{path}, [{index}]")
        for index, row in enumerate(records(document))
    ]
    if not any(group.samples for group in groups):
        raise BadInput("no user in it has a question", str(path))
    return [group for group in groups if group.samples]


def _group(user: _User, where: str) -> Group:
    stages: list[Stage] = []
    for session, transcript in _transcripts(user, where):
        asked = [] if session.is_generated_qa_session else session.questions
        samples = tuple(
            _sample(question, f"{transcript.key}/{number}", _name(user), transcript)
            for number, question in enumerate(asked, 1)
        )
        history = History(name=user.uuid, transcripts=[transcript])
        stages.append(Stage(histories=(history,), samples=samples))
    return Group(id=user.uuid, stages=tuple(stages))


def _name(user: _User) -> str:
    match = _NAME.search(user.persona_info)
    return match[1].strip() if match else "user"


def _transcripts(user: _User, where: str) -> Iterator[tuple[_Session, Transcript]]:
    """Yield the sessions that have words."""
    for number, session in enumerate(user.sessions, 1):
        place = f"{where}.sessions[{number - 1}]"
        turns = [
            Utterance(
                text=turn.content,
                speaker=ASSISTANT if turn.role == ASSISTANT else _name(user),
                role="assistant" if turn.role == ASSISTANT else "user",
                at=_parse_time(turn.timestamp, place),
                key=str(position),
            )
            for position, turn in enumerate(session.dialogue, 1)
            if turn.content.strip()
        ]
        if turns:
            key = f"{user.uuid}/session_{number}"
            yield session, Transcript(key=key, turns=turns, at=turns[0].at)


def _sample(question: _Question, id: str, asker: str, transcript: Transcript) -> Sample:
    at = max(turn.at for turn in transcript.turns) + PAUSE
    return Sample(
        id=id,
        category=question.question_type,
        dialogue=(Utterance(text=question.question, speaker=asker, at=at),),
        reference=question.answer,
        extra={
            "evidence": [
                {"speaker": "", "text": one.memory_content}
                for one in question.evidence
                if one.memory_content.strip()
            ]
        },
    )


def _parse_time(text: str, where: str) -> datetime:
    try:
        return datetime.strptime(text, _TIME).replace(tzinfo=UTC)
    except ValueError:
        raise BadInput(f"{text!r} is no time such as 'Dec 15, 2025, 06:11:23'", where) from None


FORMAT = QaFormat(name="HaluMem", matches=_matches, read=_read)
