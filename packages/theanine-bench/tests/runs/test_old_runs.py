"""A run's folder that version 0.1 wrote is read, compared, reported, exported and resumed."""

from __future__ import annotations

import shutil
from pathlib import Path

import anyio
import pytest

from support.running import Terminal
from theanine_bench.analysis.diff import diff_runs
from theanine_bench.runs import RunFolder, read_run, read_runs

OLD = Path(__file__).parents[1] / "fixtures" / "run-0.1"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLD, tmp_path / "old"))


@pytest.mark.slow
def test_it_is_read(old: Path) -> None:
    run = anyio.run(read_run, old)
    assert (run.bench, run.finished, run.settings["samples"]) == ("responses", True, 4)
    assert run.settings["metrics"] == ["f1", "rouge-l", "gpt4score"]
    assert run.settings["config"]["judge"] == "openai:judge"
    assert run.settings["config"]["method"] == "exchange"  # it was called turn
    result = run.results["wedding-news/2"]
    assert result.question.startswith("My sister Lucija")
    assert result.scores["gpt4score"] == 0
    assert run.summary["metrics"]["f1"]["n"] == run.summary["samples"] == 4
    assert set(run.seconds) == set(run.results)


def test_it_is_compared(old: Path, tmp_path: Path) -> None:
    other = shutil.copytree(old, tmp_path / "other")
    diff = diff_runs(anyio.run(read_runs, [old, Path(other)]))
    assert len(diff.samples) == 4
    assert set(diff.means) == {"f1", "rouge-l", "gpt4score"}


def test_its_settings_are_those_of_a_run_of_today(old: Path) -> None:
    folder = RunFolder(old)
    folder.begin(folder.settings())  # raises if they differ


@pytest.mark.slow
def test_the_commands_take_it(run: Terminal, old: Path) -> None:
    assert run.bare("bench", "report", str(old)).out.strip() == str(old / "report.html")
    assert "Lucija" in (old / "report.html").read_text("utf-8")
    assert "| f1 | 0.095 |" in run.bare("bench", "export", str(old), "--format", "md").out
    again = str(old.parent / "again")
    run.bare("bench", "rescore", str(old), "--metric", "exact", "--out", again)
    assert anyio.run(read_run, Path(again)).summary["metrics"]["exact"]["n"] == 4
