"""Long-MT-Bench+ (SeCom): five MT-Bench+ chats in one history, and questions with answers.

``[{"conversation_id", "sessions": [["[human]: …\\n[bot]: …"]], "questions": [], "answers": []}]``,
also as JSON Lines. The field ``turns`` is not read: nothing says which turns its numbers mean.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from theanine_bench.datasets.formats import QaFormat
from theanine_bench.datasets.reading import (
    ASSISTANT,
    USER,
    PlainQuestion,
    PlainTurn,
    Record,
    build_history,
    build_sample,
    keep_askable,
    records,
)
from theanine_bench.samples import Group, Stage

ONE_SIDED = "exchanges without both speakers, taken as the user's"
_EXCHANGE = re.compile(
    r"\s*(?:<?Turn \d+>?:?\s*)?\[(?:human|user)\]:\s*(?P<user>.*?)\s*\n\s*\[(?:bot|agent)\]:\s*"
    r"(?P<assistant>.*?)\s*",
    re.DOTALL,
)


def _matches(path: Path, document: Any) -> bool:
    first = records(document)[:1]
    return bool(first) and {"sessions", "questions"} <= first[0].keys()


def _read(path: Path, document: Any) -> list[Group]:
    """Return one group a history. Raises BadInput if none has a question."""
    groups = [_group(row, number) for number, row in enumerate(records(document), 1)]
    return keep_askable(groups, "histories", str(path))


def _group(row: Record, number: int) -> Group:
    name = str(row.get("conversation_id") or number)
    notes = Counter[str]()
    sessions = [
        (f"{name}/{i}", list(_turns(session, notes)))
        for i, session in enumerate(_list(row.get("sessions")), 1)
    ]
    history = build_history(name, sessions, +notes)
    if not history.transcripts:
        return Group(id=name, stages=())
    texts, answers = _list(row.get("questions")), _list(row.get("answers"))
    samples = tuple(
        build_sample(
            PlainQuestion(
                id=f"{name}/{i}",
                text=str(text),
                answer=str(answers[i - 1]) if i <= len(answers) else "",
            ),
            [history],
        )
        for i, text in enumerate(texts, 1)
        if str(text).strip()
    )
    dropped = Counter({"questions without words": len(texts) - len(samples)})
    stage = Stage(histories=(history,), samples=samples)
    return Group(id=name, stages=(stage,), dropped=dict(+dropped))


def _turns(session: Any, notes: Counter[str]) -> Iterator[PlainTurn]:
    """Yield both turns of each exchange; one that names no speakers is the user's."""
    for exchange in map(str, _list(session)):
        match = _EXCHANGE.fullmatch(exchange)
        if match is None:
            notes[ONE_SIDED] += bool(exchange.strip())
        user, assistant = match.group("user", "assistant") if match else (exchange.strip(), "")
        if user:
            yield PlainTurn(speaker=USER, text=user)
        if assistant:
            yield PlainTurn(speaker=ASSISTANT, text=assistant, role="assistant")


def _list(value: Any) -> Sequence[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


FORMAT = QaFormat(name="Long-MT-Bench+", matches=_matches, read=_read)
