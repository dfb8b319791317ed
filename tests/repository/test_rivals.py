"""The comparison with other systems counts what each of them finds, in its own environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from support.running import Terminal

ROOT = Path(__file__).parents[2]
RIVALS = ROOT / "benchmarks" / "rivals"
CHART = ROOT / "docs" / "images" / "rivals.svg"
CORPUS = ROOT / "corpus" / "changes_report.jsonl"
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

    def add(self, turns, user):
        print("this is not an answer")
        assert user == "Ana"
        self.turns += turns

    def ask(self, question, limit):
        asked = set(question.lower().strip("?").split())
        shared = {t.id: len(asked & set(t.line.lower().strip(".").split())) for t in self.turns}
        return sorted((t for t in shared if shared[t]), key=lambda t: -shared[t])[:limit]

    def close(self):
        self.turns = None

def open_system(folder, endpoint, dimension):
    return Words(endpoint, dimension)

RIVAL = Rival("words", (), "all that share a word", open_system, __file__)
if __name__ == "__main__":
    main(RIVAL)
"""
OURS = """
from measuring import Rival, main
from run_theanine import open_system

if __name__ == "__main__":
    main(Rival("ours", (), "recall", open_system, __file__))
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


HISTORIES: list[dict[str, Any]] = [
    {
        "id": town,
        "language": "en",
        "kind": "explicit",
        "turns": [
            {"at": "2024-03-01T10:00", "session": "a", "role": "user", "speaker": "Ana",
             "text": f"I live in {town}."},
            {"at": "2024-06-03T10:00", "session": "b", "role": "user", "speaker": "Ana",
             "text": f"I no longer live there, I live with Ben, far from {town}."},
        ],
        "questions": [
            {"q": "Where do I live?", "asks": "now", "as_of": None,
             "current": [1], "needed": [], "outdated": [0]},
            {"q": f"{other}?", "asks": "never", "as_of": None,
             "current": [], "needed": [], "outdated": []},
            {"q": "When did I move?", "asks": "when", "as_of": None,
             "current": [1], "needed": [], "outdated": []},
        ],
    }
    for town, other in [("Graz", "Linz"), ("Linz", "Graz"), ("Wels", "Ohio")]
]  # fmt: skip


@pytest.mark.slow
def test_a_system_is_measured(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_text(json.dumps([_conversation()]))

    [table] = _measure(tmp_path, SYSTEM, data)

    assert (table["name"], table["stores"], table["turns"], table["asked"]) == ("data", 1, 2, 3)
    [measured] = table["systems"]
    assert measured["evidence among the first 10 turns"]["mean"] == pytest.approx(2 / 3, abs=1e-3)
    assert measured["evidence within 600 tokens"] == pytest.approx(2 / 3, abs=1e-3)


@pytest.mark.slow
def test_each_history_has_a_store_of_its_own(tmp_path: Path) -> None:
    data = tmp_path / "histories.jsonl"
    data.write_text("".join(json.dumps(history) + "\n" for history in HISTORIES))

    [table] = _measure(tmp_path, SYSTEM, data, "--limit", "2")

    # The first two are chosen; what one asks for in vain was said in the other.
    assert (table["stores"], table["turns"], table["asked"]) == (2, 4, 4)
    [measured] = table["systems"]
    assert measured["never"]["mean"] == 1
    assert (measured["never"]["n"], measured["lost"]["mean"]) == (2, 0)
    assert measured["holds"]["mean"] == 0  # The first turn shares as many words, and comes first.
    assert measured["outdated"]["mean"] == 0


@pytest.mark.slow
def test_theanine_gets_the_same_figures_as_from_its_own_bench(
    tmp_path: Path, run: Terminal
) -> None:
    data = tmp_path / "histories.jsonl"
    lines = CORPUS.read_text("utf-8").splitlines(keepends=True)
    data.write_text("".join(lines[:: len(lines) // 3]), "utf-8")

    [table] = _measure(tmp_path, OURS, data)
    ours = run.bare("bench", "methods", str(data), "--methods", "theanine", "--json").json

    [measured] = table["systems"]
    for name in ("holds", "outdated", "never", "lost"):
        assert measured[name]["mean"] == pytest.approx(ours["theanine"][name]["mean"], abs=1e-3)


def test_the_chart_is_that_of_the_figures_that_were_measured(tmp_path: Path) -> None:
    chart = tmp_path / "chart.svg"
    command = [sys.executable, RIVALS / "chart.py", RIVALS / "measured.json", chart]
    subprocess.run(command, check=True)
    assert chart.read_text("utf-8") == CHART.read_text("utf-8")
    title = ElementTree.parse(chart).getroot().find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text
    assert f'alt="{title.text}"' in (ROOT / "README.md").read_text("utf-8")


def _measure(folder: Path, system: str, data: Path, *options: str) -> list[dict[str, Any]]:
    """Return the figures of the data that the program prints for one system."""
    script, figures = folder / "run_it.py", folder / "out.json"
    script.write_text(system)
    ran = subprocess.run(
        [sys.executable, script, data, "--embedder", "wordllama", *options,
         "--environments", folder.parent / "environments", "--json", figures],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(RIVALS), *filter(None, sys.path)])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    result = json.loads(figures.read_text())
    assert result["date"] in ran.stdout
    return result["data"]


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
