"""The comparison with other systems counts what one of them finds, in its own environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RIVALS = Path(__file__).parents[2] / "benchmarks" / "rivals"
SYSTEM = """
import json, urllib.request
from measuring import Rival, main

class Words:
    def __init__(self, endpoint, dimension):
        body = json.dumps({"input": ["one", "two"], "model": "bundled"}).encode()
        with urllib.request.urlopen(endpoint + "/embeddings", body) as answer:
            rows = [row["embedding"] for row in json.load(answer)["data"]]
        assert [len(row) for row in rows] == [dimension] * 2
        self.turns = []

    def add(self, turns):
        print("this is not an answer")
        self.turns += turns

    def ask(self, question, limit):
        asked = set(question.lower().strip("?").split())
        shared = {t.id: len(asked & set(t.line.lower().strip(".").split())) for t in self.turns}
        return sorted((t for t in shared if shared[t]), key=lambda t: -shared[t])[:limit]

RIVAL = Rival("words", (), lambda folder, url, dimension: Words(url, dimension), __file__)
if __name__ == "__main__":
    main(RIVAL)
"""
TALK = {
    "Ana": "Our cat Tofu sleeps on the piano.",
    "Ben": "The ferry to Cres was late.",
}
QUESTIONS = {
    "Where does the cat sleep?": "D1:1",
    "Was the ferry late?": "D1:2",
    "Who moved house?": "D1:1",  # no word of it is in the turns
}


@pytest.mark.slow
def test_a_system_is_measured(tmp_path: Path) -> None:
    data, script, figures = tmp_path / "data.json", tmp_path / "run_words.py", tmp_path / "out.json"
    script.write_text(SYSTEM)
    data.write_text(json.dumps([_conversation()]))

    ran = subprocess.run(
        [sys.executable, script, data, "--embedder", "wordllama",
         "--environments", tmp_path / "environments", "--json", figures],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(RIVALS), *filter(None, sys.path)])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    [measured] = json.loads(figures.read_text())
    assert measured["evidence among the first 10 turns"].startswith("0.667 ±")
    assert measured["evidence within 600 tokens"] == pytest.approx(2 / 3, abs=1e-3)
    assert "2 turns, 3 questions" in ran.stdout


def _conversation() -> dict[str, object]:
    turns = [
        {"speaker": speaker, "dia_id": f"D1:{number}", "text": text}
        for number, (speaker, text) in enumerate(TALK.items(), 1)
    ]
    return {
        "sample_id": "one",
        "conversation": {
            "speaker_a": "Ana",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": turns,
        },
        "qa": [
            {"question": question, "answer": "yes", "evidence": [turn], "category": 4}
            for question, turn in QUESTIONS.items()
        ],
    }
