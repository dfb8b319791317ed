"""MemoryBank: its users' days, then its probing questions, which have no reference answers.

The users are in ``memory_bank_en.json``, which ``theanine import`` reads too; their questions are
in ``probing_questions_en.jsonl`` in the same folder, ``{user: [question]}``
a line. For six users of the Chinese file we labeled the turns that answer, in
``languages/memory_bank_cn.json``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.types import History
from theanine_bench.datasets.formats import QaFormat
from theanine_bench.datasets.reading import PlainQuestion, build_sample, records
from theanine_bench.files import read_json
from theanine_bench.samples import Group, Stage

BANK, QUESTIONS = "memory_bank", "probing_questions"
_Labels = dict[str, list[tuple[str, str]]]
"""The day and position of the turns that answer a question, by its text."""
STRAY = "questions in stray quotation marks, taken without them"


def _bank_file(path: Path) -> Path | None:
    """Return the file of users: the path itself, or the one in a folder; None if there is none."""
    if path.is_dir():
        return next(iter(sorted(path.glob(f"{BANK}*.json"))), None)
    return path if path.name.startswith(BANK) else None


def _read(path: Path, document: Any) -> list[Group]:
    """Return one group a user. Raises BadInput if there is no file of questions."""
    bank = _bank_file(path) or path
    file = bank.with_name(f"{bank.stem.replace(BANK, QUESTIONS)}.jsonl")
    if not file.is_file():
        raise BadInput(f"its questions are missing: {file.name}", str(bank))
    questions = _questions(read_json(file))
    reading = read_histories(bank, keep_going=True)
    labels = _read_labels(bank)
    groups = [
        _group(history, questions.pop(history.name, []), labels.get(history.name, {}))
        for history in reading.histories
    ]
    dropped = {
        "questions of users who are not there": sum(map(len, questions.values())),
        "turns or days that can't be read": len(reading.rejected),
    }
    askable = [group for group in groups if group.samples]
    if not askable:
        raise BadInput("it has no question of a user who is there", str(file))
    first, *rest = askable
    return [replace(first, dropped=dict(+Counter(dropped))), *rest]


def _read_labels(bank: Path) -> dict[str, _Labels]:
    """Return our labels by user."""
    file = Path(__file__).parent.parent / "languages" / f"{bank.stem}.json"
    return read_json(file) if file.is_file() else {}


def _questions(document: Any) -> dict[str, list[str]]:
    """Return each user's questions as written."""
    questions: dict[str, list[str]] = {}
    for record in records(document):
        for user, listed in record.items():
            texts = cast("list[Any]", listed) if isinstance(listed, list) else []
            questions.setdefault(user.strip(), []).extend(map(str, texts))
    return questions


def _unquote(text: str) -> str:
    """Remove quotation marks around the whole text."""
    quoted = len(text) > 1 and text[0] == text[-1] == '"' and text.count('"') == 2
    return text[1:-1].strip() if quoted else text


def _group(history: History, questions: list[str], labels: _Labels) -> Group:
    texts = [text for question in questions if (text := _unquote(question.strip()))]
    stray = sum(_unquote(question.strip()) != question.strip() for question in questions)
    noted = replace(history, notes={**history.notes, **({STRAY: stray} if stray else {})})
    samples = tuple(
        build_sample(
            PlainQuestion(
                id=f"{history.name}/{number}",
                text=text,
                category="probing",
                speaker=history.name,
                answers="AI",
                extra={"gold": [[f"{history.name}/{day}", n] for day, n in labels.get(text, [])]},
            ),
            [history],
        )
        for number, text in enumerate(texts, 1)
    )
    return Group(id=history.name, stages=(Stage(histories=(noted,), samples=samples),))


FORMAT = QaFormat(
    name="MemoryBank",
    matches=lambda path, document: _bank_file(path) is not None,
    read=_read,
)
