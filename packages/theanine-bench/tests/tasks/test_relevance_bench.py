"""The relevance bench: questions that a memory can answer, and questions that it can't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from support.dataset_samples import locomo_questions
from support.history_samples import save
from support.running import Terminal
from theanine.methods.theanine.config import TheanineConfig
from theanine_bench.runs import read_run
from theanine_bench.samples import Sample
from theanine_bench.tasks.relevance import (
    OTHERS,
    UNMENTIONED,
    relevance_task,
    result_table,
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two pairs of people; the second has a question that can't be answered."""
    [first] = locomo_questions([["D2:1"], ["D2:2"]])
    [second] = locomo_questions([["D1:1"], ["D1:2"], ["D1:2"]])
    talk: dict[str, Any] = second["conversation"]
    turns = [
        ("Cleo", "My daughter collects lizards."),
        ("Dan", "I moved to the coast."),
        ("Cleo", "We fixed the umbrella."),
    ]
    for place, (speaker, text) in zip(
        [*talk["session_1"], talk["session_2"][0]], turns, strict=True
    ):
        place |= {"speaker": speaker, "text": text}
    talk["session_2"].pop()
    talk |= {"speaker_a": "Cleo", "speaker_b": "Dan"}
    second["sample_id"] = "other"
    second["qa"][0]["question"] = "What does Cleo's daughter collect?"
    second["qa"][1]["question"] = "Where did Dan move?"
    second["qa"][2] |= {"question": "Why did Cleo move?", "category": 5}
    return save(tmp_path, "pairs.json", [first, second])


def questions(data: Path, kind: str) -> dict[str, list[str]]:
    def is_kind(sample: Sample) -> bool:
        return sample.extra["kind"] == kind

    groups = relevance_task({"pairs": data}).groups
    return {
        group.id: [one.dialogue[-1].text for one in group.samples if is_kind(one)]
        for group in groups
    }


def test_anothers_questions_have_the_names_of_this_memory(data: Path) -> None:
    assert questions(data, OTHERS) == {
        "pairs/pair": ["What does Ana's daughter collect?", "Where did Bo move?"],
        "pairs/other": ["What is Cleo allergic to?", "Why did Dan sell the violin?"],
    }
    assert questions(data, "adversarial") == {
        "pairs/pair": [],
        "pairs/other": ["Why did Cleo move?"],
    }


def test_only_what_no_turn_mentions_counts_as_never_mentioned(data: Path) -> None:
    asked = questions(data, UNMENTIONED)
    first, second = asked["pairs/pair"], asked["pairs/other"]
    assert len(first) >= 60
    assert "What color is Bo's kayak?" in first and "What color is Dan's kayak?" in second
    assert any("umbrella" in text for text in first)
    assert not any("umbrella" in text for text in second)
    assert not any("parrot" in text for text in first)
    assert any("parrot" in text for text in second)
    assert not any("{" in text for text in first)


def test_joined_histories_keep_their_evidence_apart(data: Path) -> None:
    [group] = relevance_task({"pairs": data}, joined=True).groups
    logged = {
        turn.key: turn.text
        for stage in group.stages
        for history in stage.histories
        for transcript in history.transcripts
        for turn in transcript.turns
    }
    own = [one for one in group.samples if one.extra["kind"] == "own"]
    evidence = {one.dialogue[-1].text: logged[one.extra["gold"][0][1]] for one in own}
    assert evidence["What does Cleo's daughter collect?"] == "My daughter collects lizards."
    assert len(own) == 4
    assert not any(one.extra["kind"] == OTHERS for one in group.samples)
    asked = [one.dialogue[-1].text for one in group.samples if one.extra["kind"] == UNMENTIONED]
    assert not any("umbrella" in text or "parrot" in text for text in asked)


@pytest.mark.slow
def test_the_command_shows_floors_and_calibration(
    run: Terminal, data: Path, tmp_path: Path
) -> None:
    shown = run.bare("bench", "relevance", str(data), "--out", str(tmp_path / "run")).out
    for text in ("pairs, never mentioned", "pairs, by floor", "calibration error: "):
        assert text in shown
    found = anyio.run(read_run, tmp_path / "run")
    parts = found.results["pairs/pair/1"].output["parts"]
    assert max(len(turns) for _, turns in parts) == 1
    assert all(0 <= relevance <= 1 for relevance, _ in parts)
    table = result_table(found)
    rows = {row[0]: row for row in table.rows}
    assert table.columns[3] == f"empty at {TheanineConfig().min_relevance:.2g} (its own)"
    assert rows["pairs, own"][1:3] == ["4", ""]
    assert 0 <= float(rows["pairs, another's"][2]) <= 1
    assert "floor/calibration error" in found.summary["corpus"]
    assert (
        "| pairs, own | 4 |"
        in run.bare("bench", "export", str(tmp_path / "run"), "--format", "md").out
    )


@pytest.mark.slow
def test_the_methods_own_floor_is_measured(run: Terminal, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run.bare("bench", "relevance", str(data), "--set", "min_relevance=1", "--out", str(folder))
    found = anyio.run(read_run, folder)
    table = result_table(found)
    assert table.columns[3] == "empty at 1 (its own)"
    assert {row[3].split()[0] for row in table.rows} == {"1.000"}
    [own] = [row for row in table.rows if row[0] == "pairs, own"]
    assert float(own[4].split()[0]) > 0
    assert found.results["pairs/pair/1"].output["parts"]


def test_a_method_without_relevance_is_told(run: Terminal, data: Path) -> None:
    ran = run.bare("bench", "relevance", str(data), "--method", "exchange", fine=False)
    assert (ran.code, "the method exchange doesn't estimate relevance" in ran.err) == (2, True)
