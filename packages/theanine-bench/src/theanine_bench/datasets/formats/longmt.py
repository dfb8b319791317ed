"""Long-MT-Bench+ (SeCom): five MT-Bench+ chats in one history, and questions with answers.

``[{"conversation_id", "sessions": [["[human]: …\\n[bot]: …"]], "questions": [], "answers": []}]``,
also as JSON Lines, as ``experiment/download_data.py`` of microsoft/SeCom writes it. The field
``turns`` is not read: ``experiment/compress.py`` there takes it for the exchanges one by one, which
the sessions have too.

The set publishes no evidence. That of the questions that it took over from MT-Bench+ follows from
MT-Bench+'s topics, whose file ``mtbenchplus.json`` (LuJunru/MemoChat) is looked up beside it: the
exchanges of the question's chat on its topics, as SeCom's appendix A.8 counts them. The others,
which a model wrote for SeCom, have none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from theanine.errors import BadInput
from theanine.importers.datasets import split_exchange
from theanine.text.formatting import one_line
from theanine.types import History
from theanine_bench.datasets.formats import LabeledFormat
from theanine_bench.datasets.formats.mtbench import ClosingQuestion, read_closing_questions
from theanine_bench.datasets.labels import LabeledHistory, Question, TurnRef, resolve_labels
from theanine_bench.datasets.reading import (
    ASSISTANT,
    USER,
    PlainTurn,
    Record,
    build_history,
    records,
)

ONE_SIDED = "exchanges without both speakers, taken as the user's"
TOPICS_FILE = "mtbenchplus.json"


def _matches(path: Path, document: Any) -> bool:
    first = records(document)[:1]
    return bool(first) and {"sessions", "questions"} <= first[0].keys()


def _read(path: Path, document: Any) -> list[LabeledHistory]:
    """Return the histories with words and a question. Raises BadInput if there are none."""
    topics = path.with_name(TOPICS_FILE)
    closing = read_closing_questions(topics) if topics.is_file() else []
    by_text = {one_line(question.text): question for question in closing}
    rows = [_history(row, number, by_text) for number, row in enumerate(records(document), 1)]
    labeled = [row for row in rows if row and (row.questions or row.unlabeled)]
    if not labeled:
        raise BadInput("none of its histories has both words and a question", str(path))
    unusable = Counter({"histories that can't be asked": len(rows) - len(labeled)})
    first, *rest = labeled
    return [replace(first, dropped=dict(+(unusable + Counter(first.dropped)))), *rest]


def _history(
    row: Record, number: int, closing: Mapping[str, ClosingQuestion]
) -> LabeledHistory | None:
    name = str(row.get("conversation_id") or number)
    notes = Counter[str]()
    sessions = [
        (f"{name}/{i}", list(_turns(session, notes)))
        for i, session in enumerate(_list(row.get("sessions")), 1)
    ]
    history = build_history(name, sessions, +notes)
    if not history.transcripts:
        return None
    texts, answers = _list(row.get("questions")), _list(row.get("answers"))
    questions = [
        Question(
            id=f"{name}/{i}",
            text=str(text).strip(),
            category="",
            answer=str(answers[i - 1]) if i <= len(answers) else "",
            gold=_evidence(history, closing.get(one_line(str(text)))),
        )
        for i, text in enumerate(texts, 1)
    ]
    return resolve_labels(history, questions, unique=False)


def _evidence(history: History, question: ClosingQuestion | None) -> frozenset[TurnRef]:
    """Return the exchanges on a question's topics, in the session that has most of its chat.

    Empty without a session that has at least half of it.
    """
    if question is None:
        return frozenset()
    shared = [sum(turn.text in question.turns for turn in one.turns) for one in history.transcripts]
    if 2 * max(shared) < len(question.turns):
        return frozenset()
    session = history.transcripts[shared.index(max(shared))]
    gold: set[TurnRef] = set()
    on_topic = False
    for turn in session.turns:
        on_topic = turn.text in question.evidence if turn.role == "user" else on_topic
        if on_topic:
            gold.add((session.key, turn.key or ""))
    return frozenset(gold)


def _turns(session: Any, notes: Counter[str]) -> Iterator[PlainTurn]:
    """Yield both turns of each exchange; one that names no speakers is the user's."""
    for exchange in map(str, _list(session)):
        said = split_exchange(exchange)
        if said is None:
            notes[ONE_SIDED] += bool(exchange.strip())
        user, assistant = said or (exchange.strip(), "")
        if user:
            yield PlainTurn(speaker=USER, text=user)
        if assistant:
            yield PlainTurn(speaker=ASSISTANT, text=assistant, role="assistant")


def _list(value: Any) -> Sequence[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


FORMAT = LabeledFormat(name="Long-MT-Bench+", matches=_matches, read=_read)
