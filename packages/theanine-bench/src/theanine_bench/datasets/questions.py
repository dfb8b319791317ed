"""What several methods are asked over the same histories: from a file, from the data, or its turns.

A questions file is JSON Lines, a JSON list, or plain text with a question a line. An entry is the
question itself or ``{"question", "answer"?, "sources"?: [turn keys], "user"?, "category"?}``; one
that names no user is asked of every history.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.types import History, Transcript, Utterance
from theanine_bench.datasets.evidence import read_evidence
from theanine_bench.datasets.labels import LabeledHistory, TurnRef
from theanine_bench.stored_histories import read_stored_histories


@dataclass(frozen=True, slots=True, kw_only=True)
class UserQuestion:
    """One question, as every method is asked it.

    Attributes:
        user: whose memory is asked.
        dialogue: what was said so far; its last turn is the question.
        answer: what a good reply says, or empty.
        category: what sort of question, or empty.
        gold: turns that answer it, if they are labelled.
        before: key of the session before which it is asked; None for after all of them.
    """

    user: str
    dialogue: tuple[Utterance, ...]
    answer: str = ""
    category: str = ""
    gold: frozenset[TurnRef] = frozenset()
    before: str | None = None

    @property
    def text(self) -> str:
        """The question's words."""
        return self.dialogue[-1].full_text


def read_questions(
    data: Path, questions: Path | None = None, limit: int | None = None
) -> tuple[list[History], list[UserQuestion]]:
    """The histories of a file, a folder, a store or its export, and what is asked about them.

    Without a questions file they are the data's own. Data without any is asked as it was talked:
    before each session but the first is remembered, the last thing that a user says in it, with
    the turns before it. ``limit`` keeps so many, evenly spread.

    Raises BadInput for a file that can't be read, or when nothing is left to ask.
    """
    histories = read_stored_histories(data)
    labelled = [] if histories else _labelled(data)
    if histories is None:
        histories = [one.history for one in labelled] or list(read_histories(data).histories)
    if questions is not None:
        asked = list(_from_file(questions, histories))
    elif labelled:
        asked = [ask for one in labelled for ask in _own(one)]
    else:
        asked = [ask for history in histories for ask in _talked(history)]
    if questions is not None and not asked:
        raise BadInput("it holds no question", str(questions))
    if not asked:
        raise BadInput(
            "nothing to ask: it holds no questions and no second session; name a file with "
            "--questions",
            str(data),
        )
    if limit is not None and len(asked) > limit:
        asked = [asked[i * len(asked) // limit] for i in range(limit)]
    return histories, asked


def _labelled(data: Path) -> list[LabeledHistory]:
    """The data with its questions where its format has some; else nothing."""
    try:
        return read_evidence(data)
    except BadInput:
        return []


def _own(labelled: LabeledHistory) -> Iterator[UserQuestion]:
    history = labelled.history
    for question in labelled.questions:
        at = question.asked_at or _end(history)
        said = Utterance(text=question.text, speaker=_asker(history), at=at)
        yield UserQuestion(
            user=history.name,
            dialogue=(said,),
            answer=question.answer,
            category=question.category,
            gold=question.gold,
        )


def _talked(history: History) -> Iterator[UserQuestion]:
    for transcript in history.transcripts[1:]:
        last = max(
            (i for i, turn in enumerate(transcript.turns) if turn.role == "user"), default=-1
        )
        if last >= 0:
            said = tuple(transcript.turns[: last + 1])
            yield UserQuestion(user=history.name, dialogue=said, before=transcript.key)


def _from_file(file: Path, histories: Sequence[History]) -> Iterator[UserQuestion]:
    known = {history.name for history in histories}
    for number, entry in enumerate(_entries(file), 1):
        where = f"{file.name}, question {number}"
        record = cast("dict[str, Any]", {"question": entry} if isinstance(entry, str) else entry)
        if not isinstance(entry, str | dict) or not str(record.get("question") or "").strip():
            raise BadInput('give each entry as text or as {"question": …}', where)
        user = record.get("user")
        if user is not None and user not in known:
            raise BadInput(f"{user!r} is no history of the data: {', '.join(known)}", where)
        sources: object = record.get("sources") or []
        if not isinstance(sources, list):
            raise BadInput('"sources" is a list of turn keys', where)
        for history in histories:
            if user in (None, history.name):
                yield UserQuestion(
                    user=history.name,
                    dialogue=(_question(history, str(record["question"])),),
                    answer=str(record.get("answer") or ""),
                    category=str(record.get("category") or record.get("kind") or ""),
                    gold=frozenset(("", str(key)) for key in cast("list[object]", sources)),
                )


def _question(history: History, text: str) -> Utterance:
    return Utterance(text=text.strip(), speaker=_asker(history), at=_end(history))


def _entries(file: Path) -> list[Any]:
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise BadInput(f"can't be read: {error}", str(file)) from None
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        if text.lstrip().startswith("["):
            return list(json.loads(text))
        if text.lstrip().startswith("{"):
            return [json.loads(line) for line in lines]
    except ValueError as error:
        raise BadInput(f"no JSON: {error}", str(file)) from None
    return [line.strip() for line in lines]


def _asker(history: History) -> str:
    """Who asks: the first person in it."""
    people = (turn.speaker for t in history.transcripts for turn in t.turns if turn.role == "user")
    return next(people, history.name)


def _end(history: History) -> Any:
    """When it is over."""

    def ended(transcript: Transcript) -> Any:
        return transcript.turns[-1].at if transcript.turns else transcript.at

    return max(map(ended, history.transcripts))
