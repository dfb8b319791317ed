"""HaluMem: users' sessions with an assistant, and the questions asked after each session.

A user a line, as the README and ``eval/eval_memos.py`` of MemTensor/HaluMem describe and read them:
``{"uuid", "persona_info": "Name: …; Gender: …", "sessions": [{"dialogue": [{"role", "content",
"timestamp"}], "questions": [{"question", "answer", "evidence": [{"memory_content"}],
"question_type"}]}]}``. Sessions with ``is_generated_qa_session`` distract; they ask nothing.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from theanine.errors import BadInput
from theanine.types import History, Transcript, Utterance
from theanine_bench.datasets.formats import QaFormat
from theanine_bench.datasets.reading import ASSISTANT, PAUSE, records
from theanine_bench.datasets.schema import AnyAsText, OptionalAsText, OptionalText, Text, validate
from theanine_bench.samples import Group, Sample, Stage

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


class _Session(BaseModel):
    dialogue: list[_Turn]
    questions: list[_Question] = []
    is_generated_qa_session: bool = False


class _User(BaseModel):
    uuid: AnyAsText
    persona_info: OptionalText = ""
    sessions: list[_Session]


def _matches(path: Path, document: Any) -> bool:
    first = records(document)[:1]
    return bool(first) and {"uuid", "sessions"} <= first[0].keys()


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
    match = _NAME.search(user.persona_info)
    name = match[1].strip() if match else "user"
    stages: list[Stage] = []
    for number, session in enumerate(user.sessions, 1):
        place = f"{where}.sessions[{number - 1}]"
        turns = [
            Utterance(
                text=turn.content,
                speaker=ASSISTANT if turn.role == ASSISTANT else name,
                role="assistant" if turn.role == ASSISTANT else "user",
                at=_parse_time(turn.timestamp, place),
                key=str(position),
            )
            for position, turn in enumerate(session.dialogue, 1)
            if turn.content.strip()
        ]
        if not turns:
            continue
        key = f"{user.uuid}/session_{number}"
        transcript = Transcript(key=key, turns=turns, at=turns[0].at)
        asked = [] if session.is_generated_qa_session else session.questions
        last = max(turn.at for turn in turns)
        stages.append(
            Stage(
                histories=(History(name=user.uuid, transcripts=[transcript]),),
                samples=tuple(
                    Sample(
                        id=f"{user.uuid}/{number}/{position}",
                        category=question.question_type,
                        dialogue=(
                            Utterance(text=question.question, speaker=name, at=last + PAUSE),
                        ),
                        reference=question.answer,
                        extra={
                            "evidence": [
                                {"speaker": "", "text": one.memory_content}
                                for one in question.evidence
                                if one.memory_content.strip()
                            ]
                        },
                    )
                    for position, question in enumerate(asked, 1)
                ),
            )
        )
    return Group(id=user.uuid, stages=tuple(stages))


def _parse_time(text: str, where: str) -> datetime:
    try:
        return datetime.strptime(text, _TIME).replace(tzinfo=UTC)
    except ValueError:
        raise BadInput(f"{text!r} is no time such as 'Dec 15, 2025, 06:11:23'", where) from None


FORMAT = QaFormat(name="HaluMem", matches=_matches, read=_read)
