"""Questions whose evidence is labelled by turn: LoCoMo, BEAM, LongMemEval and MT-Bench+.

The conversations go in through the same readers as any import. Labels are dirty: an id that is no
turn's is dropped and counted, and so is a question of which nothing is left.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.importers.base import Rejected
from theanine.importers.fields import as_list, as_object, member, optional_text, text_in
from theanine.types import History, Transcript
from theanine_bench.datasets.mtbench import read_mtbench
from theanine_bench.datasets.reading import load_json

_ADVERSARIAL = 5
_LABEL = re.compile(r"D\d+:\d+")
_RECORD = re.compile(r", \[(\d+)\]")
UNREADABLE = "turns that can't be read"
UNLABELED = "questions without evidence"
_QUESTIONS = "probing_questions"
"""The folder of a BEAM chat's questions, and their file in it."""
_BEAM_ANSWERS = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")
"""Where a probing question has its answer, by its kind."""
TurnRef = tuple[str, str]
"""A turn: its session's key (empty where turn keys are unique) and its own."""
_KINDS = ("multi-hop", "temporal", "open", "single-hop", "adversarial")
_CATEGORIES = dict(zip("12345", _KINDS, strict=True))


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
    gold: frozenset[TurnRef]
    asked_at: datetime | None = None
    answer: str = ""
    answerable: bool = True
    rubric: tuple[str, ...] = ()
    ordered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LabeledHistory:
    """A conversation, its questions, and what of the labels was dropped, by reason.

    ``unlabelled`` are the questions whose evidence is unknown: they can be asked all the same.
    """

    history: History
    questions: tuple[Question, ...]
    unlabeled: tuple[Question, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])


def read_evidence(path: Path) -> list[LabeledHistory]:
    """The conversations of a file, of one BEAM chat's folder, or of a folder of BEAM chats.

    Raises BadInput where it holds no questions of a known set, and with the place where one is no
    question at all; one without words is dropped.
    """
    if path.is_dir():
        if (path / _QUESTIONS).is_dir():
            return [_beam(path.resolve())]
        folders = sorted(path.glob(f"*/{_QUESTIONS}"), key=lambda p: p.parent.name.zfill(9))
        return [_beam(folder.parent) for folder in folders] or _unknown(path)
    return parse_labeled(path, load_json(path))


def parse_labeled(path: Path, document: Any) -> list[LabeledHistory]:
    """The same of a file that is parsed already. What of it isn't needed any more is let go."""
    found = cast("list[Any]", document) if isinstance(document, list) else []
    first = cast("dict[str, Any]", found[0]) if found and isinstance(found[0], dict) else {}
    if "qa" in first:
        return list(_locomo(path, found))
    if "haystack_sessions" in first:
        return list(_longmemeval(path, found))
    if "conversations" in first:
        return list(_mtbench(path, found))
    return _unknown(path)


def _unknown(path: Path) -> list[LabeledHistory]:
    raise BadInput(
        "no questions with evidence in it; give a LoCoMo, LongMemEval or MT-Bench+ file, or a "
        "folder of BEAM chats",
        str(path),
    )


def resolve_labels(
    history: History,
    questions: Iterable[Question],
    unique: bool,
    dropped: Mapping[str, int] | None = None,
) -> LabeledHistory:
    """A history's questions without labels that are none of its turns; ``dropped`` was lost before.

    ``unique`` says that a turn's key is its own in the whole history, not in its session alone.
    """
    known = {
        ("" if unique else transcript.key, turn.key or f"#{place}")
        for transcript in history.transcripts
        for place, turn in enumerate(transcript.turns, 1)
    }
    labelled: list[Question] = []
    unlabelled: list[Question] = []
    lost = Counter(dropped or {})
    for question in questions:
        if not question.text:
            lost["questions without words"] += 1
            continue
        gold = question.gold & known
        lost["labels of no turn"] += len(question.gold - known)
        lost[UNLABELED] += not gold
        (labelled if gold else unlabelled).append(replace(question, gold=gold))
    return LabeledHistory(
        history=history,
        questions=tuple(labelled),
        unlabeled=tuple(unlabelled),
        dropped=dict(+lost),
    )


def _histories(path: Path, format: str) -> tuple[dict[str, History], dict[int, list[Rejected]]]:
    """The histories of a list of records by name, and the faults of each record."""
    reading = read_histories(path, format=format, keep_going=True)
    faults = defaultdict[int, list[Rejected]](list)
    for one in reading.rejected:
        if match := _RECORD.search(one.where):
            faults[int(match[1])].append(one)
    return {history.name: history for history in reading.histories}, faults


def _locomo(path: Path, records: list[Any]) -> Iterator[LabeledHistory]:
    histories, faults = _histories(path, "locomo")
    for place, item in enumerate(records):
        where = f"{path}, [{place}]"
        record = as_object(item, where)
        name = str(member(record, "sample_id", where))
        dropped = Counter({UNREADABLE: len(faults.get(place, ()))})
        listed = as_list(member(record, "qa", where), f"{where}.qa")
        questions = [
            _locomo_question(one, f"{name}/{number}", f"{where}.qa[{number - 1}]", dropped)
            for number, one in enumerate(listed, 1)
        ]
        history = _taken(histories, name, where, faults.get(place, ()))
        yield resolve_labels(history, questions, unique=True, dropped=dropped)


def _locomo_question(one: object, id: str, where: str, dropped: Counter[str]) -> Question:
    fields = as_object(one, where)
    category = fields.get("category")
    return Question(
        id=id,
        text=optional_text(fields, "question", where).strip(),
        category=_CATEGORIES.get(str(category), str(category)),
        answer=str(fields.get("answer", "")),
        answerable=category != _ADVERSARIAL,
        gold=_labels(fields.get("evidence"), dropped),
    )


def _labels(evidence: Any, dropped: Counter[str]) -> frozenset[TurnRef]:
    """The turns that LoCoMo names, several of which may stand in one text."""
    listed = cast("list[Any]", evidence) if isinstance(evidence, list) else [evidence]
    text = " ".join(str(one) for one in listed if one is not None)
    dropped["labels that can't be read"] += len(_LABEL.sub(" ", text).replace(";", " ").split())
    return frozenset(("", found) for found in _LABEL.findall(text))


def _taken(
    histories: dict[str, History], name: str, where: str, faults: Sequence[Rejected]
) -> History:
    """The history of a record, once. Raises BadInput where none of it was taken, with why."""
    if name in histories:
        return histories.pop(name)
    why = f"{faults[0].where}: {faults[0].reason}" if faults else "its name is given twice"
    raise BadInput(f"nothing of {name!r} can be read: {why}", where)


def _beam(folder: Path) -> LabeledHistory:
    cut = folder / "chat_trunecated.json"  # so spelt in the set
    chat = cut if cut.exists() else folder / "chat.json"
    reading = read_histories(chat, format="beam", keep_going=True)
    histories = {history.name: history for history in reading.histories}
    history = _taken(histories, next(iter(histories), folder.name), str(folder), reading.rejected)
    file = folder / _QUESTIONS / f"{_QUESTIONS}.json"
    questions = [
        _beam_question(one, kind, f"{folder.name}/{kind}/{number}", f"{file}, {kind}[{number - 1}]")
        for kind, listed in as_object(load_json(file), str(file)).items()
        for number, one in enumerate(as_list(listed, f"{file}, {kind}"), 1)
    ]
    dropped = {UNREADABLE: len(reading.rejected)}
    return resolve_labels(history, questions, unique=True, dropped=dropped)


def _beam_question(one: object, kind: str, id: str, where: str) -> Question:
    fields = as_object(one, where)
    return Question(
        id=id,
        text=optional_text(fields, "question", where).strip(),
        category=kind,
        gold=frozenset(("", str(i)) for i in _integers(fields.get("source_chat_ids"))),
        answerable=kind != "abstention",
        answer=next((str(fields[name]) for name in _BEAM_ANSWERS if fields.get(name)), ""),
        rubric=_points(fields.get("rubric"), f"{where}.rubric"),
        ordered=kind == "event_ordering",
    )


def _points(rubric: object, where: str) -> tuple[str, ...]:
    if rubric is None or isinstance(rubric, str):
        return (rubric,) if rubric else ()
    return tuple(map(str, as_list(rubric, where)))


def _integers(node: Any) -> Iterator[int]:
    if isinstance(node, int):
        yield node
    elif isinstance(node, dict):
        yield from _integers(list(cast("dict[str, Any]", node).values()))
    elif isinstance(node, list):
        for child in cast("list[Any]", node):
            yield from _integers(child)


def _longmemeval(path: Path, records: list[Any]) -> Iterator[LabeledHistory]:
    asked = [_long_question(item, f"{path}, [{place}]") for place, item in enumerate(records)]
    for record in records:  # the histories are read anew, and one copy of them is enough
        record.clear()
    histories, faults = _histories(path, "longmemeval")
    for place, (question, dropped) in enumerate(asked):
        faulty = faults.get(place, ())
        dropped[UNREADABLE] += len(faulty)
        history = _taken(histories, question.id, f"{path}, [{place}]", faulty)
        yield resolve_labels(history, [question], unique=False, dropped=dropped)


def _long_question(item: object, where: str) -> tuple[Question, Counter[str]]:
    record = as_object(item, where)
    name = str(member(record, "question_id", where))
    ids, sessions, answering = (
        as_list(member(record, key, where), f"{where}.{key}")
        for key in ("haystack_session_ids", "haystack_sessions", "answer_session_ids")
    )
    known, wanted = set(map(str, ids)), set(map(str, answering))
    gold = frozenset(
        (f"{name}/{session}", str(place))
        for session, turns in zip(map(str, ids), sessions, strict=False)
        if session in wanted
        for place, turn in enumerate(as_list(turns, f"{where}, session {session}"), 1)
        if isinstance(turn, dict) and cast("dict[str, Any]", turn).get("has_answer")
    )
    question = Question(
        id=name,
        text=text_in(record, "question", where),
        category=optional_text(record, "question_type", where),
        gold=gold,
        asked_at=_long_date(member(record, "question_date", where), f"{where}.question_date"),
        answer=str(record.get("answer", "")),
        answerable=not name.endswith("_abs"),
    )
    return question, Counter({"sessions of no haystack": len(wanted - known)})


def _long_date(value: object, where: str) -> datetime:
    try:
        return datetime.strptime(f"{value} +0000", "%Y/%m/%d (%a) %H:%M %z")
    except ValueError:
        raise BadInput(f"{value!r} is no date such as 2023/05/30 (Tue) 23:40", where) from None


def _mtbench(path: Path, records: list[Any]) -> Iterator[LabeledHistory]:
    for name, category, turns, question, gold in read_mtbench(path, records):
        start = turns[0].at
        transcript = Transcript(key=name, turns=turns, at=start, dated=False)
        asked = Question(
            id=name, text=question, category=category, gold=frozenset(("", key) for key in gold)
        )
        yield resolve_labels(History(name=name, transcripts=[transcript]), [asked], unique=True)
