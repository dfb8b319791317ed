"""Questions to ask several methods about the same histories.

They come from a questions file, from the data, or from the turns of the data.

A questions file is JSON Lines, a JSON list, or plain text with a question a line. An entry is a
question or ``{"question", "answer"?, "sources"?: [turn keys], "user"?, "category"?}``; one
without a user is asked about every history.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.types import History, Utterance
from theanine_bench.datasets.evidence import read_evidence
from theanine_bench.datasets.labels import LabeledHistory, TurnRef
from theanine_bench.files import read_json, read_text
from theanine_bench.stored_histories import read_stored_histories
from theanine_bench.validation import AnyAsText, OptionalAsText, Text, validate


@dataclass(frozen=True, slots=True, kw_only=True)
class UserQuestion:
    """A question about a user's history.

    Attributes:
        user: the history's name.
        dialogue: the conversation so far; its last turn is the question.
        answer: a reference answer, or empty.
        gold: the labeled turns, if any.
        before: key of the session before which it is asked; None for after the last one.
    """

    user: str
    dialogue: tuple[Utterance, ...]
    answer: str = ""
    category: str = ""
    gold: frozenset[TurnRef] = frozenset()
    before: str | None = None

    @property
    def text(self) -> str:
        """The question."""
        return self.dialogue[-1].full_text


def read_questions(
    data: Path, file: Path | None = None
) -> tuple[list[History], list[UserQuestion]]:
    """Read the histories of a file, a folder, a store or an export, and questions about them.

    Without a questions file the questions are the data's own. If it has none, the last user turn of
    each session but the first is asked before that session is remembered, with the turns before it.

    Raises BadInput for an unreadable file and without any question.
    """
    histories = read_stored_histories(data)
    labeled = [] if histories else _read_labeled(data)
    if histories is None:
        histories = [one.history for one in labeled] or list(read_histories(data).histories)
    if file is not None:
        asked = list(_read_file(file, histories))
        if not asked:
            raise BadInput("it holds no question", str(file))
    elif labeled:
        asked = [question for one in labeled for question in _labeled_questions(one)]
    else:
        asked = [question for history in histories for question in _last_user_turns(history)]
    if not asked:
        raise BadInput(
            "nothing to ask: it holds no questions and no second session; name a file with "
            "--questions",
            str(data),
        )
    return histories, asked


class _Entry(BaseModel):
    question: Text
    answer: OptionalAsText = ""
    category: OptionalAsText = ""
    kind: OptionalAsText = ""
    sources: list[AnyAsText] | None = None
    user: str | None = None


def _read_labeled(data: Path) -> list[LabeledHistory]:
    try:
        return read_evidence(data)
    except BadInput:  # another format, whose questions are its turns
        return []


def _labeled_questions(labeled: LabeledHistory) -> Iterator[UserQuestion]:
    history = labeled.history
    for question in labeled.questions:
        at = question.asked_at or _end(history)
        yield UserQuestion(
            user=history.name,
            dialogue=(Utterance(text=question.text, speaker=_asker(history), at=at),),
            answer=question.answer,
            category=question.category,
            gold=question.gold,
        )


def _last_user_turns(history: History) -> Iterator[UserQuestion]:
    for transcript in history.transcripts[1:]:
        users = [i for i, turn in enumerate(transcript.turns) if turn.role == "user"]
        if users:
            dialogue = tuple(transcript.turns[: users[-1] + 1])
            yield UserQuestion(user=history.name, dialogue=dialogue, before=transcript.key)


def _read_file(file: Path, histories: Sequence[History]) -> Iterator[UserQuestion]:
    names = [history.name for history in histories]
    for number, value in enumerate(_values(file), 1):
        place = f"question {number}"
        record = {"question": value} if isinstance(value, str) else value
        entry = validate(_Entry, record, file.name, place)
        if entry.user is not None and entry.user not in names:
            raise BadInput(
                f"{entry.user!r} is no history of the data: {', '.join(names)}",
                f"{file.name}, {place}",
            )
        for history in histories:
            if entry.user in (None, history.name):
                text, asker = entry.question.strip(), _asker(history)
                yield UserQuestion(
                    user=history.name,
                    dialogue=(Utterance(text=text, speaker=asker, at=_end(history)),),
                    answer=entry.answer,
                    category=entry.category or entry.kind,
                    gold=frozenset(("", key) for key in entry.sources or ()),
                )


def _values(file: Path) -> list[Any]:
    """Return the values of a JSON list or JSON Lines, or the lines of plain text."""
    text = read_text(file)
    if text.lstrip().startswith(("[", "{")):
        document = read_json(file)
        return cast("list[Any]", document) if isinstance(document, list) else [document]
    return [line.strip() for line in text.splitlines() if line.strip()]


def _asker(history: History) -> str:
    """Return the first user who speaks in a history."""
    users = (turn.speaker for t in history.transcripts for turn in t.turns if turn.role == "user")
    return next(users, history.name)


def _end(history: History) -> datetime:
    """Return the time of a history's last turn."""
    return max((t.turns[-1] if t.turns else t).at for t in history.transcripts)
