"""MemoryBank: its users' days, then its probing questions, which have no reference answers.

The users are in ``memory_bank_en.json``, which ``import`` reads; their questions beside it in
``probing_questions_en.jsonl``: ``{user: [question]}`` a line.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.types import History
from theanine_bench.datasets.reading import PlainQuestion, build_sample, load_json, records
from theanine_bench.samples import Group, Stage

BANK, QUESTIONS = "memory_bank", "probing_questions"
STRAY = "questions in stray quotation marks, taken without them"


def bank_of(path: Path) -> Path | None:
    """The file of users: the path itself, or the one in a folder; None where there is none."""
    if path.is_dir():
        return next(iter(sorted(path.glob(f"{BANK}*.json"))), None)
    return path if path.name.startswith(BANK) else None


def read_memorybank(bank: Path) -> list[Group]:
    """One group a user. Raises BadInput where there are no questions beside the users."""
    beside = bank.with_name(f"{bank.stem.replace(BANK, QUESTIONS)}.jsonl")
    if not beside.is_file():
        raise BadInput(f"its questions are not beside it: {beside.name}", str(bank))
    asked = _questions(load_json(beside))
    reading = read_histories(bank, keep_going=True)
    groups = [_group(history, asked.pop(history.name, [])) for history in reading.histories]
    dropped = {
        "questions of users who are not there": sum(map(len, asked.values())),
        "turns or days that can't be read": len(reading.rejected),
    }
    found = [group for group in groups if group.samples]
    if not found:
        raise BadInput("it has no question of a user who is there", str(beside))
    first, *rest = found
    return [Group(id=first.id, stages=first.stages, dropped=dict(+Counter(dropped))), *rest]


def _questions(document: Any) -> dict[str, list[str]]:
    """What each user asks, as it is written."""
    asked: dict[str, list[str]] = {}
    for record in records(document):
        for user, listed in record.items():
            texts = cast("list[Any]", listed) if isinstance(listed, list) else []
            asked.setdefault(user.strip(), []).extend(map(str, texts))
    return asked


def _unquoted(text: str) -> str:
    """Without quotation marks around all of it."""
    around = len(text) > 1 and text[0] == text[-1] == '"' and text.count('"') == 2
    return text[1:-1].strip() if around else text


def _group(history: History, asked: list[str]) -> Group:
    texts = [plain for text in asked if (plain := _unquoted(text.strip()))]
    stray = sum(_unquoted(text.strip()) != text.strip() for text in asked)
    noted = replace(history, notes={**history.notes, **({STRAY: stray} if stray else {})})
    cases = tuple(
        build_sample(
            PlainQuestion(
                id=f"{history.name}/{place}",
                text=text,
                category="probing",
                speaker=history.name,
                answers="AI",
            ),
            [history],
        )
        for place, text in enumerate(texts, 1)
    )
    return Group(id=history.name, stages=(Stage(histories=(noted,), samples=cases),))
