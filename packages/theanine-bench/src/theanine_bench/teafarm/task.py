"""A question file as a task: the earlier sessions, then the new session up to each question."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Self

from theanine.errors import BadInput, EmbedderMismatch, SettingsError
from theanine.importers.dates import DEFAULT_START
from theanine.types import LOCAL_MODEL, Utterance
from theanine_bench.datasets.past import with_past
from theanine_bench.metrics.evidence import EvidenceRecalled
from theanine_bench.runs.task import Task
from theanine_bench.samples import Group, Sample, Stage, limit_samples
from theanine_bench.targets.external import ExternalTarget, HistoryMode
from theanine_bench.targets.target import ClientTarget, TargetContext, TargetFactory
from theanine_bench.teafarm.metrics import JudgedSuccess, RuleSuccess
from theanine_bench.teafarm.questions import (
    CounterfactualQuestion,
    QuestionFile,
    read_question_file,
)
from theanine_bench.teafarm.sources import (
    EarlierSessions,
    export_sessions,
    from_histories,
    read_sessions,
    read_store_histories,
)
from theanine_bench.teafarm.teabag import is_teabag, read_teabag

TEABAG = "TeaBag"
TEABAG_PARTS = frozenset(("MSC", "CC"))
"""The data sets that TeaBag's questions are about."""
SESSION_GAP = timedelta(days=7)
"""How long after the last session the new one begins, unless the question says when."""
TURN_GAP = timedelta(minutes=1)


async def load_task(
    file: Path,
    *,
    judge: str,
    data: Path | None = None,
    store: str | None = None,
    limit: int | None = None,
    history_mode: HistoryMode | None = None,
) -> Task:
    """Read a question file and the earlier sessions as a task.

    Args:
        file: questions as :mod:`theanine_bench.teafarm.questions` reads them, or TeaBag.
        judge: the judging model's name; ``local`` for the questions' own phrases.
        data, store: the location of the sessions, instead of the file's own.
        limit: maximum number of questions, evenly spaced.
        history_mode: how an external agent learns of the sessions; None for a memory method.

    Raises BadInput and SettingsError for questions that can't be run.
    """
    question_file, earlier = await _read(file, data, store, history_mode)
    if history_mode == "none":  # only the sessions' dates matter
        earlier = EarlierSessions(ends=earlier.ends, hash=earlier.hash)
    task = teafarm_task(question_file, earlier, judge, limit, recalls=history_mode is None)
    target: TargetFactory = ClientTarget
    if history_mode is not None:
        target = partial(ExternalTarget, mode=history_mode, speakers=answering_speakers(task))
    elif earlier.records:
        target = partial(RestoredTarget, records=earlier.records)
    return replace(task, target=target)


def teafarm_task(
    question_file: QuestionFile,
    earlier: EarlierSessions,
    judge: str,
    limit: int | None = None,
    *,
    recalls: bool = True,
) -> Task:
    """Build the task for the client that a run's configuration describes.

    Success is decided by the judge or, without one, by the questions' phrases. ``recalls`` adds the
    share of evidence recalled, for targets with recollections.

    Raises BadInput for a question whose user has no sessions, SettingsError for a question without
    phrases if there is no judge.
    """
    groups = limit_samples(list(_groups(question_file.questions, earlier)), limit)
    if earlier.histories:
        groups = with_past(groups)
    if {sample.category for group in groups for sample in group.samples} <= TEABAG_PARTS:
        groups = [replace(group, dataset=TEABAG) for group in groups]
    if judge == LOCAL_MODEL:
        ids = {sample.id for group in groups for sample in group.samples}
        _require_rules([question for question in question_file.questions if question.id in ids])
    content = repr([asdict(question) | {"where": ""} for question in question_file.questions])
    return Task(
        bench="teafarm",
        data=hashlib.sha256(f"{content}\0{earlier.hash}".encode()).hexdigest(),
        groups=groups,
        metrics=[
            RuleSuccess() if judge == LOCAL_MODEL else JudgedSuccess(),
            *([EvidenceRecalled()] if recalls else []),
        ],
    )


def question_sample(question: CounterfactualQuestion, end: Any = None) -> Sample:
    """Return the new session up to the question; ``end`` is the end of the last session."""
    start = question.at or (end or DEFAULT_START) + SESSION_GAP
    turns = [*question.session, (question.asks, question.text)]
    return Sample(
        id=question.id,
        category=question.data_set,
        dialogue=tuple(
            Utterance(
                text=text,
                speaker=speaker,
                role="assistant" if speaker == question.answers else "user",
                at=start + i * TURN_GAP,
            )
            for i, (speaker, text) in enumerate(turns)
        ),
        reference=question.answer,
        speaker=question.answers,
        extra={
            "asks": question.asks,
            "assumes": question.assumes,
            "evidence": [asdict(turn) for turn in question.evidence],
            "must_say": list(question.must_say),
            "must_not_say": list(question.must_not_say),
        },
    )


def answering_speakers(task: Task) -> Mapping[str, Sequence[str]]:
    """Return the speakers whom the agent answers for, by user."""
    return {
        group.id: list(dict.fromkeys(sample.speaker for sample in group.samples))
        for group in task.groups
    }


class RestoredTarget(ClientTarget):
    """The client that the run's configuration describes, on a copy of another store.

    ``records``, an export, are restored into the run's store before the first sample.
    """

    def __init__(self, context: TargetContext, records: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(context)
        self._store, self._records = context.store, records

    async def __aenter__(self) -> Self:
        """Raises EmbedderMismatch if the vectors are of another embedder."""
        await super().__aenter__()
        await self._store.restore(self._records)
        embedder = await self._store.active_embedder()
        if embedder and embedder[0] != self.client.embedder_name:
            await self.client.close()
            raise EmbedderMismatch(
                f"the store's vectors are of {embedder[0]}, but {self.client.embedder_name} is "
                f"configured: use --embedder {embedder[0]}"
            )
        return self


def _require_rules(questions: Sequence[CounterfactualQuestion]) -> None:
    if bare := [question for question in questions if not question.has_rules]:
        raise SettingsError(
            f"{len(bare)} of {len(questions)} questions need a judge, first {bare[0].where} "
            f"[{bare[0].id}]: name a model with --judge, or write `must say:` or `must not say:` "
            "phrases there, which are checked without a model"
        )


def _groups(
    questions: Sequence[CounterfactualQuestion], earlier: EarlierSessions
) -> Iterator[Group]:
    by_user: dict[str, list[CounterfactualQuestion]] = {}
    for question in questions:
        by_user.setdefault(_user(question, earlier), []).append(question)
    histories = {history.name: history for history in earlier.histories}
    for user, own_questions in by_user.items():
        end = earlier.ends.get(user)
        samples = tuple(question_sample(question, end) for question in own_questions)
        own = (histories[user],) if user in histories else ()
        yield Group(id=user, stages=(Stage(histories=own, samples=samples),))


def _user(question: CounterfactualQuestion, earlier: EarlierSessions) -> str:
    """Return whose memory is tested: the question's user, by default the only one there is."""
    users = list(earlier.ends)
    if not question.user and len(users) < 2:
        return users[0] if users else "user"
    if users and question.user not in users:
        fault = f"{question.user!r} has no sessions" if question.user else "no user is named"
        raise BadInput(
            f"[{question.id}]: {fault}; the data has those of {', '.join(users[:10])}",
            question.where,
        )
    return question.user


async def _read(
    file: Path, data: Path | None, store: str | None, history_mode: HistoryMode | None
) -> tuple[QuestionFile, EarlierSessions]:
    if is_teabag(file):
        teabag = read_teabag(file)
        return teabag.question_file, from_histories(teabag.histories, teabag.hash)
    question_file = read_question_file(file)
    if data is None and store is None:
        data = file.parent / question_file.data if question_file.data else None
        store = str(file.parent / question_file.store) if question_file.store else None
    if store is not None:
        users = _named_users(question_file)
        earlier = await export_sessions(store, users)
        if history_mode in ("sent", "replayed"):
            earlier = from_histories(await read_store_histories(store, users), earlier.hash)
        return question_file, earlier
    if data is None and history_mode == "none":
        return question_file, EarlierSessions()
    if data is None:
        raise BadInput(
            "it doesn't say where the sessions are: begin it with a line `data: FILE`, or name "
            "them with --data or --store",
            str(file),
        )
    return question_file, read_sessions(data)


def _named_users(question_file: QuestionFile) -> list[str]:
    for question in question_file.questions:
        if not question.user:
            raise BadInput(
                f"[{question.id}] names no user of the store; write `user: NAME`", question.where
            )
    return list(dict.fromkeys(question.user for question in question_file.questions))
