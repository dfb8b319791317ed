"""Questions whose evidence is labelled by turn: LoCoMo, BEAM, LongMemEval and MT-Bench+.

The conversations go in through the same readers as any import. Labels are dirty: an id that is no
turn's is dropped and counted, and so is a question of which nothing is left.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from theanine.conversation import History, Transcript
from theanine.errors import BadInput
from theanine.evaluation.datasets.mtbench import read_mtbench
from theanine.evaluation.datasets.reading import load
from theanine.formats import read_histories

_ADVERSARIAL = 5
_LABEL = re.compile(r"D\d+:\d+")
_RECORD = re.compile(r", \[(\d+)\]")
UNREADABLE = "turns that can't be read"
_BEAM_ANSWERS = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")
"""Where a probing question has its answer, by its kind."""
Place = tuple[str, str]
"""A turn: its session's key (empty where turn keys are unique) and its own."""
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with the turns that answer it.

    Attributes:
        asked_at: when it is asked, aware; None for right after the last session.
        answer: what a good answer says; empty where the set has none.
        answerable: False where the only good answer is that nothing was said about it.
        rubric: what an answer must do, point by point, where the set says so.
        ordered: whether the rubric is events in their order, which the answer must keep.
    """

    id: str
    text: str
    category: str
    gold: frozenset[Place]
    asked_at: datetime | None = None
    answer: str = ""
    answerable: bool = True
    rubric: tuple[str, ...] = ()
    ordered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A conversation, its questions, and what of the labels was dropped, by reason.

    ``unlabelled`` are the questions whose evidence is unknown: they can be asked all the same.
    """

    history: History
    questions: tuple[Question, ...]
    unlabelled: tuple[Question, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])


def read_evidence(path: Path) -> list[Labelled]:
    """The conversations of a file, or of a folder of BEAM chats.

    Raises BadInput where it holds no questions of a known set.
    """
    if path.is_dir():
        folders = sorted(path.glob("*/probing_questions"), key=lambda p: p.parent.name.zfill(9))
        return [_beam(folder.parent) for folder in folders] or _unknown(path)
    return labelled(path, load(path))


def labelled(path: Path, document: Any) -> list[Labelled]:
    """The same of a file that is parsed already. What of it isn't needed any more is let go."""
    found = cast("list[Any]", document) if isinstance(document, list) else []
    first = cast("dict[str, Any]", found[0]) if found and isinstance(found[0], dict) else {}
    if "qa" in first:
        return list(_locomo(path, found))
    if "haystack_sessions" in first:
        return list(_longmemeval(path, found))
    if "conversations" in first:
        return list(_mtbench(found))
    return _unknown(path)


def _unknown(path: Path) -> list[Labelled]:
    raise BadInput(
        "no questions with evidence in it; give a LoCoMo, LongMemEval or MT-Bench+ file, or a "
        "folder of BEAM chats",
        str(path),
    )


def _kept(
    history: History,
    questions: Iterable[Question],
    unique: bool,
    dropped: Mapping[str, int] | None = None,
) -> Labelled:
    """Without labels that are no turn of the history; ``dropped`` was lost before."""
    known = {
        ("" if unique else transcript.key, turn.key or f"#{place}")
        for transcript in history.transcripts
        for place, turn in enumerate(transcript.turns, 1)
    }
    kept: list[Question] = []
    unlabelled: list[Question] = []
    lost = Counter(dropped or {})
    for question in questions:
        gold = question.gold & known
        lost["labels of no turn"] += len(question.gold - known)
        lost["questions without evidence"] += not gold
        (kept if gold else unlabelled).append(replace(question, gold=gold))
    return Labelled(
        history=history,
        questions=tuple(kept),
        unlabelled=tuple(unlabelled),
        dropped=dict(+lost),
    )


def _histories(path: Path) -> tuple[dict[str, History], dict[int, int]]:
    """The histories of a list of records by name, and how many turns of each record are faulty."""
    reading = read_histories(path, keep_going=True)
    faulty = Counter(
        int(match[1]) for one in reading.rejected if (match := _RECORD.search(one.where))
    )
    return {history.name: history for history in reading.histories}, faulty


def _locomo(path: Path, records: list[Any]) -> Iterator[Labelled]:
    histories, faulty = _histories(path)
    for place, record in enumerate(records):
        name = str(record["sample_id"])
        dropped = Counter({UNREADABLE: faulty.get(place, 0)})
        questions = [
            Question(
                id=f"{name}/{number}",
                text=str(one["question"]),
                category=CATEGORIES.get(one.get("category"), str(one.get("category"))),
                answer=str(one.get("answer", "")),
                answerable=one.get("category") != _ADVERSARIAL,
                gold=_labels(one.get("evidence", []), dropped),
            )
            for number, one in enumerate(record["qa"], 1)
        ]
        if name in histories:
            yield _kept(histories[name], questions, unique=True, dropped=dropped)


def _labels(evidence: Any, dropped: Counter[str]) -> frozenset[Place]:
    """The turns that LoCoMo names, several of which may stand in one text."""
    text = " ".join(map(str, cast("list[Any]", evidence)))
    dropped["labels that can't be read"] += len(_LABEL.sub(" ", text).replace(";", " ").split())
    return frozenset(("", found) for found in _LABEL.findall(text))


def _beam(folder: Path) -> Labelled:
    cut = folder / "chat_trunecated.json"  # so spelt in the set
    reading = read_histories(cut if cut.exists() else folder / "chat.json", keep_going=True)
    if not reading.histories:
        raise BadInput("no turn in it can be read", str(folder))
    [history] = reading.histories
    file = folder / "probing_questions" / "probing_questions.json"
    probes = cast("dict[str, list[dict[str, Any]]]", json.loads(file.read_text("utf-8")))
    questions = (
        Question(
            id=f"{folder.name}/{kind}/{number}",
            text=str(one["question"]),
            category=kind,
            gold=frozenset(("", str(i)) for i in _integers(one.get("source_chat_ids", []))),
            answerable=kind != "abstention",
            answer=next((str(one[name]) for name in _BEAM_ANSWERS if one.get(name)), ""),
            rubric=tuple(map(str, one.get("rubric") or ())),
            ordered=kind == "event_ordering",
        )
        for kind, ones in probes.items()
        for number, one in enumerate(ones, 1)
    )
    dropped = {UNREADABLE: len(reading.rejected)}
    return _kept(history, questions, unique=True, dropped=dropped)


def _integers(node: Any) -> Iterator[int]:
    if isinstance(node, int):
        yield node
    elif isinstance(node, dict):
        yield from _integers(list(cast("dict[str, Any]", node).values()))
    elif isinstance(node, list):
        for child in cast("list[Any]", node):
            yield from _integers(child)


def _longmemeval(path: Path, records: list[Any]) -> Iterator[Labelled]:
    asked = [_long_question(record) for record in records]
    for record in records:  # the histories are read anew, and one copy of them is enough
        record.clear()
    histories, faulty = _histories(path)
    for place, (question, dropped) in enumerate(asked):
        dropped[UNREADABLE] += faulty.get(place, 0)
        if question.id in histories:
            yield _kept(histories[question.id], [question], unique=False, dropped=dropped)


def _long_question(record: dict[str, Any]) -> tuple[Question, Counter[str]]:
    name = str(record["question_id"])
    sessions = list(zip(record["haystack_session_ids"], record["haystack_sessions"], strict=False))
    answering = set(record["answer_session_ids"])
    gold = frozenset(
        (f"{name}/{session}", str(place))
        for session, turns in sessions
        if session in answering
        for place, turn in enumerate(turns, 1)
        if turn.get("has_answer")
    )
    dropped = Counter({"sessions of no haystack": len(answering - {one for one, _ in sessions})})
    asked = datetime.strptime(f"{record['question_date']} +0000", "%Y/%m/%d (%a) %H:%M %z")
    question = Question(
        id=name,
        text=str(record["question"]),
        category=str(record["question_type"]),
        gold=gold,
        asked_at=asked,
        answer=str(record.get("answer", "")),
        answerable=not name.endswith("_abs"),
    )
    return question, dropped


def _mtbench(records: list[Any]) -> Iterator[Labelled]:
    for name, category, turns, question, gold in read_mtbench(records):
        start = turns[0].at
        transcript = Transcript(key=name, turns=turns, at=start, dated=False)
        asked = Question(
            id=name, text=question, category=category, gold=frozenset(("", key) for key in gold)
        )
        yield _kept(History(name=name, transcripts=[transcript]), iter([asked]), unique=True)
