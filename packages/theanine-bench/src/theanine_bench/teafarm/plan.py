"""Questions as a run's plan: the sessions before, then the new session up to the question."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from theanine.errors import BadInput, SettingsError
from theanine.importers.dates import DEFAULT_START
from theanine.types import LOCAL_MODEL, Utterance
from theanine_bench.metrics.evidence import EvidenceRecalled
from theanine_bench.runs.task import Task
from theanine_bench.samples import Group, Sample, Stage, limit_samples
from theanine_bench.teafarm.questions import CounterfactualQuestion, QuestionFile
from theanine_bench.teafarm.sources import Past
from theanine_bench.teafarm.verdicts import Judged, Ruled

LATER = timedelta(days=7)
"""How long after the last session the new one begins, unless the question says when."""
TURN = timedelta(minutes=1)


def teafarm_task(
    sheet: QuestionFile, past: Past, judge: str, limit: int | None = None, *, recalls: bool = True
) -> Task:
    """What a run asks: success by the judge, or by each question's own phrases without one.

    Of an agent of ours (``recalls``) also how much of the evidence it recalled.

    Raises BadInput for a question whose user has no sessions, SettingsError where there is neither
    a judge nor a phrase to check by.
    """
    groups = limit_samples(list(_groups(sheet.questions, past)), limit)
    asked = {case.id for group in groups for case in group.samples}
    if judge == LOCAL_MODEL:
        _check_rules([one for one in sheet.questions if one.id in asked])
    told = repr([asdict(question) | {"where": ""} for question in sheet.questions])
    return Task(
        bench="teafarm",
        data=hashlib.sha256(f"{told}\0{past.hash}".encode()).hexdigest(),
        groups=groups,
        metrics=[
            *([Ruled()] if judge == LOCAL_MODEL else [Judged()]),
            *([EvidenceRecalled()] * recalls),
        ],
    )


def _check_rules(questions: Sequence[CounterfactualQuestion]) -> None:
    if bare := [one for one in questions if not one.has_rules]:
        raise SettingsError(
            f"{len(bare)} of {len(questions)} questions need a judge, first {bare[0].where} "
            f"[{bare[0].id}]: name a model with --judge, or write `must say:` or `must not say:` "
            "phrases there, which are checked without one"
        )


def _groups(questions: Sequence[CounterfactualQuestion], past: Past) -> Iterator[Group]:
    by_user: dict[str, list[CounterfactualQuestion]] = {}
    for question in questions:
        by_user.setdefault(_user(question, past), []).append(question)
    histories = {history.name: history for history in past.histories}
    for user, own in by_user.items():
        known = (histories[user],) if user in histories else ()
        cases = tuple(case_of(question, past.ends.get(user)) for question in own)
        yield Group(id=user, stages=(Stage(histories=known, samples=cases),))


def _user(question: CounterfactualQuestion, past: Past) -> str:
    """Whose memory is asked; the only one that there is where the question doesn't say."""
    known = past.users
    if not question.user and len(known) < 2:
        return known[0] if known else "user"
    if known and question.user not in known:
        named = f"{question.user!r} has no sessions" if question.user else "no user is named"
        raise BadInput(
            f"[{question.id}]: {named}; the data has those of {', '.join(known[:10])}",
            question.where,
        )
    return question.user


def case_of(question: CounterfactualQuestion, end: Any = None) -> Sample:
    """The new session up to the question; ``end`` is when the last one was over."""
    start = question.at or (end or DEFAULT_START) + LATER
    said = [*question.session, (question.asks, question.text)]
    return Sample(
        id=question.id,
        category=question.data_set,
        dialogue=tuple(
            Utterance(
                text=words,
                speaker=speaker,
                role="assistant" if speaker == question.answers else "user",
                at=start + place * TURN,
            )
            for place, (speaker, words) in enumerate(said)
        ),
        reference=question.answer,
        speaker=question.answers,
        extra={
            "asks": question.asks,
            "assumes": question.assumes,
            "evidence": [asdict(one) for one in question.evidence],
            "must_say": list(question.must_say),
            "must_not_say": list(question.must_not_say),
        },
    )
