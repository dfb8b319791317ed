"""CoQA as SeCom uses it (appendix A.9): each passage among the ten around it, then its questions.

``{"data": [{"id", "source", "story", "questions": [{"input_text", "turn_id"}], "answers":
[{"input_text", "span_start", "span_end", "turn_id"}]}]}``. A passage is a session in which each
sentence is a turn, so that turns are the paper's sentences and sessions its passages. A question
comes with the ones before it and their answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, cast

from theanine.text.words import sentences
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
    surrounding_indices,
)
from theanine_bench.samples import Group, Stage

OTHERS = 10
SPEAKER = "passage"
UNKNOWN = "unknown"
"""What the set answers where the passage doesn't say."""


def is_coqa(document: Any) -> bool:
    """Whether a parsed file is CoQA."""
    first = records(cast("Record", document).get("data")) if isinstance(document, dict) else []
    return bool(first) and {"story", "questions", "answers"} <= first[0].keys()


def read_coqa(document: Record, where: str) -> list[Group]:
    """One group a passage. Raises BadInput where no passage has a question; ``where`` names it."""
    rows = [row for row in records(document["data"]) if str(row.get("story", "")).strip()]
    stories = [list(sentences(str(row["story"]))) for row in rows]
    groups = [_group(place, rows, stories) for place in range(len(rows))]
    return keep_askable(groups, "passages", where)


def _group(place: int, rows: Sequence[Record], stories: Sequence[list[tuple[int, int]]]) -> Group:
    own = _name(rows[place], place)
    sessions = [
        (_name(rows[one], one), _lines(rows[one], stories[one]))
        for one in sorted([*surrounding_indices(place, len(rows), OTHERS), place])
    ]
    history = build_history(own, sessions)
    dropped = Counter[str]()
    asked = _asked(rows[place], own, stories[place], dropped)
    cases = tuple(build_sample(one, [history]) for one in asked)
    stage = Stage(histories=(history,), samples=cases)
    return Group(id=own, stages=(stage,), dropped=dict(+dropped))


def _name(row: Record, place: int) -> str:
    return f"coqa/{row.get('id') or place + 1}"


def _lines(row: Record, spans: Sequence[tuple[int, int]]) -> list[PlainTurn]:
    story = str(row["story"])
    return [PlainTurn(speaker=SPEAKER, text=story[start:end]) for start, end in spans]


def _asked(
    row: Record, name: str, spans: Sequence[tuple[int, int]], dropped: Counter[str]
) -> Iterator[PlainQuestion]:
    answers = {str(one.get("turn_id")): one for one in records(row.get("answers") or [])}
    before: list[PlainTurn] = []
    for question in records(row.get("questions") or []):
        number = str(question.get("turn_id"))
        text = str(question.get("input_text") or "").strip()
        answer = str(answers.get(number, {}).get("input_text") or "").strip()
        if not text or not answer:
            dropped["questions without words or an answer"] += 1
            continue
        known = answer.casefold().rstrip(".") != UNKNOWN
        gold = [[name, key] for key in _gold(answers[number], spans)] if known else []
        dropped["questions without evidence"] += known and not gold
        yield PlainQuestion(
            id=f"{name}/{number}",
            text=text,
            answer=answer,
            category=str(row.get("source", "")),
            before=tuple(before),
            extra={"gold": gold, "answerable": known},
        )
        before.append(PlainTurn(speaker=USER, text=text))
        before.append(PlainTurn(speaker=ASSISTANT, text=answer, role="assistant"))


def _gold(answer: Record, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Keys of the sentences that the answer's span is in."""
    start, end = answer.get("span_start"), answer.get("span_end")
    if not isinstance(start, int) or not isinstance(end, int):
        return
    for place, (first, last) in enumerate(spans, 1):
        if start < last and end > first:
            yield str(place)
