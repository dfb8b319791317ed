"""A damaged data set is refused in one line by every bench that reads it, or is measured."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.damaging import damaged
from support.dataset_samples import (
    COQA,
    DIALOGUES,
    LONGMEMEVAL,
    MT_BENCH,
    causal_graph,
    locomo_questions,
    long_mt,
)
from support.fuzzing import cases
from support.history_samples import msc
from support.running import Terminal

pytestmark = [pytest.mark.fuzz, pytest.mark.slow]

TALK = [f"Speaker {1 + n % 2}: I sail, talk {n}." for n in range(4)]
TEABAG = {
    "id": "e1",
    **{f"session{n}": TALK for n in range(1, 6)},
    "questions": [{"question": "How was your trip?", "answer": "I have never been there."}],
    "session6": [TALK],
}
QUESTIONS = """[e1/1]
asks: Ana
answers: Bo
question: How was my trip to Japan?
answer: You have never been there.
must say: never | not
"""
QA = ["bench", "qa", "FILE", "--method", "no-memory", "--limit", "2", "--out", "OUT"]
RETRIEVAL = ["bench", "retrieval", "FILE", "--out", "OUT"]
SETS: Mapping[str, tuple[Any, list[list[str]]]] = {
    "locomo": (locomo_questions([["D1:1"], ["D2:1"]]), [QA, RETRIEVAL]),
    "longmemeval": (LONGMEMEVAL, [QA, RETRIEVAL]),
    "mt-bench-plus": (MT_BENCH, [QA]),
    "long-mt-bench-plus": (long_mt(), [QA]),
    "coqa": (COQA, [QA]),
    "causaleval": (causal_graph(), [["bench", "causaleval", "FILE", "--out", "OUT"]]),
    "dialseg": (DIALOGUES, [["bench", "segmentation", "FILE", "--out", "OUT"]]),
    "msc": (
        msc(),
        [["bench", "responses", "FILE", "--method", "no-memory", "--out", "OUT"]],
    ),
    "teabag": ([TEABAG], []),
    "questions": (QUESTIONS, [["teafarm", "run", "FILE", "--data", "TALKS", "--out", "OUT"]]),
}


@pytest.mark.parametrize("name", SETS)
@cases(2)
@given(data=st.data())
def test_a_damaged_set_is_refused_or_measured(name: str, data: st.DataObject) -> None:
    content, commands = SETS[name]
    text = content if isinstance(content, str) else json.dumps(content)
    command = data.draw(st.sampled_from([["bench", "data", "FILE", "--check"], *commands]))
    with tempfile.TemporaryDirectory() as folder:
        suffix = "txt" if isinstance(content, str) else "jsonl" if name == "msc" else "json"
        file, out = Path(folder) / f"data.{suffix}", Path(folder) / "out"
        file.write_bytes(damaged(text.encode(), data))
        talks = Path(folder) / "talks.txt"
        talks.write_text("Ana: I have never been to Japan.\nBo: Why?\n")
        files = {"FILE": str(file), "OUT": str(out), "TALKS": str(talks)}
        arguments = [files.get(part, part) for part in command]
        ran = Terminal(Path(folder) / "none.db").bare(*arguments, fine=False)
        assert ran.code in (0, 1, 2), ran
        if ran.code == 2:
            first, *listed = ran.err.splitlines()
            assert first.startswith("theanine: "), ran
            assert all(line.startswith("  ") for line in listed), ran
        else:
            assert "Traceback" not in ran.err, ran
        for path in out.rglob("*.json*"):
            for line in path.read_text("utf-8").splitlines() if path.suffix == ".jsonl" else ():
                json.loads(line)
        assert not [*out.rglob("*.part")]
