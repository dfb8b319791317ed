"""Long-MT-Bench+ (SeCom): five MT-Bench+ chats in one history, and questions with answers.

``[{"conversation_id", "sessions": [["[human]: …\\n[bot]: …"]], "questions": [], "answers": []}]``,
also as JSON Lines. Its field ``turns`` is not read: which turn a number in it means is not said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, cast

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
    r"\s*(?:<?Turn \d+>?:?\s*)?\[(?:human|user)\]:\s*(?P<asks>.*?)\s*\n\s*\[(?:bot|agent)\]:\s*"
    r"(?P<says>.*?)\s*",
    re.DOTALL,
)


def is_longmt(document: Any) -> bool:
    """Whether a parsed file is Long-MT-Bench+."""
    first = records(document)[:1]
    return bool(first) and {"sessions", "questions"} <= first[0].keys()


def read_longmt(document: Any, where: str) -> list[Group]:
    """One group a history. Raises BadInput where none is asked anything; ``where`` names it."""
    groups = [_group(row, number) for number, row in enumerate(records(document), 1)]
    return keep_askable(groups, "histories", where)


def _group(row: Record, number: int) -> Group:
    name = str(row.get("conversation_id") or number)
    notes = Counter[str]()
    sessions = [
        (f"{name}/{place}", list(_lines(session, notes)))
        for place, session in enumerate(_list(row.get("sessions")), 1)
    ]
    history = build_history(name, sessions, +notes)
    if not history.transcripts:
        return Group(id=name, stages=())
    texts, answers = _list(row.get("questions")), _list(row.get("answers"))
    cases = tuple(
        build_sample(
            PlainQuestion(
                id=f"{name}/{place}",
                text=str(text),
                answer=str(answers[place - 1]) if place <= len(answers) else "",
            ),
            [history],
        )
        for place, text in enumerate(texts, 1)
        if str(text).strip()
    )
    dropped = Counter({"questions without words": len(texts) - len(cases)})
    stage = Stage(histories=(history,), samples=cases)
    return Group(id=name, stages=(stage,), dropped=dict(+dropped))


def _lines(session: Any, notes: Counter[str]) -> Iterator[PlainTurn]:
    """Both turns of each exchange; one that names no speakers is the user's."""
    for exchange in map(str, _list(session)):
        match = _EXCHANGE.fullmatch(exchange)
        if match is None:
            notes[ONE_SIDED] += bool(exchange.strip())
        asks, says = (match["asks"], match["says"]) if match else (exchange.strip(), "")
        if asks:
            yield PlainTurn(speaker=USER, text=asks)
        if says:
            yield PlainTurn(speaker=ASSISTANT, text=says, role="assistant")


def _list(value: Any) -> Sequence[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
