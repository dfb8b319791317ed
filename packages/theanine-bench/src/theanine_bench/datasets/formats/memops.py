"""MemOps: conversations with operations on memory among many others, and questions about them.

A folder of ``generated_result/4-inject_evidence_with_distractors`` of MemTensor/MemOps, as its
``5-test_operation_metrics.py`` reads it: ``{"operation_type", "conversations": [{"dialogue":
[{"role", "content"}], "evidence_segment_index"?, "insertion_index"?}], "answer": [{"question",
"expected_answer", "candidate_options"?, "gold_memory_state", "judge_rubric", "gold_provenance":
[{"segment_index", "turn_index", "quote"}]}]}``. There are no dates.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from theanine.errors import BadInput
from theanine.types import History
from theanine_bench.datasets.formats import QaFormat
from theanine_bench.datasets.labels import find_turns
from theanine_bench.datasets.reading import (
    ASSISTANT,
    USER,
    PlainQuestion,
    PlainTurn,
    build_history,
    build_sample,
)
from theanine_bench.files import read_json
from theanine_bench.samples import Group, Stage
from theanine_bench.validation import OptionalAsText, OptionalText, Text, validate


class _Turn(BaseModel):
    role: OptionalText = ""
    content: OptionalText = ""


class _Segment(BaseModel):
    dialogue: list[_Turn]
    evidence_segment_index: int | None = None
    insertion_index: int | None = None


class _Span(BaseModel):
    segment_index: int
    turn_index: int = 0
    quote: OptionalText = ""


class _Question(BaseModel):
    question: Text
    expected_answer: Text
    evaluation_type: OptionalText = ""
    candidate_options: list[OptionalAsText] | None = None
    gold_memory_state: Any = None
    judge_rubric: Any = None
    gold_provenance: list[_Span] | None = None


class _Instance(BaseModel):
    operation_type: Text
    conversations: list[_Segment]
    answer: list[_Question]


def _files(path: Path) -> list[Path]:
    return sorted(path.glob("*.json")) if path.is_dir() else [path]


def _is_instance(document: Any) -> bool:
    keys = {"operation_type", "conversations", "answer"}
    return isinstance(document, dict) and keys <= cast("dict[str, Any]", document).keys()


def _matches(path: Path, document: Any) -> bool:
    if not path.is_dir():
        return _is_instance(document)
    files = _files(path)[:1]
    return bool(files) and files[0].is_file() and _is_instance(read_json(files[0]))


def _read(path: Path, document: Any) -> list[Group]:
    """Return a group an instance. Raises BadInput with the place of a fault."""
    documents = [(path, document)] if document is not None else _load(path)
    groups = [_group(file, validate(_Instance, each, str(file))) for file, each in documents]
    if not any(group.samples for group in groups):
        raise BadInput("no instance in it has turns and a question", str(path))
    return [group for group in groups if group.samples]


def _load(folder: Path) -> Iterator[tuple[Path, Any]]:
    for file in _files(folder):
        yield file, read_json(file)


def _group(file: Path, instance: _Instance) -> Group:
    name = file.stem
    positions: dict[tuple[int, int], str] = {}
    sessions: list[tuple[str, list[PlainTurn]]] = []
    for number, segment in enumerate(instance.conversations, 1):
        key = f"{name}/{number}"
        turns: list[PlainTurn] = []
        for at, turn in enumerate(segment.dialogue):
            if turn.role not in (USER, ASSISTANT) or not turn.content.strip():
                continue
            turns.append(
                PlainTurn(
                    speaker=turn.role,
                    text=turn.content.strip(),
                    role="assistant" if turn.role == ASSISTANT else "user",
                )
            )
            positions[number, at] = str(len(turns))
        sessions.append((key, turns))
    history = build_history(name, sessions)
    if not history.transcripts:
        return Group(id=name, stages=())
    dropped = Counter[str]()
    samples = tuple(
        build_sample(
            PlainQuestion(
                id=f"{name}_q{number}",
                text=_text(question),
                answer=question.expected_answer,
                category=instance.operation_type,
                extra=_extra(name, instance, question, history, positions, dropped),
            ),
            [history],
        )
        for number, question in enumerate(instance.answer, 1)
    )
    stage = Stage(histories=(history,), samples=samples)
    return Group(id=name, stages=(stage,), dropped=dict(+dropped))


def _text(question: _Question) -> str:
    options = [
        f"{chr(ord('A') + number)}. {option}"
        for number, option in enumerate(question.candidate_options or ())
    ]
    return "\n".join([question.question.strip(), *options])


def _extra(
    name: str,
    instance: _Instance,
    question: _Question,
    history: History,
    positions: Mapping[tuple[int, int], str],
    dropped: Counter[str],
) -> dict[str, Any]:
    """Return the labels of a question: its evidence, and what the judge goes by."""
    gold: set[tuple[str, str]] = set()
    for span in question.gold_provenance or ():
        at = _find_span(span, instance)
        if at in positions:
            gold.add((f"{name}/{at[0]}", positions[at]))
        else:
            dropped["labels of no turn"] += 1
    return {
        "gold": sorted(map(list, gold)),
        "evidence": [
            {"speaker": turn.speaker, "text": turn.full_text}
            for turn in find_turns(gold, history).values()
        ],
        "operation": instance.operation_type,
        "trajectory": question.evaluation_type == "StateTrajectory",
        "memory_state": _as_text(question.gold_memory_state),
        "judge_rubric": _as_text(question.judge_rubric),
    }


def _find_span(span: _Span, instance: _Instance) -> tuple[int, int]:
    """Return the number of the conversation and the position of the turn that a label names.

    Evidence segments are inserted into other conversations, at ``insertion_index``. Of turns that
    have the quote, the one at the label's own place counts, else the first. ``(0, 0)`` if none has.
    """
    for number, segment in enumerate(instance.conversations, 1):
        if segment.evidence_segment_index != span.segment_index:
            continue
        quoted = [at for at, turn in enumerate(segment.dialogue) if span.quote in turn.content]
        own = (segment.insertion_index or 0) + span.turn_index - 1
        if quoted:
            return number, own if own in quoted else quoted[0]
    return 0, 0


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


FORMAT = QaFormat(name="MemOps", matches=_matches, read=_read)
