"""BEAM: chats with an assistant, a folder each, with probing questions and their turns.

A chat is ``NAME/chat.json`` with ``NAME/probing_questions/probing_questions.json``; where the set
has a cut chat (``chat_trunecated.json``, so spelled), that one is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator

from theanine.importers import read_histories
from theanine_bench.datasets.formats import LabeledFormat
from theanine_bench.datasets.labels import (
    UNREADABLE,
    LabeledHistory,
    Question,
    resolve_labels,
    take_history,
)
from theanine_bench.files import read_json
from theanine_bench.validation import OptionalAsText, OptionalText, validate

_QUESTIONS = "probing_questions"
"""Name of the folder of a chat's questions, and of the file in it."""


def _as_points(rubric: object) -> object:
    if rubric is None or isinstance(rubric, str):
        return [rubric] if rubric else []
    return rubric


class _Question(BaseModel):
    question: OptionalText = ""
    source_chat_ids: Any = None
    rubric: Annotated[list[OptionalAsText], BeforeValidator(_as_points)] = []
    answer: Any = None
    ideal_answer: Any = None
    ideal_response: Any = None
    ideal_summary: Any = None
    expected_compliance: Any = None

    @property
    def reference(self) -> str:
        """The answer, which each kind of question has under another name."""
        answers = (
            self.answer,
            self.ideal_answer,
            self.ideal_response,
            self.ideal_summary,
            self.expected_compliance,
        )
        return next((str(answer) for answer in answers if answer), "")


def _read(path: Path, document: Any) -> list[LabeledHistory]:
    if (path / _QUESTIONS).is_dir():
        return [_read_chat(path.resolve())]
    folders = sorted(path.glob(f"*/{_QUESTIONS}"), key=lambda folder: folder.parent.name.zfill(9))
    return [_read_chat(folder.parent) for folder in folders]


def _read_chat(folder: Path) -> LabeledHistory:
    cut = folder / "chat_trunecated.json"
    chat = cut if cut.exists() else folder / "chat.json"
    reading = read_histories(chat, format="beam", keep_going=True)
    histories = {history.name: history for history in reading.histories}
    name = next(iter(histories), folder.name)
    history = take_history(histories, name, str(folder), reading.rejected)
    file = folder / _QUESTIONS / f"{_QUESTIONS}.json"
    by_kind = validate(dict[str, list[_Question]], read_json(file), str(file))
    questions = [
        Question(
            id=f"{folder.name}/{kind}/{number}",
            text=one.question.strip(),
            category=kind,
            gold=frozenset(("", str(turn)) for turn in _integers(one.source_chat_ids)),
            answerable=kind != "abstention",
            answer=one.reference,
            rubric=tuple(one.rubric),
            ordered=kind == "event_ordering",
        )
        for kind, listed in by_kind.items()
        for number, one in enumerate(listed, 1)
    ]
    return resolve_labels(
        history, questions, unique=True, dropped={UNREADABLE: len(reading.rejected)}
    )


def _integers(node: Any) -> Iterator[int]:
    """Yield the integers anywhere in a JSON value."""
    if isinstance(node, int):
        yield node
    elif isinstance(node, dict):
        yield from _integers(list(cast("dict[str, Any]", node).values()))
    elif isinstance(node, list):
        for child in cast("list[Any]", node):
            yield from _integers(child)


def _matches(path: Path, document: Any) -> bool:
    return (path / _QUESTIONS).is_dir() or any(path.glob(f"*/{_QUESTIONS}"))


FORMAT = LabeledFormat(name="BEAM", matches=_matches, read=_read)
