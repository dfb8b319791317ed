"""`theanine bench segmentation --segmenter llm`: scores, fallbacks, replay and guidance."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.history_samples import save
from support.running import Ran, Terminal
from theanine.testing import ScriptedServer, by_step

TURNS = ["I need a train to Split.", "At what time?", "At nine.", "Also book me a hotel.",
         "In which area?", "Near the harbour."]  # fmt: skip
GOLD = [[3, 3], [2, 4], [1, 5]]
"""The scripted model draws 3 and 3."""


@pytest.fixture(autouse=True)
def runs_are_kept_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def data(tmp_path: Path) -> str:
    rows = [{"utterances": TURNS, "segments": gold, "set": "own"} for gold in GOLD]
    rows[0]["utterances"] = [*TURNS[:5], "By the sea."]  # one prompt each
    rows[1]["utterances"] = [*TURNS[:5], "By the park."]
    return str(save(tmp_path, "d.json", rows))


def bench(run: Terminal, data: str, server: ScriptedServer, *more: str, fine: bool = True) -> Ran:
    model = ("--segmenter", "llm", "--model", "openai:scripted", "--base-url", server.base_url)
    return run.bare("bench", "segmentation", data, *model, *more, fine=fine)


@pytest.mark.slow
def test_the_model_is_measured_and_a_repeated_run_is_replayed(
    run: Terminal, data: str, tmp_path: Path
) -> None:
    with ScriptedServer() as server:
        journal = ("--journal", str(tmp_path / "j.db"), "--json")
        output = bench(run, data, server, *journal).json
        assert (output["facts"]["fallbacks"], len(server.calls)) == (0, 3)
        assert output["spent"]["answering"]["calls"] == 3
        assert output["metrics"]["Pk"]["n"] == 3
        assert 0 < output["metrics"]["WD"]["mean"] < 1
        again = bench(run, data, server, *journal).json
        assert (again["facts"]["replayed"], len(server.calls)) == (3, 3)
        assert again["corpus"] == output["corpus"]
        kept = ("--out", str(tmp_path / "run"))
        bench(run, data, server, *kept)
        calls = len(server.calls)
        bench(run, data, server, *kept)
        assert len(server.calls) == calls == 6


@pytest.mark.slow
def test_unusable_replies_are_fallbacks_and_are_counted(run: Terminal, data: str) -> None:
    broken = '{"segments": [{"first": 1, "last": 2}]}'
    with ScriptedServer(by_step({"segment": broken})) as server:
        shown = bench(run, data, server).out
        assert "3 fallbacks to the local segmenter" in shown
        assert "turn 3 is in no segment" in server.calls[-1].body["messages"][-1]["content"]


@pytest.mark.slow
def test_guidance_is_learned_from_errors_and_used(run: Terminal, data: str, tmp_path: Path) -> None:
    learned = tmp_path / "guidance.json"
    with ScriptedServer() as server:
        shown = bench(run, data, server, "--reflect", str(learned)).out
        assert "2 rules in" in shown
        learned_guidance = json.loads(learned.read_text("utf-8"))
        assert [len(example["turns"]) for example in learned_guidance["examples"]] == [6, 6]
        assert {tuple(example["right"]) for example in learned_guidance["examples"]} == {
            (2, 4),
            (1, 5),
        }
        used = bench(run, data, server, "--guidance", str(learned)).out
        assert "0 fallbacks" in used
        prompt = server.calls[-1].body["messages"][0]["content"]
        assert prompt.startswith("Task: segment-guided")
        assert learned_guidance["rules"][1] in prompt


def test_unwritable_file_is_reported_before_the_model_is_called(
    run: Terminal, data: str, tmp_path: Path
) -> None:
    with ScriptedServer() as server:
        reflect = ("--reflect", str(tmp_path / "no" / "g.json"))
        ran = bench(run, data, server, *reflect, fine=False)
        assert (ran.code, "can't be written" in ran.err, server.calls) == (2, True, [])


def test_no_errors_give_no_guidance(run: Terminal, tmp_path: Path) -> None:
    data = save(tmp_path, "d.json", [{"utterances": TURNS, "segments": [3, 3], "set": "own"}])
    with ScriptedServer() as server:
        shown = bench(run, str(data), server, "--reflect", str(tmp_path / "g.json")).out
    assert "no error to learn from" in shown
    assert not (tmp_path / "g.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--segmenter", "llm"], "needs a language model"),
        (["--reflect", "g.json"], "go with --segmenter llm"),
        (["--segmenter", "llm", "--reflect", "a", "--guidance", "b"], "leave --guidance out"),
    ],
)
def test_invalid_options_are_reported(
    run: Terminal, data: str, options: list[str], message: str
) -> None:
    ran = run.bare("bench", "segmentation", data, *options, fine=False)
    assert (ran.code, message in ran.err) == (2, True)
