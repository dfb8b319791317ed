"""`theanine bench segmentation` on a small file."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from support.history_samples import save
from support.pages import page_data
from support.running import Terminal
from theanine_bench.runs import read_run

TURNS = ["I need a train to Split.", "At what time?", "At nine.", "Also book me a hotel.",
         "In which area?", "Near the harbour."]  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> str:
    record = {"utterances": TURNS, "segments": [3, 3], "set": "own"}
    return str(save(tmp_path, "d.json", [record] * 3))


def test_every_segmenter_is_measured(run: Terminal, data: str, tmp_path: Path) -> None:
    for name in ("local", "dips", "text-tiling", "every:3"):
        output = run.bare("bench", "segmentation", data, "--segmenter", name, "--json").json
        pk, wd = output["metrics"]["Pk"], output["metrics"]["WD"]
        assert 0 <= pk["mean"] <= wd["mean"] <= 1
        assert pk["n"] == 3
    assert output["corpus"] == {"F1:gaps": 1}
    assert output["corpus_intervals"]["F1:gaps"] == {"low": 1, "high": 1, "n": 3}
    few = run.bare("bench", "segmentation", data, "--limit", "2", "--json").json
    assert few["metrics"]["Pk"]["n"] == 2
    page = tmp_path / "topics.html"
    assert "turns per second" in run.bare("bench", "segmentation", data, "--html", str(page)).out
    shown = page_data(page.read_text("utf-8"))
    assert dict(shown["about"])["Segmenter"] == "local"
    assert [item["gold"] for item in shown["items"]] == [[3, 3]] * 3


def test_a_run_is_kept_resumed_compared_exported_and_scored_again(
    run: Terminal, data: str, tmp_path: Path
) -> None:
    good, bad, again = (str(tmp_path / name) for name in ("good", "bad", "again"))
    run.bare("bench", "segmentation", data, "--segmenter", "every:3", "--out", good)
    run.bare("bench", "segmentation", data, "--segmenter", "every:2", "--out", bad)
    first = anyio.run(read_run, Path(good))
    assert [result.output["segments"] for result in first.results.values()] == [[3, 3]] * 3
    run.bare("bench", "segmentation", data, "--segmenter", "every:3", "--out", good)
    assert anyio.run(read_run, Path(good)).seconds == first.seconds  # nothing ran again
    ran = run.bare("bench", "diff", good, bad, "--fail-below", "Pk=0.1", fine=False)
    assert (ran.code, "worse than allowed: bad: Pk" in ran.out) == (1, True)
    assert "| Pk | 0.000 |" in run.bare("bench", "export", good, "--format", "md").out
    run.bare("bench", "rescore", bad, "--metric", "WD", "--out", again)
    scored = anyio.run(read_run, Path(again)).results.values()
    wanted = anyio.run(read_run, Path(bad)).results.values()
    assert [s.scores for s in scored] == [{"WD": w.scores["WD"]} for w in wanted]


def test_an_unknown_segmenter_is_a_mistake(run: Terminal, data: str) -> None:
    ran = run.bare("bench", "segmentation", data, "--segmenter", "guess", fine=False)
    assert (ran.code, "no segmenter 'guess'" in ran.err) == (2, True)
