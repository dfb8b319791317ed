"""Questions about a history, to be answered: all sets that have any, found out by what they hold.

LoCoMo, LongMemEval, BEAM and MT-Bench+ have labelled evidence; Long-MT-Bench+, the three sets of
conditional memory, CoQA and MemoryBank are read by modules of their own.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from pathlib import Path

from theanine.types import History, Utterance
from theanine_bench.datasets.conditional import is_conditional, read_conditional
from theanine_bench.datasets.coqa import is_coqa, read_coqa
from theanine_bench.datasets.evidence import parse_labeled, read_evidence
from theanine_bench.datasets.labels import UNLABELED, LabeledHistory, Question, resolve_labels
from theanine_bench.datasets.longmt import is_longmt, read_longmt
from theanine_bench.datasets.memorybank import bank_of, read_memorybank
from theanine_bench.datasets.questions import read_questions
from theanine_bench.datasets.reading import load_json
from theanine_bench.samples import Group, Sample, Stage


def read_qa(path: Path, questions: Path | None = None) -> list[Group]:
    """One group a conversation: all of it is remembered, then its questions are asked.

    They are the set's own, or those of a second file about any histories, as
    :mod:`theanine_bench.datasets.questions` reads it.

    A question is asked when its set says so, or a minute after the last turn. Its ``extra`` has
    ``gold``, the labelled turns as [session key, turn key], ``evidence``, their words, ``rubric``,
    ``ordered`` where that is events in their order, and ``answerable``: False where the only good
    answer is that nothing was said about it.
    Raises BadInput where the file holds no questions of a known set.
    """
    if questions is not None:
        return _own(path, questions)
    if bank := bank_of(path):
        return read_memorybank(bank)
    if path.is_dir():
        if is_conditional(path):
            return read_conditional(path)
        return [_group(one) for one in read_evidence(path)]
    document = load_json(path)
    if is_coqa(document):
        return read_coqa(document, str(path))
    if is_longmt(document):
        return read_longmt(document, str(path))
    return [_group(one) for one in parse_labeled(path, document)]


def _own(path: Path, file: Path) -> list[Group]:
    """Histories with a second file's questions, without those that are asked nothing."""
    histories, asked = read_questions(path, file)
    own: dict[str, list[Question]] = defaultdict(list)
    for ask in asked:
        question = Question(
            id=f"{ask.user}/{len(own[ask.user]) + 1}",
            text=ask.text,
            category=ask.category,
            gold=ask.gold,
            answer=ask.answer,
        )
        own[ask.user].append(question)
    return [
        _group(resolve_labels(history, own[history.name], unique=True))
        for history in histories
        if history.name in own
    ]


def _group(one: LabeledHistory) -> Group:
    asked = sorted([*one.questions, *one.unlabeled], key=lambda question: question.id)
    cases = tuple(_case(question, one.history) for question in asked)
    stage = Stage(histories=(one.history,), samples=cases)
    dropped = {why: count for why, count in one.dropped.items() if why != UNLABELED}  # asked here
    return Group(id=one.history.name, stages=(stage,), dropped=dropped)


def _case(question: Question, history: History) -> Sample:
    last = max(turn.at for transcript in history.transcripts for turn in transcript.turns)
    at = question.asked_at or last + timedelta(minutes=1)
    return Sample(
        id=question.id,
        category=question.category,
        dialogue=(Utterance(text=question.text, speaker=_asker(history), at=at),),
        reference=question.answer,
        extra={
            "gold": sorted(map(list, question.gold)),
            "evidence": _evidence(question, history),
            "rubric": list(question.rubric),
            "answerable": question.answerable,
            **({"ordered": True} if question.ordered else {}),
        },
    )


def _evidence(question: Question, history: History) -> list[dict[str, str]]:
    """The labelled turns' words, in the order in which they were said."""
    return [
        {"speaker": turn.speaker, "text": turn.full_text}
        for transcript in history.transcripts
        for place, turn in enumerate(transcript.turns, 1)
        if {("", key := turn.key or f"#{place}"), (transcript.key, key)} & question.gold
    ]


def _asker(history: History) -> str:
    """The only person who speaks in the history, if there is one; else somebody else asks."""
    people = {
        turn.speaker
        for transcript in history.transcripts
        for turn in transcript.turns
        if turn.role == "user"
    }
    return people.pop() if len(people) == 1 else "user"
