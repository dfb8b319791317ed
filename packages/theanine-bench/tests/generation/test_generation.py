"""Generated data: prompts, forecasts, resuming, and files that the readers read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.answering import Answering
from support.history_samples import save
from support.prompting import ATTACK, check_fences, check_length, check_snapshot
from support.running import Terminal
from theanine.errors import BadInput
from theanine.llm.prompt_folder import PromptFolder
from theanine.testing import ScriptedServer
from theanine.testing.answers import answer, blocks_of
from theanine.testing.scripted import ScriptedModel
from theanine_bench.datasets.qa import read_qa
from theanine_bench.generation import conditional, secom
from theanine_bench.generation.conditional import (
    Background,
    conditional_drafts,
    find_background_fault,
    read_seeds,
)
from theanine_bench.generation.drafts import forecast
from theanine_bench.generation.secom import Pair, Pairs, find_fault, question_drafts

pytestmark = pytest.mark.anyio

STEPS = [
    secom.QUESTIONS,
    conditional.QUESTION,
    conditional.CONTINUATION,
    conditional.SIMILAR,
    conditional.ANSWER,
    conditional.SUGGESTION,
    conditional.IMPROVED,
    conditional.BACKGROUND,
]


def msc(folder: Path, statement: str = "I keep bees.", text: str = "The bees swarmed.") -> Path:
    """An episode of MSC of four sessions, as published."""
    dialog = [{"text": text, "id": "Speaker 1"}, {"text": "Really?", "id": "Speaker 2"}]
    episode = {
        "personas": [["I keep bees. I moved."], []],
        "init_personas": [[statement, "I live in Graz."], ["I fence."]],
        "dialog": dialog,
        "metadata": {"initial_data_id": "valid_1"},
        "previous_dialogs": [
            {"personas": [], "dialog": dialog, "time_back": f"{3 - n} days ago"} for n in range(3)
        ],
    }
    return save(folder, "session_4.jsonl", json.dumps(episode))


def talks(folder: Path, text: str = "Plot it in red.") -> Path:
    turns = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": "plot(red)\n  show()"},
    ]
    return save(folder, "talks.json", {"messages": turns})


def seeds(folder: Path, text: str = "Name three gulls.") -> Path:
    task = {"id": "seed_task_0", "instruction": text, "instances": [{"input": "", "output": "x"}]}
    return save(folder, "seed_tasks.jsonl", json.dumps(task))


def _scripted(prompt: str) -> object:
    reply = answer({"messages": [{"role": "user", "content": prompt}]})
    return json.loads(reply) if reply.startswith("{") else reply


async def _prompts(folder: Path, text: str) -> dict[str, str]:
    """The first prompt of each step, over data that holds a text."""
    episode = msc(folder, text, text)
    drafts: list[Any] = [
        *question_drafts(episode, 2, 1),
        *conditional_drafts("knowledge", episode),
        *conditional_drafts("continue", talks(folder, text)),
        *conditional_drafts("feedback", seeds(folder, text)),
    ]
    prompts: dict[str, str] = {}
    for draft in drafts:
        caller = Answering([_scripted] * 9)
        await draft.write(caller)
        assert len(draft.calls) == len(caller.asked)
        for call in caller.asked:
            prompts.setdefault(call.step.partition("@")[0], call.prompt)
    return prompts


async def test_prompts_match_their_snapshots_and_fence_quoted_text(tmp_path: Path) -> None:
    calm, attacked = [await _prompts(tmp_path, text) for text in ("I keep gulls.", ATTACK)]
    for step in STEPS:
        check_length(step)
        check_snapshot(step.name, calm[step.name])
        check_fences(calm[step.name], attacked[step.name])
    assert calm.keys() == {step.name for step in STEPS}


def test_the_prompts_of_a_folder_are_estimated(tmp_path: Path) -> None:
    drafts = conditional_drafts("continue", talks(tmp_path, "I keep gulls."))
    short, long = (
        forecast(drafts, ScriptedModel([]), PromptFolder({"generate-continuation.v1": text}))
        for text in ("Go on.", "word " * 3_000)
    )
    assert long.input_tokens - short.input_tokens > 3_000 * len(drafts)
    assert long.output_tokens == short.output_tokens


def _model(server: ScriptedServer) -> tuple[str, ...]:
    return "--model", "openai:scripted", "--base-url", server.base_url


@pytest.mark.slow
def test_questions_about_each_session_are_asked_by_bench_qa(run: Terminal, tmp_path: Path) -> None:
    out, data = tmp_path / "questions.jsonl", str(msc(tmp_path))
    command = ("bench", "generate", "questions", data, "--questions", "2", "--out", str(out))
    with ScriptedServer(answer) as server:
        shown = run.bare(*command, "--estimate", *_model(server)).out
        assert shown.startswith("4 sessions: 4 calls, about ")
        assert (server.calls, out.exists()) == ([], False)
        assert f"{out}: 8 questions" in run.bare(*command, *_model(server)).out
        first, calls = out.read_text("utf-8"), len(server.calls)
        run.bare(*command, *_model(server))
        assert (out.read_text("utf-8"), len(server.calls)) == (first, calls)  # all in the journal
    [group] = read_qa(Path(data), out)
    assert len(group.samples) == 8
    assert group.samples[0].reference == "The bees swarmed."


@pytest.mark.parametrize(
    ("kind", "calls", "wanted"),
    [
        ("knowledge", 2, ("What have I told you?", "I keep bees.")),
        ("continue", 1, ("Go on with the matter.", "- user: Plot it in red.")),
        ("feedback", 7, ("Otherwise: - Name three gulls.", "In short: - Otherwise: ")),
    ],
)
def test_samples_of_conditional_memory_are_read_as_published(
    run: Terminal, tmp_path: Path, kind: str, calls: int, wanted: tuple[str, str]
) -> None:
    data = {"knowledge": msc, "continue": talks, "feedback": seeds}[kind](tmp_path)
    out = tmp_path / kind
    with ScriptedServer(answer) as server:
        run.bare("bench", "generate", kind, str(data), "--out", str(out), *_model(server))
        assert len(server.calls) == calls
    [group] = read_qa(out)
    sample = group.samples[0]
    assert (sample.category, sample.dialogue[-1].text) == (kind, wanted[0])
    assert sample.reference.startswith(wanted[1])
    sessions = group.stages[0].histories[0].transcripts
    assert len(sessions) == (4 if kind == "knowledge" else 1)
    if kind == "feedback":
        assert [turn.text for turn in sessions[0].turns[-4:]] == [
            "Name three gulls.",
            "As you ask: - Name three gulls.",
            "Shorter, please.",
            "In short: - Name three gulls.",
        ]


def test_a_failure_is_named_and_the_rest_is_written(run: Terminal, tmp_path: Path) -> None:
    def reply(request: Any) -> str:
        prompt = request["messages"][0]["content"]
        return "no" if "beetles" in blocks_of(prompt).get("request", "") else answer(request)

    data = save(tmp_path, "seeds.txt", "Name three gulls.\nName three beetles.\n")
    out = tmp_path / "out"
    with ScriptedServer(reply) as server:
        ran = run.bare(
            "bench", "generate", "feedback", str(data), "--out", str(out), *_model(server),
            fine=False,
        )  # fmt: skip
    assert ran.code == 1
    assert "sample 2 is missing: " in ran.err
    assert len(read_qa(out)) == 1


def test_data_is_generated_by_a_model_alone(run: Terminal, tmp_path: Path) -> None:
    data = str(seeds(tmp_path))
    ran = run.bare("bench", "generate", "feedback", data, "--out", str(tmp_path / "o"), fine=False)
    assert (ran.code, "name one with --model" in ran.err) == (2, True)


def test_unusable_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no episode of 4 sessions"):
        conditional_drafts("knowledge", _short(tmp_path))
    with pytest.raises(BadInput, match="no session in it has turns of a user and an assistant"):
        conditional_drafts("continue", msc(tmp_path))
    assert read_seeds(save(tmp_path, "s.txt", "One.\n\nTwo.\n")) == ["One.", "Two."]


def _short(folder: Path) -> Path:
    episode = json.loads(msc(folder).read_text("utf-8"))
    episode["previous_dialogs"] = episode["previous_dialogs"][:1]
    return save(folder, "short.jsonl", json.dumps(episode))


def test_faults_are_worded_for_the_model() -> None:
    pair = Pair(question="Why?", answer="So.", evidence=[1])
    assert find_fault(Pairs(questions=[pair]), 1, 3) is None
    assert find_fault(Pairs(questions=[pair]), 2, 3) == "wanted are exactly 2 questions, not 1"
    beyond = pair.model_copy(update={"evidence": [4]})
    assert find_fault(Pairs(questions=[beyond]), 1, 3) == (
        "question 1: its evidence must name turns from 1 to 3"
    )
    empty = pair.model_copy(update={"answer": " "})
    assert find_fault(Pairs(questions=[empty]), 1, 3) == "question 1: a text is empty"
    assert find_background_fault(Background(exchanges=[])) == "wanted are 3 exchanges, not 0"
