"""Questions about histories, to be answered: of every known format, or from a second file."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from theanine.types import History, Utterance
from theanine_bench.datasets.evidence import parse_labeled
from theanine_bench.datasets.formats import LabeledFormat, QaFormat, load_formats
from theanine_bench.datasets.labels import (
    UNLABELED,
    LabeledHistory,
    Question,
    find_turns,
    resolve_labels,
)
from theanine_bench.datasets.questions import read_questions
from theanine_bench.datasets.reading import PAUSE
from theanine_bench.files import read_json
from theanine_bench.samples import Group, Sample, Stage

OTHER_QUESTIONS = ", other questions"
"""Ending of the name of a data set whose questions are a second file's."""


def read_qa(path: Path, questions: Path | None = None) -> list[Group]:
    """Read one group a history: all of it is remembered, then its questions are asked.

    The questions are the set's own, or those of a second file about any histories, as
    :mod:`theanine_bench.datasets.questions` reads it. A question is asked when its set says so, by
    default a minute after the last turn.

    The samples' ``extra`` has ``gold`` (labeled turns as [session key, turn key]), ``evidence``
    (their texts), ``rubric``, ``ordered`` (if the rubric lists events in order) and ``answerable``
    (False if the history doesn't contain the answer).

    Raises BadInput if the path has none of the known formats, or with the place of a fault.
    """
    if questions is not None:
        return _read_with_questions(path, questions)
    document = None if path.is_dir() else read_json(path)
    name = _format_name(path, document)
    for format in load_formats():
        if isinstance(format, QaFormat) and format.matches(path, document):
            return [replace(group, dataset=name) for group in format.read(path, document)]
    labeled = parse_labeled(path, document)
    return [replace(_group(one), dataset=name) for one in labeled]


def _format_name(path: Path, document: Any) -> str:
    """Return the name of the format that a path is read in; empty if it is none with questions."""
    matching = [format for format in load_formats() if format.matches(path, document)]
    matching.sort(key=lambda format: isinstance(format, LabeledFormat))
    return matching[0].name if matching else ""


def _read_with_questions(path: Path, file: Path) -> list[Group]:
    """Return the histories with a second file's questions, without those that have none."""
    histories, asked = read_questions(path, file)
    by_user: dict[str, list[Question]] = defaultdict(list)
    for one in asked:
        question = Question(
            id=f"{one.user}/{len(by_user[one.user]) + 1}",
            text=one.text,
            category=one.category,
            gold=one.gold,
            answer=one.answer,
        )
        by_user[one.user].append(question)
    name = _format_name(path, None if path.is_dir() else read_json(path))
    dataset = f"{name}{OTHER_QUESTIONS}" if name else ""
    return [
        replace(
            _group(resolve_labels(history, by_user[history.name], unique=True)), dataset=dataset
        )
        for history in histories
        if history.name in by_user
    ]


def _group(labeled: LabeledHistory) -> Group:
    questions = sorted([*labeled.questions, *labeled.unlabeled], key=lambda question: question.id)
    samples = tuple(_sample(question, labeled.history) for question in questions)
    stage = Stage(histories=(labeled.history,), samples=samples)
    # Questions without evidence are asked here, so they are not dropped.
    dropped = {reason: n for reason, n in labeled.dropped.items() if reason != UNLABELED}
    return Group(id=labeled.history.name, stages=(stage,), dropped=dropped)


def _sample(question: Question, history: History) -> Sample:
    last = max(turn.at for transcript in history.transcripts for turn in transcript.turns)
    at = question.asked_at or last + PAUSE
    return Sample(
        id=question.id,
        category=question.category,
        dialogue=(Utterance(text=question.text, speaker=_asker(history), at=at),),
        reference=question.answer,
        extra={
            "gold": sorted(map(list, question.gold)),
            "evidence": [
                {"speaker": turn.speaker, "text": turn.full_text}
                for turn in find_turns(question.gold, history).values()
            ],
            "rubric": list(question.rubric),
            "answerable": question.answerable,
            **({"ordered": True} if question.ordered else {}),
        },
    )


def _asker(history: History) -> str:
    """Return the only user who speaks in the history; ``user`` if there are several or none."""
    users = {
        turn.speaker
        for transcript in history.transcripts
        for turn in transcript.turns
        if turn.role == "user"
    }
    return users.pop() if len(users) == 1 else "user"
