"""Gold memory, golden responses and drawn examples: the papers' comparisons that need no method."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.history_samples import cc, save
from support.running import Terminal
from theanine.errors import BadInput, SettingsError
from theanine.testing import ScriptedServer
from theanine.testing.script import prompt_of
from theanine_bench.runs.folder import RunFolder
from theanine_bench.tasks.examples import draw_examples
from theanine_bench.tasks.pairwise import GOLDEN, pairwise_task, read_entries
from theanine_bench.tasks.responses import responses_task
from theanine_methods.recursive_summary.few_shot import read_examples


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """An episode of MSC whose first session has personas."""
    before = {
        "dialog": [{"text": "I keep bees."}, {"text": "I keep cats."}],
        "personas": [["I keep bees."], ["I keep cats."]],
        "time_back": "6 days ago",
    }
    now = [{"id": f"Speaker {n}", "text": text} for n, text in ((1, "Hi."), (2, "Any honey?"))]
    episode = {"dialog": now, "metadata": {"initial_data_id": "e1"}, "previous_dialogs": [before]}
    return save(tmp_path, "test.jsonl", episode)


def responses(run: Terminal, data: Path, folder: Path, *options: str) -> RunFolder:
    """A run of one response, at most."""
    run.bare(
        "bench", "responses", str(data), "--sessions", "2", "--metric", "f1",
        "--out", str(folder), *options,
    )  # fmt: skip
    return RunFolder(folder)


def test_gold_memory_replies_from_personas(run: Terminal, data: Path, tmp_path: Path) -> None:
    with ScriptedServer(lambda _: "Sure.") as server:
        model = ["--model", "openai:m", "--base-url", server.base_url]
        found = responses(run, data, tmp_path / "run", "--method", "gold-memory", *model)
    (request,) = server.requests
    assert "- Speaker 1: I keep bees.\n- Speaker 2: I keep cats." in prompt_of(request)
    (result,) = found.results().values()
    assert (result.answer, result.speaker) == ("Sure.", "Speaker 2")
    assert [part["text"] for part in result.recalled][1] == "Speaker 2: I keep cats."
    with pytest.raises(BadInput, match="it has no personas for gold-memory"):
        responses_task(save(tmp_path, "cc.json", [cc()]), range(2, 3), gold_memory=True)


def test_examples_are_drawn_from_what_a_run_recalled(
    run: Terminal, data: Path, tmp_path: Path
) -> None:
    found = responses(run, data, tmp_path / "run", "--method", "gold-memory")
    file = tmp_path / "examples.md"
    run.bare("bench", "examples", str(found.path), "--count", "1", "--out", str(file))
    assert read_examples(file, 1) == (
        "Remembered:\n- Speaker 1: I keep bees.\n- Speaker 2: I keep cats.\n"
        "Conversation:\nSpeaker 1: Hi.\nYou say: Any honey?",
    )
    with pytest.raises(BadInput, match="1 samples for which something was recalled, not 2"):
        draw_examples(found, 2)


def test_references_are_compared_as_another_run(run: Terminal, data: Path, tmp_path: Path) -> None:
    found = responses(run, data, tmp_path / "run", "--method", "no-memory")
    ours, golden = read_entries([found.path], golden=True)
    assert (golden.name, [one.answer for one in golden.items.values()]) == (GOLDEN, ["Any honey?"])
    with ScriptedServer() as server:
        judge = ["--judge", "openai:j", "--judge-base-url", server.base_url]
        out = ["--criteria", "specificity", "--out", str(tmp_path / "pairs")]
        ran = run.bare("bench", "pairwise", str(found.path), "--golden", *judge, *out)
    assert "B: golden responses" in ran.out
    assert len(server.requests) == 2
    with pytest.raises(SettingsError, match="golden responses recall nothing"):
        pairwise_task([ours, golden], ["helpfulness"])
    with pytest.raises(SettingsError, match="or one with --golden"):
        read_entries([found.path])
