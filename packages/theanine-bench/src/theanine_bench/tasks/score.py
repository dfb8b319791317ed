"""Answers that were made elsewhere, scored like a run's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from theanine.errors import BadInput
from theanine_bench.config import SCORE
from theanine_bench.datasets.answer_files import (
    NO_REFERENCE,
    AnswerFile,
    is_theanine_output,
    read_theanine_output,
)
from theanine_bench.files import hash_files, read_lines
from theanine_bench.metrics.registry import find_metrics
from theanine_bench.runs.folder import parse_result
from theanine_bench.runs.task import Task
from theanine_bench.samples import SampleResult
from theanine_bench.tasks.answers import scoring_task
from theanine_bench.tasks.judge import parse_short_form

METRICS = ("corpus-bleu-4", "rouge-l", "f1")


@dataclass(frozen=True, slots=True)
class ScoreTask:
    """The answers of a file: the name of the system that made them, and the task."""

    method: str
    task: Task


def find_answer_files(paths: Sequence[Path]) -> list[Path]:
    """Return the files themselves, and the JSON and JSON Lines files of folders.

    Raises BadInput for a folder without any.
    """
    files: list[Path] = []
    for path in paths:
        own = sorted([*path.glob("*.json"), *path.glob("*.jsonl")]) if path.is_dir() else [path]
        if not own:
            raise BadInput("no JSON or JSON Lines file in it", str(path))
        files += own
    return files


def find_other_files(paths: Sequence[Path]) -> list[Path]:
    """Return the other files of folders, hidden ones aside: none of them has answers."""
    taken = set(find_answer_files(paths))
    inside = [file for path in paths if path.is_dir() for file in sorted(path.iterdir())]
    return [f for f in inside if f.is_file() and f not in taken and not f.name.startswith(".")]


def score_task(
    file: Path,
    *,
    dataset: str | None = None,
    method: str | None = None,
    metrics: Sequence[str] | None = None,
    limit: int | None = None,
) -> ScoreTask:
    """Return a task that scores the answers of a file.

    Args:
        dataset, method: names for tables; by default those that the file names.
        metrics: names of metrics; by default :data:`METRICS`.
        limit: maximum number of answers, evenly spaced.

    Raises BadInput for a file that can't be read, SettingsError for an unknown metric.
    """
    answers = read_theanine_output(file) if is_theanine_output(file) else _read_lines(file)
    each, corpus = find_metrics(metrics or METRICS)
    task = scoring_task(
        SCORE,
        answers.results,
        each,
        corpus,
        data=hash_files(file),
        dropped={NO_REFERENCE: answers.without_reference} if answers.without_reference else {},
        limit=limit,
        dataset=dataset or answers.dataset,
    )
    return ScoreTask(method or answers.method or file.stem, task)


def _read_lines(file: Path) -> AnswerFile:
    """Read results of a run, or the short form of :func:`parse_short_form`, a line each."""
    results: list[SampleResult] = []
    for record, where in read_lines(file):
        parse = parse_result if _is_result(record) else parse_short_form
        results.append(parse(record, where))
    ids = {result.id for result in results}
    if len(ids) < len(results):
        raise BadInput("two of its answers have the same id; ids are unique", str(file))
    if not results:
        raise BadInput("no answers in it", str(file))
    return AnswerFile(dataset="", method="", results=results, without_reference=0)


def _is_result(record: object) -> bool:
    return isinstance(record, dict) and "group" in record
