"""Run folders, for tests of code that reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from theanine_bench.config import RunConfig
from theanine_bench.runs.folder import ITEMS, SUMMARY, RunFolder, results_to_jsonl
from theanine_bench.runs.summary import summarize_run
from theanine_bench.samples import ANSWER, SampleResult

AT = "2024-03-01T10:00:00+00:00"


def sample_item(number: int, *, words: str = "Where is the boat?", **more: Any) -> SampleResult:
    """Return an answered item; ``more`` replaces fields."""
    source = {"turn": number, "session": 2, "speaker": "Ana", "at": AT, "text": f"I sold {number}."}
    given: dict[str, Any] = {
        "id": f"a/{number}",
        "group": "ana",
        "category": "where" if number % 2 else "when",
        "question": words,
        "dialogue": [{"speaker": "Ana", "role": "user", "text": words, "at": AT}],
        "reference": "In the harbour.",
        "answer": f"It was sold, number {number}.",
        "recalled": [{"text": f"Ana sold {number}.", "memories": [number], "sources": [source]}],
        "recalled_tokens": 10 * number,
        "scores": {"f1": (number % 10) / 10, "right": float(number % 3 == 0)},
        **more,
    }
    return SampleResult(**given)


def unanswered(number: int, why: str = "ModelRejected: no key") -> SampleResult:
    """Return an item without an answer."""
    worst = {"f1": 0.0, "right": 0.0}
    return sample_item(
        number, answer=None, recalled=[], scores=worst, failures={ANSWER: why}
    )  # fmt: skip


def sample_settings(**changes: Any) -> dict[str, Any]:
    """Return the settings of a run of one sample, with some changed."""
    return {
        "bench": "qa",
        "theanine": "0.1.0",
        "data": "0" * 64,
        "samples": 1,
        "metrics": [],
        "config": asdict(RunConfig()),
        "models": {"agent": None, "judge": None},
        **changes,
    }


def sample_run(
    path: Path,
    items: Sequence[SampleResult],
    *,
    samples: int | None = None,
    finished: bool = True,
    data: str = "0" * 64,
    judge: str = "local",
    metrics: Sequence[str] = ("right", "f1"),
    method: str = "exchange",
    corpus: Mapping[str, object] | None = None,
) -> Path:
    """Write a run's folder; an unfinished one has no summary, as after a kill.

    ``corpus`` is what it measured over all answers together.
    """
    folder = RunFolder(path)
    total = len(items) if samples is None else samples
    config = RunConfig(method=method, judge=judge, settings={"retrieved": "3"})
    models = {"agent": None, "judge": None if judge == "local" else {"name": judge}}
    folder.begin(
        sample_settings(
            data=data, samples=total, metrics=list(metrics), config=asdict(config), models=models
        )
    )
    (path / ITEMS).write_text(results_to_jsonl(items), "utf-8")
    times = [{"id": item.id, "seconds": 0.5} for item in items]
    (path / "times.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in times), "utf-8")
    if finished:
        summary = summarize_run(items, total=total, seconds=[0.5] * len(items))
        summary["corpus"] = corpus or {}
        folder.write(SUMMARY, json.dumps(summary))
    return path


def spoken(text: str, at: str, **more: Any) -> dict[str, Any]:
    return {"speaker": "Ana", "at": f"{at}T10:00:00+00:00", "text": text, **more}


JUDGED_SOURCES = [
    spoken("It sank.", "2024-03-08", turn=7, session=2),
    spoken("I bought a boat.", "2024-03-01", turn=3, session=1),
]
JUDGED = SampleResult(
    id="c/1",
    group="c",
    question="What became of my boat?",
    dialogue=[spoken("What became of my boat?", "2024-05-01", role="user")],
    reference="The boat sank in March.",
    answer="Your boat sank.",
    extra={
        "past": ["(1 March 2024) Ana: I bought a boat.", "(8 March 2024) Ana: It sank."],
    },
    recalled=[{"text": "Ana's boat sank.", "memories": [1], "sources": JUDGED_SOURCES}],
)
