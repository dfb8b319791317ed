"""CoQA as SeCom uses it (appendix A.9): each passage among the ten around it, then its questions.

``{"data": [{"id", "source", "story", "questions": [{"input_text", "turn_id"}], "answers":
[{"input_text", "span_start", "span_end", "turn_id"}]}]}``. A passage is a session and each sentence
a turn, matching the paper's sessions and sentences. A question comes with the earlier ones and
their answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from theanine.sentences import sentence_spans
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
    surrounding_indices,
)
from theanine_bench.samples import Group, Stage

OTHERS = 10
SPEAKER = "passage"
UNKNOWN = "unknown"
"""The set's answer to a question that the passage doesn't answer."""
Spans = Sequence[tuple[int, int]]
"""Start and end of each sentence of a passage."""


def _matches(path: Path, document: Any) -> bool:
    first = records(cast("Record", document).get("data")) if isinstance(document, dict) else []
    return bool(first) and {"story", "questions", "answers"} <= first[0].keys()


def _read(path: Path, document: Any) -> list[Group]:
    """Return one group a passage. Raises BadInput if no passage has a question."""
    passages = [row for row in records(document["data"]) if str(row.get("story", "")).strip()]
    spans = [list(sentence_spans(str(row["story"]))) for row in passages]
    groups = [_group(i, passages, spans) for i in range(len(passages))]
    return keep_askable(groups, "passages", str(path))


def _group(index: int, passages: Sequence[Record], spans: Sequence[Spans]) -> Group:
    names = [f"coqa/{row.get('id') or i}" for i, row in enumerate(passages, 1)]
    nearby = sorted([*surrounding_indices(index, len(passages), OTHERS), index])
    sessions = [(names[i], _turns(passages[i], spans[i])) for i in nearby]
    history = build_history(names[index], sessions)
    dropped = Counter[str]()
    questions = _questions(passages[index], names[index], spans[index], dropped)
    samples = tuple(build_sample(question, [history]) for question in questions)
    stage = Stage(histories=(history,), samples=samples)
    return Group(id=names[index], stages=(stage,), dropped=dict(+dropped))


def _turns(passage: Record, spans: Spans) -> list[PlainTurn]:
    story = str(passage["story"])
    return [PlainTurn(speaker=SPEAKER, text=story[start:end]) for start, end in spans]


def _questions(
    passage: Record, name: str, spans: Spans, dropped: Counter[str]
) -> Iterator[PlainQuestion]:
    answers = {str(one.get("turn_id")): one for one in records(passage.get("answers") or [])}
    before: list[PlainTurn] = []
    for question in records(passage.get("questions") or []):
        number = str(question.get("turn_id"))
        text = str(question.get("input_text") or "").strip()
        answer = str(answers.get(number, {}).get("input_text") or "").strip()
        if not text or not answer:
            dropped["questions without words or an answer"] += 1
            continue
        answerable = answer.casefold().rstrip(".") != UNKNOWN
        gold = [[name, key] for key in _sentence_keys(answers[number], spans)] if answerable else []
        dropped["questions without evidence"] += answerable and not gold
        yield PlainQuestion(
            id=f"{name}/{number}",
            text=text,
            answer=answer,
            category=str(passage.get("source", "")),
            before=tuple(before),
            extra={"gold": gold, "answerable": answerable},
        )
        before.append(PlainTurn(speaker=USER, text=text))
        before.append(PlainTurn(speaker=ASSISTANT, text=answer, role="assistant"))


def _sentence_keys(answer: Record, spans: Spans) -> list[str]:
    """Return the keys of the sentences that the answer's span overlaps."""
    start, end = answer.get("span_start"), answer.get("span_end")
    if not isinstance(start, int) or not isinstance(end, int):
        return []
    return [str(i) for i, (first, last) in enumerate(spans, 1) if start < last and end > first]


FORMAT = QaFormat(name="CoQA", matches=_matches, read=_read)
