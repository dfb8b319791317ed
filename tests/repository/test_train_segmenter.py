"""The training script and the segmenter that it makes, on a tiny random model."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from typing import Any

import pytest

import theanine
from support.running import Terminal
from support.tiny_models import library, token_classifier
from theanine.errors import MissingExtra, SettingsError
from theanine_methods.segmentation.trained import (
    boundary_inputs,
    check_segmenter,
    segment_by_classifier,
)

SCRIPT = Path(__file__).parents[2] / "tools" / "train_segmenter.py"
TOPICS = ("storm sea boat", "quiet evening day")


def test_the_classifier_reads_two_turns_on_either_side() -> None:
    assert boundary_inputs(["a", "b", "c", "d"]) == [
        ("a", "b\nc"),
        ("a\nb", "c\nd"),
        ("b\nc", "d"),
    ]
    assert boundary_inputs(["x" * 999, "y" * 999]) == [("x" * 600, "y" * 600)]
    assert boundary_inputs(["a"]) == []


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises((MissingExtra, SettingsError), match="segmenter"):
        check_segmenter(str(tmp_path / "none"))


def _dialogue(random: Random) -> dict[str, Any]:
    """Some turns of one topic and then some of the other."""
    lengths = [random.randint(2, 6) for _ in TOPICS]
    words = [
        random.sample(topic.split(), 2)
        for topic, length in zip(TOPICS, lengths, strict=True)
        for _ in range(length)
    ]
    return {"utterances": [" ".join(each) for each in words], "segments": lengths}


@pytest.mark.slow
@pytest.mark.model
def test_a_tiny_model_learns_where_topics_change(run: Terminal, tmp_path: Path) -> None:
    library("torch")
    base = token_classifier(tmp_path / "base")
    random = Random(1)
    data, folder = tmp_path / "train.json", tmp_path / "segmenter"
    data.write_text(json.dumps([_dialogue(random) for _ in range(24)]), "utf-8")
    spec = spec_from_file_location("train_segmenter", SCRIPT)
    assert spec and spec.loader
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    script.main(
        [str(data), "--base", str(base), "--out", str(folder), "--epochs", "8", "--rate", "0.002"]
    )
    texts = ["storm sea", "boat sea", "storm boat", "quiet day", "evening day"]
    assert segment_by_classifier(texts, str(folder)) == [(0, 2), (3, 4)]
    assert segment_by_classifier(texts, str(folder), [True, *[False] * 4]) == [(0, 4)]
    assert segment_by_classifier([], str(folder)) == []
    ran = run.bare("bench", "segmentation", str(data), "--segmenter", f"trained:{folder}", "--json")
    assert ran.json["metrics"]["WD"]["mean"] < 0.1
    config = {"segmenter": f"trained:{folder}"}
    with theanine.open(str(tmp_path / "m.db"), method="secom", config=config) as client:
        with client.user("ana").session() as session:
            for text in texts:
                session.hear(text)
        assert len(client.user("ana").memories()) == 2
    with pytest.raises(SettingsError, match="holds no trained segmenter"):
        segment_by_classifier(texts, str(tmp_path))
