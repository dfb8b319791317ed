"""`theanine bench segmentation` on a small file of our own."""

from __future__ import annotations

from pathlib import Path

from support.history_samples import save
from support.pages import page_data
from support.running import Terminal


def test_measures_are_shown_for_each_segmenter(run: Terminal, tmp_path: Path) -> None:
    turns = ["I need a train to Split.", "At what time?", "At nine.", "Also book me a hotel.",
             "In which area?", "Near the harbour."]  # fmt: skip
    file = save(tmp_path, "d.json", [{"utterances": turns, "segments": [3, 3], "set": "own"}] * 3)
    for name in ("local", "dips", "text-tiling", "every:3"):
        found = run.bare("bench", "segmentation", str(file), "--segmenter", name, "--json").json
        assert 0 <= found["Pk"]["mean"] <= found["WD"]["mean"] <= 1
        assert found["Pk"]["n"] == 3
    assert found["F1"]["mean"] == found["score"]["mean"] == 1
    page = tmp_path / "topics.html"
    assert "turns a second" in run.bare("bench", "segmentation", str(file), "--html", str(page)).out
    told = page_data(page.read_text("utf-8"))
    assert dict(told["about"])["Segmenter"] == "local"
    assert [one[2] for one in told["items"]] == [[3, 3]] * 3


def test_an_unknown_segmenter_is_a_mistake(run: Terminal, tmp_path: Path) -> None:
    file = save(tmp_path, "d.json", [{"utterances": ["a", "b"], "segments": [1, 1], "set": "own"}])
    ran = run.bare("bench", "segmentation", str(file), "--segmenter", "guess", fine=False)
    assert (ran.code, "no segmenter 'guess'" in ran.err) == (2, True)
