"""`--prompts`: runs with the prompts of a folder, such as those of a paper."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.history_samples import save
from support.published_sets import write_sets
from support.real_data import needs_papers
from support.running import Terminal
from support.tree import ROOT
from theanine.errors import SettingsError
from theanine.testing import ScriptedServer, answer
from theanine.testing.script import prompt_of
from theanine_bench.cli.prompts import read_prompts
from theanine_bench.runs.folder import RunFolder

MADE_UP = {
    "respond.recursive-summary.v1": "Speak up. Known: $remembered. Now: $dialogue",
    "rewrite-summary.v1": "Sum up: $summary and $turns",
    "judge-quality.fluency.v1": "Is it fluent? $reply [[score]]",
    "compare-replies.specificity.v1": "Which is more specific? $response_1 or $response_2",
}


def replies(request: Mapping[str, Any]) -> str:
    """Answer prompts that are not ours by the form that they ask for."""
    prompt = prompt_of(request)
    if prompt.startswith("Task: "):
        return answer(request)
    return next((reply for mark, reply in REPLIES.items() if mark in prompt), "Name three terns.")


REPLIES = {
    "Sum up": "I keep bees. They swarmed.",
    "Speak up": "Nine hives!",
    "[[score]]": "It reads well. [[87]]",
    "more specific?": "- Explanation: hives\n- Better Response: [Response 1]",
    # of the papers' own prompts
    "<Decision>": "<Respond>: You keep bees.\n<Decision>: yes",
    "<Note>": "<Context>: NaN\n<Summary>: The user keeps bees.\n<Note>: Bees.",
    "<Query>": "<Memory>: The user keeps bees.",
    "[sep]": "What do I keep? [sep] You keep bees.",
    "<start_chat>": "<start_chat> <Human 1>: Hi <Assistant 1>: Hello <Human 2>: A fine day "
    "<Assistant 2>: It is <Human 3>: Windy <Assistant 3>: A bit <Human 4>: Name gulls <end_chat>",
    "<user>": "<user> Plot it in blue. <assistant> plot(blue)",
    "Better Response": "- Explanation: so\n- Better Response: [Response 2]",
    "four options": "Response 1 is slightly better.",
    "(A,B": "A",
    '"0"': "2",
    "(predicted_relation)": "- Explanation: bees\n- Relation: SameTopic",
    "(relation)": "The user keeps bees and sells the honey.",
    "[Rationale]": "[Rationale]:\nBees.\n[Response]:\nYou keep bees.",
    "'APPEND'": "'APPEND'\nExplanation: new",
    "[Question 1]": "Do you keep cows?\nSpeaker 2: No, bees.\nSpeaker 2: Is there a mill?\n"
    "Speaker 1: Yes.",
    "Result:": "Evaluation: it agrees\nResult: Correct",
    "Updated Memory": "The user keeps bees.",
}


@pytest.fixture
def sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with all data sets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    write_sets(tmp_path)
    return tmp_path


def write(folder: Path, prompts: Mapping[str, str]) -> Path:
    for name, text in prompts.items():
        save(folder, f"{name}.md", text)
    return folder


@pytest.mark.slow
def test_a_run_is_asked_and_judged_by_the_prompts_of_a_folder(run: Terminal, sets: Path) -> None:
    folder = write(sets / "prompts", MADE_UP)
    out = sets / "run"
    with ScriptedServer(replies) as server:
        command = [
            *("bench", "responses", "msc", "--sessions", "3", "--method", "recursive-summary"),
            *("--set", "paper=true", "--metric", "fluency", "--model", "openai:m", "--base-url"),
            *(server.base_url, "--judge", "openai:j", "--judge-base-url", server.base_url),
            *("--prompts", str(folder), "--out", str(out)),
        ]
        run.bare(*command)
        asked = [prompt_of(request) for request in server.requests]
        assert not any(prompt.startswith("Task: ") for prompt in asked)
        assert any("Known: " in prompt and "They swarmed" in prompt for prompt in asked)
        results = RunFolder(out).results().values()
        assert {result.answer for result in results} == {"Nine hives!"}
        assert {result.scores["fluency"] for result in results} == {87.0}
        assert set(RunFolder(out).settings()["config"]["prompts"]) == set(MADE_UP)
        before = len(asked)
        run.bare(*command)
        assert len(server.requests) == before
        assert "identical" in run.bare(*command, "--replay").out
        judge = ["--judge", "openai:j", "--judge-base-url", server.base_url]
        (folder / "rewrite-summary.v1.md").write_text("Sum up well: $turns", "utf-8")
        other = run.bare(*command, fine=False)
        assert (other.code, "other settings (rewrite-summary.v1" in other.err) == (2, True)
        for name, asks in (("rewrite-summary.v1", False), ("judge-quality.fluency.v1", True)):
            (folder / f"{name}.md").write_text(MADE_UP[name] + " again" * asks, "utf-8")
            before, again = len(server.requests), sets / name
            rescore = ["bench", "rescore", str(out), *judge, "--prompts", str(folder)]
            run.bare(*rescore, "--out", str(again))
            assert (len(server.requests) - before) == asks * len(RunFolder(again).results())
        judged = sets / "judged"
        pair = ["bench", "pairwise", str(out), "--golden", "--criteria", "specificity"]
        run.bare(*pair, *judge, "--prompts", str(folder), "--out", str(judged))
        assert "Which is more specific?" in prompt_of(server.requests[-1])


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("respnd.v1", "no step respnd.v1 (did you mean 'respond.v1'?)"),
        ("respond.fulll-history.v1", "is named fulll-history (did you mean 'full-history'?)"),
        ("compare-replies.specifity.v1", "is named specifity (did you mean 'specificity'?)"),
    ],
)
def test_a_prompt_of_no_step_or_asker_is_refused(tmp_path: Path, name: str, fault: str) -> None:
    write(tmp_path, {"respond.gold-memory.v1": "Speak.", name: "Speak up."})
    with pytest.raises(SettingsError, match=re.escape(fault)):
        read_prompts(tmp_path)


def test_the_askers_of_steps_are_known(tmp_path: Path) -> None:
    assert read_prompts(write(tmp_path, MADE_UP))


def test_tables_are_reproduced_with_the_prompts_of_their_paper(
    run: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["bench", "reproduce", "--commands", "--prompts", "published"]
    for folder in ("published", "other"):
        write(Path(folder) / "llm-rsum", MADE_UP)
    out = run.bare(*command, "rsum-judged").out
    assert out.count("--prompts published/llm-rsum") == 4
    other = run.bare(*command[:-1], "other", "rsum-judged").out
    assert other.replace("other", "published") == out
    (tmp_path / "published" / "llm-rsum" / "rewrite-summary.v1.md").write_text("Sum", "utf-8")
    assert run_folders(run.bare(*command, "rsum-judged").out).isdisjoint(run_folders(out))
    ours = run.bare(*command, "secom-cost").out
    assert "--prompts" not in ours
    assert "because the paper's prompts are figures: the prompts are ours" in ours


def run_folders(commands: str) -> set[str]:
    return set(re.findall(r"--out (\S+)", commands))


@pytest.mark.parametrize("text", [None, "Something else."])
def test_a_text_that_is_not_the_papers_is_named(tmp_path: Path, text: str | None) -> None:
    if text:
        save(tmp_path, "theanine-v1-with-prompts.txt", text)
    tool = [sys.executable, str(ROOT / "tools" / "published_prompts.py"), str(tmp_path / "out")]
    environment = {**os.environ, "THEANINE_PAPERS": str(tmp_path)}
    ran = subprocess.run(tool, capture_output=True, text=True, check=False, env=environment)
    assert (ran.returncode, "Traceback" in ran.stderr) == (2, False)
    fault = "0 lines are like it, not one" if text else "theanine-v1-with-prompts.txt"
    assert fault in ran.stderr


@pytest.mark.parametrize("words", [[], ["--help"], ["a", "b"]])
def test_the_tool_writes_to_one_folder_that_is_named(tmp_path: Path, words: list[str]) -> None:
    tool = [sys.executable, str(ROOT / "tools" / "published_prompts.py"), *words]
    environment = {**os.environ, "THEANINE_PAPERS": str(tmp_path)}
    ran = subprocess.run(
        tool, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert (ran.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "published_prompts.py OUT" in ran.stderr


@pytest.mark.slow
@pytest.mark.data
@needs_papers
@pytest.mark.parametrize(
    ("table", "marks"),
    [
        (
            "theanine-g-eval-msc",
            ["(predicted_relation)", "(relation)", "[Rationale]", "'APPEND'", "Better Response"],
        ),
        ("teafarm-first", ["(predicted_relation)", "[Rationale]", "Result:"]),
        ("conditional-knowledge", ["<Decision>", "<Note>", "[Dialogue history]", '"0"']),
        ("conditional-reflection-feedback", ["<Decision>", "<Note>", "<Query>", "(A,B"]),
        ("rsum-judged", ["Updated Memory", "Previous Memory", "Dialog Context", "[[score]]"]),
    ],
)
def test_the_published_prompts_can_be_run(
    run: Terminal, sets: Path, table: str, marks: Sequence[str]
) -> None:
    published = sets / "published"
    tool = [sys.executable, str(ROOT / "tools" / "published_prompts.py"), str(published)]
    subprocess.run(tool, check=True, capture_output=True)
    for folder in published.iterdir():
        assert read_prompts(folder)
    with ScriptedServer(replies) as server:
        run.bare(
            *("bench", "reproduce", table, "--prompts", str(published), "--model", "openai:m"),
            *("--base-url", server.base_url, "--judge", "openai:j", "--embedder", "hash:64"),
            *("--judge-base-url", server.base_url, "--limit", "2"),
        )
        asked = [prompt_of(request) for request in server.requests]
    published_ones = [prompt for prompt in asked if not prompt.startswith("Task: ")]
    assert {mark for mark in marks if any(mark in prompt for prompt in published_ones)} == {*marks}
    assert "$" not in "".join(asked)


@pytest.mark.slow
@pytest.mark.data
@needs_papers
def test_data_are_generated_by_published_prompts(run: Terminal, sets: Path) -> None:
    published = sets / "published"
    tool = [sys.executable, str(ROOT / "tools" / "published_prompts.py"), str(published)]
    subprocess.run(tool, check=True, capture_output=True)
    prompts = ["--prompts", str(published / "conditional-memory")]
    with ScriptedServer(replies) as server:
        model = ["--model", "openai:m", "--base-url", server.base_url]
        for kind, data in (
            ("knowledge", "msc/session_4/test.jsonl"),
            ("continue", "code-dialogues.json"),
            ("feedback", "seed_tasks.jsonl"),
        ):
            run.bare("bench", "generate", kind, data, "--out", kind, "--yes", *model, *prompts)
            assert list((sets / kind).iterdir())
        make = ["teafarm", "make", "msc/session_5/test.jsonl", "--out", "q.txt", *model]
        run.bare(*make, "--prompts", str(published / "theanine"), fine=False)  # no session follows
        asked = list(map(prompt_of, server.requests))
        assert any("[Question 1]" in prompt for prompt in asked)
