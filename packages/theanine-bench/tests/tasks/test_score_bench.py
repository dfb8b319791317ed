"""Answers that were made elsewhere are scored, and appear in the papers' tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from support.history_samples import save
from support.real_data import DATA, needs_data
from support.running import Terminal
from theanine_bench.datasets.answer_files import read_theanine_output
from theanine_bench.runs.folder import RunFolder


def output(turn: int, dialogue: str, answer: str, speaker: str = "B") -> dict[str, str]:
    return {
        "utter_id": f"e0-s5-t{turn}",
        "current_dialogue": dialogue,
        "memory_text": "B sails.",
        "speaker": speaker,
        "raw_prediction": answer,
    }


OUTPUTS = [
    output(1, "A: Do you sail?", "Yes, every day."),
    output(2, "A: Do you sail?\nB: Yes, I do: daily.\nReally.", "Great!", "A"),
]


def test_outputs_of_theanines_authors_are_read(tmp_path: Path) -> None:
    read = read_theanine_output(save(tmp_path, "cc_comedy_transform.json", OUTPUTS))
    assert (read.dataset, read.method) == ("Conversation Chronicles", "comedy")
    assert read.without_reference == 1
    [result] = read.results
    assert (result.id, result.group, result.category) == ("e0-s5-t1", "e0", "session 5")
    assert (result.answer, result.reference) == ("Yes, every day.", "Yes, I do: daily.\nReally.")
    assert [(turn["speaker"], turn["text"]) for turn in result.dialogue] == [("A", "Do you sail?")]
    assert result.recalled[0]["text"] == "B sails."


@pytest.mark.slow
def test_a_row_is_the_mean_of_both_sets(run: Terminal, tmp_path: Path) -> None:
    for name, answer in (("msc", "Yes, I do: daily. Really."), ("cc", "No.")):
        save(
            tmp_path,
            f"{name}_theanine.json",
            [{**OUTPUTS[0], "raw_prediction": answer}, OUTPUTS[1]],
        )
    command = ["bench", "score", str(tmp_path), "--out", str(tmp_path / "out")]
    ran = run.bare(*command, "--metric", "rouge-l")
    assert re.search(r"\nTheanine .*\nscored: theanine-paper +– +50\.00 ", ran.out)
    assert ran.out.count("theanine-session-5:") == 1
    assert "theanine-session-4" not in ran.out and "theanine-msc:" not in ran.out
    assert "1 answer without a reference" in ran.out
    kept = RunFolder(tmp_path / "out" / "cc_theanine")
    assert (kept.dataset(), kept.settings()["bench"]) == ("Conversation Chronicles", "score")
    assert run.bare(*command, "--metric", "rouge-l", "--replay").out.count("all identical") == 2


def test_lines_of_ones_own_are_scored(
    run: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the run's folder is made in it
    lines: list[Any] = [
        {"answer": "a boat", "reference": "a boat", "category": "session 5"},
        {"id": "x", "question": "What?", "answer": "a car", "reference": "a boat"},
    ]
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    ran = run.bare(
        "bench", "score", str(file), "--dataset", "MSC", "--metric", "f1:parlai", "--json"
    )
    assert ran.json["mine"]["metrics"]["f1:parlai"]["mean"] == 0.5
    shown = run.bare("bench", "score", str(file), "--dataset", "MSC", "--metric", "f1:parlai").out
    assert "rsum-session-5" in shown and "scored: mine" in shown
    file.write_text(json.dumps({"answr": "a boat"}), "utf-8")
    wrong = run.bare("bench", "score", str(file), fine=False)
    assert (wrong.code, "answr: Extra inputs" in wrong.err) == (2, True)


FOREIGN: dict[str, Any] = {
    "package.json": {"name": "x", "version": "1"},
    "notes.jsonl": [],
    "broken.json": "{",
    "list.json": [1, 2],
    "cc_comedy_transform.json": [{"unlike": "the others"}],
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_of_a_folder_is_skipped_and_counted(
    run: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (folder := tmp_path / "answers").mkdir()
    save(folder, name, FOREIGN[name])
    alone = run.bare("bench", "score", str(folder), fine=False)
    assert (alone.code, "no answers in any of 1 file" in alone.err) == (2, True)
    assert run.bare("bench", "score", str(folder / name), fine=False).code == 2
    save(folder, "mine.jsonl", '{"answer": "a boat", "reference": "a boat"}\n')
    ran = run.bare("bench", "score", str(folder), "--metric", "f1", "--json")
    assert list(ran.json) == ["mine"]
    assert "1 file without answers skipped:" in ran.err and name in ran.err
    (folder / "chart.png").write_bytes(b"\x89PNG\xff")
    save(folder, "mine.md", "# Notes")  # of the same name as the answers
    ran = run.bare("bench", "score", str(folder), "--metric", "f1", "--json")
    assert list(ran.json) == ["mine"]
    assert "3 files without answers skipped:" in ran.err
    assert all(file in ran.err for file in (name, "chart.png", "mine.md"))


@pytest.mark.data
@pytest.mark.slow
@needs_data("authors_outputs")
def test_the_authors_outputs_reproduce_their_rows(run: Terminal, tmp_path: Path) -> None:
    ran = run.bare(
        "bench", "score", str(DATA / "authors_outputs"), "--out", str(tmp_path / "out"),
        "--metric", "corpus-bleu-4", "--metric", "rouge-l",
    )  # fmt: skip
    row = r"\n(.+?)  +(\d\.\d\d)  (\d\d\.\d\d)  .*\nscored: [\w-]+ +(\S+) +(\S+)"
    rows = re.findall(row, ran.out)
    assert [row[0] for row in rows] == ["COMEDY", "Theanine"]
    for _, bleu, rouge, own_bleu, own_rouge in rows:  # published, then ours
        assert float(own_bleu) == pytest.approx(float(bleu), abs=0.15)
        assert float(own_rouge) == pytest.approx(float(rouge), abs=0.3)
