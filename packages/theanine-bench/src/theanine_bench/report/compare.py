"""The page of a comparison: what each method recalls for each question, and what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from theanine.text.words import format_date
from theanine_bench.report.page import render_page

if TYPE_CHECKING:
    from theanine.types import Turn, Usage
    from theanine_bench.tasks.comparison import Answer, Column, Comparison, Question


def compare_page(found: Comparison, *, title: str) -> str:
    """The whole page as one HTML text that reaches for nothing outside itself.

    ``title`` is what the histories are called.
    """
    data = {
        "title": title,
        "utterance_count": found.said,
        "sessions": found.sessions,
        "log": found.log,
        "unknown": list(found.unknown),
        "columns": [_column(column) for column in found.columns],
        "questions": [
            _question(question, [column.answers[place] for column in found.columns])
            for place, question in enumerate(found.questions)
        ],
        "turns": {user: _turns(turns, found.undated[user]) for user, turns in found.turns.items()},
    }
    return render_page("compare.html", title=title, data=data, scripts=["compare.js"])


def _column(column: Column) -> dict[str, Any]:
    return {
        "label": column.label,
        "method": column.method,
        "settings": {name: str(value) for name, value in column.settings.items()},
        "model": column.model,
        "memories": column.memories,
        "links": column.links,
        "failures": dict(column.failures),
        "rememberSeconds": column.remember_seconds,
        "recallSeconds": column.recall_seconds,
        "remembering": _spent(column.remembering),
        "recalling": _spent(column.recalling),
        "tokens": column.tokens,
        "found": column.found,
        "disk": column.disk,
    }


def _spent(spent: Usage) -> dict[str, Any]:
    return {
        "calls": spent.calls,
        "failed": spent.failed,
        "in": spent.input_tokens,
        "out": spent.output_tokens,
        "cost": spent.cost,
    }


def _question(question: Question, answers: list[Answer]) -> dict[str, Any]:
    return {
        "user": question.user,
        "text": question.text,
        "answer": question.answer,
        "category": question.category,
        "gold": list(question.gold),
        "answers": [
            {
                "pieces": [
                    {"text": piece.text, "turns": list(piece.sources), "by": piece.made_by}
                    for piece in answer.pieces
                ],
                "tokens": answer.tokens,
                "seconds": answer.seconds,
                "found": answer.found,
                "failure": answer.failure,
            }
            for answer in answers
        ],
    }


def _turns(turns: Mapping[int, Turn], undated: frozenset[int]) -> dict[int, dict[str, str]]:
    return {
        number: {
            "speaker": turn.speaker,
            "when": "" if turn.session in undated else format_date(turn.at),
            "words": turn.full_text,
        }
        for number, turn in turns.items()
    }
