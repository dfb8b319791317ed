"""Prompts, verdicts, scores and agreement of the judges."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from typer.testing import CliRunner

from support.answering import Answering
from support.prompting import ATTACK, check_fences, check_length, check_snapshot
from support.run_samples import JUDGED as ITEM
from support.run_samples import JUDGED_SOURCES
from theanine.cli.app import app
from theanine.clock import system_clock
from theanine.errors import BadInput, SettingsError, UnusableReply
from theanine.llm.chat import Chat, ScopedChat
from theanine.llm.limits import Limits
from theanine.llm.parsing import InvalidReply
from theanine.llm.prompt import PromptTemplate
from theanine.llm.prompt_folder import PromptFolder
from theanine.store import open_store
from theanine.testing import ScriptedServer
from theanine.testing.answers import answer, blocks_of
from theanine.testing.scripted import ScriptedModel
from theanine_bench.config import NO_METHOD, RunConfig
from theanine_bench.datasets.qa import read_qa
from theanine_bench.judges.judge import Judge, Unjudged
from theanine_bench.judges.operations import checks_for
from theanine_bench.judges.pairwise import CRITERIA
from theanine_bench.runs.folder import RunFolder
from theanine_bench.runs.runner import Runner
from theanine_bench.runs.summary import summarize_run
from theanine_bench.runs.task import JUDGE_SCOPE, RunModels, Task, run_settings
from theanine_bench.samples import SampleResult
from theanine_bench.tasks.judge import agreement_task, find_judge, judges

pytestmark = pytest.mark.anyio


FIVE = {"coherence": 3, "consistency": 2, "memorability": 0, "engagingness": 1, "humanness": 3}
VERDICTS: Mapping[str, tuple[dict[str, Any], dict[str, float]]] = {
    "gpt4score": ({"explanation": "x", "score": 71}, {"gpt4score": 71.0}),
    "gpt-score": ({"score": 1}, {"gpt-score": 1.0}),
    "right": ({"explanation": "x", "label": "right"}, {"right": 1.0}),
    "points": (
        {
            "points": [
                {"point": 1, "explanation": "x", "met": "fully"},
                {"point": 2, "explanation": "x", "met": "partly"},
            ]
        },
        {"points": 0.75},
    ),
    "teafarm": (
        {"reason": "x", "open": True, "verdict": "Correct"},
        {"teafarm": 0.0, "teafarm/paper": 1.0},
    ),
    "fluency": ({"explanation": "x", "score": 90}, {"fluency": 90.0}),
    "coherence": ({"explanation": "x", "score": 1}, {"coherence": 1.0}),
    "consistency": ({"explanation": "x", "score": 100}, {"consistency": 100.0}),
    "entailment": (
        {"explanation": "x", "label": "neutral"},
        {"entailment/entails": 0.0, "entailment/neutral": 1.0, "entailment/contradicts": 0.0},
    ),
    "halumem": (
        {"explanation": "x", "label": "omission"},
        {"halumem/correct": 0.0, "halumem/hallucination": 0.0, "halumem/omission": 1.0},
    ),
    "memops": ({"explanation": "x", "right": True, "checks": []}, {"memops": 1.0}),
    "needs-past": ({"explanation": "x", "label": "needs it"}, {"needs-past": 1.0}),
    "helpfulness": ({"explanation": "x", "label": "slightly agree"}, {"helpfulness": 1.0}),
    "perspectives": (
        {"explanation": "x", **FIVE},
        {f"perspectives/{name}": float(rating) for name, rating in FIVE.items()},
    ),
}
WITH_RUBRIC = replace(ITEM, extra={"rubric": ["says that it sank", "says when"]})
ORDERED = replace(
    ITEM,
    extra={"rubric": ["the launch", "the storm", "the sale"], "ordered": True},
    answer="First the storm, then the launch, a party, and the sale.",
)
UNANSWERABLE = replace(ITEM, extra={"answerable": False}, reference="")
FORMS = [
    *((judge, WITH_RUBRIC if name == "points" else ITEM) for name, judge in judges().items()),
    (judges()["right"], WITH_RUBRIC),
    (judges()["right"], ORDERED),
    (judges()["right"], UNANSWERABLE),
]


def prompt_of(judge: Judge, item: SampleResult) -> tuple[PromptTemplate[Any], str]:
    form = judge.prompt(item)
    return form.step, form.step.render(**form.values(item))


OWN = [(judge, item) for judge, item in FORMS if judge.name != "teafarm"]  # TeaFarm's has its own


@pytest.mark.parametrize(("judge", "item"), OWN)
def test_prompts_match_their_snapshots_and_fence_quoted_text(
    judge: Judge, item: SampleResult
) -> None:
    step, prompt = prompt_of(judge, item)
    if judge.name not in ("coherence", "consistency"):  # they share fluency's prompt
        check_snapshot(step.name, prompt)
    check_length(step)
    assert len(blocks_of(prompt)) == prompt.count("\n>>>")
    turn = {**item.dialogue[0], "text": ATTACK, "speaker": ATTACK}
    rubric = {"rubric": [ATTACK, *item.extra["rubric"][1:]]} if "rubric" in item.extra else {}
    attacked = replace(
        item,
        dialogue=[turn],
        answer=ATTACK,
        reference=ATTACK if item.reference else "",
        speaker=ATTACK,
        recalled=[
            {"text": ATTACK, "memories": [], "sources": [{**JUDGED_SOURCES[0], "text": ATTACK}]}
        ],
        extra={**item.extra, **rubric},
    )
    check_fences(prompt, prompt_of(judge, attacked)[1])


BETTER, OVERALL = CRITERIA["specificity"].step, CRITERIA["overall"].step
CHOICE, SCORE = CRITERIA["choice"].step, find_judge("gpt-score").prompt(ITEM).step


@pytest.mark.parametrize(
    ("step", "reply", "verdict"),
    [
        (BETTER, "- Explanation: 1 is vague\n- Better Response: [Response 2]\nSo 1 loses.", 2),
        (BETTER, "Better Response: 1.", 1),
        (BETTER, "Better Response: both 1 and 2", None),
        (BETTER, "Better Response: neither, if not Response 1", None),
        (OVERALL, "Response 1 is slightly better.", 1),
        (OVERALL, "[Response 2] is better, as Response 1 does not fit.", 2),
        (OVERALL, "Response 1 is less consistent than Response 2, so the second wins.", None),
        (OVERALL, "Response 1 is not better.", None),
        (OVERALL, "I don't think that Response 1 is better.", None),
        (OVERALL, "Response 1 is better. No, Response 2 is better.", None),
        (CHOICE, "C", 3),
        (CHOICE, "Answer: (B).", 2),
        (CHOICE, "A is best.", 1),
        (CHOICE, "A better answer is given in C.", None),
        (CHOICE, "A good answer lacks.", None),
        (CHOICE, "Option A is vague, so B.", None),
        (CHOICE, "B isn't right.", None),
        (CHOICE, "None of them.", None),
        (SCORE, "2", 2),
        (SCORE, "Score: 1.", 1),
        (SCORE, "Score: 1.5", None),
        (SCORE, "Score: 10", None),
        (SCORE, "Of the 2 facts only 1 is in the reply. Score: 1", None),
        (SCORE, "On a scale of 0 to 2: 2", None),
    ],
)
def test_published_verdicts_are_read_only_where_they_are_sure(
    step: PromptTemplate[Any], reply: str, verdict: int | None
) -> None:
    own = PromptFolder({f"{step.name}.v{step.version}": "Judge it."}).replace(step)
    if verdict is None:
        with pytest.raises(InvalidReply):
            own.parse(reply, {})
    else:
        assert verdict in own.parse(reply, {}).model_dump().values()


@pytest.mark.parametrize("name", judges())
async def test_verdict_is_stored_and_scored(name: str) -> None:
    words, values = VERDICTS[name]
    judge = find_judge(name)
    item = WITH_RUBRIC if name == "points" else ITEM
    scored = await judge.score(item, Answering([words]))
    assert scored.values == values
    assert {**words, "model": "scripted:test"}.items() <= scored.verdict.items()
    assert scored.verdict["prompt"] == judge.prompt(item).step.label
    assert set(judge.worst) == set(values)
    assert all(key == name or key.startswith(f"{name}/") for key in values)


async def test_unanswerable_question_is_judged_by_abstention() -> None:
    caller = Answering([{"explanation": "it says so", "label": "right"}])
    scored = await find_judge("right").score(UNANSWERABLE, caller)
    assert scored.values == {"right": 1.0}
    assert caller.asked[0].step == "judge-abstains@1"


async def test_rubric_needs_a_verdict_per_point_and_scores_their_mean() -> None:
    def met(*given: tuple[int, str]) -> dict[str, Any]:
        points = [{"point": n, "explanation": "", "met": how} for n, how in given]
        return {"points": points}

    caller = Answering(
        [met((1, "fully")), met((1, "fully"), (1, "no")), met((2, "partly"), (1, "no"))]
    )
    scored = await find_judge("right").score(WITH_RUBRIC, caller)
    assert scored.values == {"right": 0.25}
    assert caller.faults == [
        "it needs the points [1, 2], each once, not [1]",
        "it needs the points [1, 2], each once, not [1, 1]",
    ]


async def test_events_match_each_point_once_and_score_their_order() -> None:
    def spoken(*points: int | None, missing: tuple[int, ...] = ()) -> dict[str, Any]:
        events = [{"event": "an event", "point": point} for point in points]
        return {"events": events, "missing": list(missing)}

    right = find_judge("right")
    caller = Answering([spoken(2, 2, 3), spoken(2, 1, missing=(3, 4)), spoken(2, 1, None, 3)])
    scored = await right.score(ORDERED, caller)
    assert caller.faults == [
        "it needs the points [1, 2, 3], each once, not [2, 2, 3]",
        "it needs the points [1, 2, 3], each once, not [1, 2, 3, 4]",
    ]
    assert scored.values == {"right": pytest.approx(2 / 3)}
    assert scored.verdict["events"][2] == {"event": "an event", "point": None}
    silent = await right.score(ORDERED, Answering([spoken(missing=(1, 2, 3))]))
    assert silent.values == {"right": 0.0}


async def test_memops_has_the_checks_of_the_operation() -> None:
    def checked(**checks: bool) -> dict[str, Any]:
        listed = [{"check": name, "holds": holds} for name, holds in checks.items()]
        return {"explanation": "x", "right": False, "checks": listed}

    item = replace(ITEM, extra={"operation": "Forget", "judge_rubric": "strict"})
    caller = Answering([checked(), checked(leakage=True, over_forget=False)])
    scored = await find_judge("memops").score(item, caller)
    assert caller.faults == ["it needs the checks ['leakage', 'over_forget'], each once"]
    assert scored.values == {"memops": 0.0, "memops/leakage": 1.0, "memops/over_forget": 0.0}
    assert "leakage: it says what the user asked to forget" in caller.asked[0].prompt
    ordered = replace(ITEM, extra={"operation": "Update", "trajectory": True})
    assert checks_for(ordered)[:2] == ("stale_value", "trajectory_order")


async def test_points_need_a_rubric() -> None:
    with pytest.raises(Unjudged, match="no rubric for c/1"):
        await find_judge("points").score(ITEM, Answering([]))


@pytest.mark.parametrize("name", ["gpt4score", "gpt-score", "right", "teafarm"])
async def test_missing_reference_is_a_failure_without_a_score(name: str) -> None:
    caller = Answering([])
    with pytest.raises(Unjudged, match="no reference for c/1"):
        await find_judge(name).score(replace(ITEM, reference=""), caller)
    assert caller.asked == []


def test_evidence_replaces_a_missing_reference() -> None:
    turns = [{"speaker": "Ana", "text": "The storm took it."}]
    _, prompt = prompt_of(
        judges()["gpt4score"], replace(ITEM, reference="", extra={"evidence": turns})
    )
    assert "<<<evidence\n- Ana: The storm took it.\n>>>\n<<<reference\n(nothing)\n>>>" in prompt


def test_labeled_turns_are_the_evidence(tmp_path: Path) -> None:
    turns = [
        {"speaker": "Ana", "dia_id": f"D1:{n}", "text": text}
        for n, text in enumerate(["The storm took it.", "Let's eat.", "It was yellow."], 1)
    ]
    talk = {"speaker_a": "Ana", "speaker_b": "Bo", "session_1": turns}
    talk["session_1_date_time"] = "1:56 pm on 8 May, 2023"
    entry = {"question": "Which boat?", "evidence": ["D1:3", "D1:1"], "category": 1}
    record = {"sample_id": "c", "conversation": talk, "qa": [entry]}
    file = tmp_path / "locomo.json"
    file.write_text(json.dumps([record]), "utf-8")
    (group,) = read_qa(file)
    (case,) = group.samples
    _, prompt = prompt_of(judges()["gpt4score"], replace(ITEM, reference="", extra=case.extra))
    assert "<<<evidence\n- Ana: The storm took it.\n- Ana: It was yellow.\n>>>" in prompt


def test_past_is_the_samples_own_whatever_was_recalled() -> None:
    evidence = [{"speaker": "Ana", "text": "I sold it."}]
    persona = {"Ana": ["I sail."], "Bo": ["I don't."]}
    pasts: list[tuple[dict[str, Any], str]] = [
        (
            {"past": ["They met in May."], "persona": persona, "evidence": evidence},
            "- They met in May.\n- Ana: I sail.\n- Bo: I don't.",
        ),
        ({"persona": {}, "evidence": evidence}, "- Ana: I sold it."),
        ({"past": []}, "(nothing)"),
    ]
    for extra, expected in pasts:
        for item in (ITEM, replace(ITEM, recalled=[])):
            _, prompt = prompt_of(judges()["entailment"], replace(item, extra=extra))
            assert f"<<<past\n{expected}\n>>>" in prompt
    with pytest.raises(Unjudged, match="the past of c/1 is not in its result: run the bench again"):
        prompt_of(judges()["entailment"], replace(ITEM, extra={}))


@pytest.mark.parametrize(("name", "wrong"), [
    ("gpt4score", {"explanation": "", "score": 101}),
    ("gpt-score", {"score": 3}),
    ("right", {"explanation": "", "label": "half right"}),
    ("fluency", {"explanation": "", "score": 0}),
    ("perspectives", {**VERDICTS["perspectives"][0], "humanness": 4}),
])  # fmt: skip
async def test_verdict_off_the_scale_is_rejected(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        await find_judge(name).score(ITEM, Answering([wrong]))


def test_reasons_come_before_verdicts() -> None:
    for judge, item in FORMS:
        result: type[BaseModel] = judge.prompt(item).step.result
        if judge.name not in ("gpt-score", "right", "points"):
            assert next(iter(result.model_fields)) in ("explanation", "reason")


async def test_judge_needs_a_model_and_a_known_name() -> None:
    with pytest.raises(SettingsError, match="gpt4score is judged by a model"):
        await find_judge("gpt4score").score(ITEM, None)
    with pytest.raises(
        SettingsError, match="unknown judge 'gpt5score'; there are: gpt4score, gpt-"
    ):
        find_judge("gpt5score")


async def judging(folder: Path, model: ScriptedModel, judge: Judge, item: SampleResult) -> Any:
    store = open_store(str(folder / "judge.db"))
    await store.open()
    try:
        await store.start_session(JUDGE_SCOPE, system_clock(), key=JUDGE_SCOPE.user)
        chat = Chat(model, store, system_clock, Limits(retries=0, repairs=1))
        caller: ScopedChat = chat.for_scope(JUDGE_SCOPE)
        return await judge.score(item, caller)
    finally:
        await store.close()


@pytest.mark.parametrize(("judge", "item"), FORMS)
async def test_scripted_model_answers_every_judge(
    tmp_path: Path, judge: Judge, item: SampleResult
) -> None:
    model = ScriptedModel(lambda p: answer({"messages": [{"role": "user", "content": p}]}))
    scored = await judging(tmp_path, model, judge, item)
    assert set(scored.values) == set(judge.worst)
    again = ScriptedModel([])
    assert await judging(tmp_path, again, judge, item) == scored
    assert again.prompts == []


async def test_verdict_without_json_is_repaired_once_then_fails(tmp_path: Path) -> None:
    model = ScriptedModel("Looks fine to me.")
    with pytest.raises(UnusableReply, match="judge-right@1: 2 replies"):
        await judging(tmp_path, model, find_judge("right"), ITEM)


def labelled(folder: Path, *records: dict[str, Any]) -> Path:
    file = folder / "labelled.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return file


def right(answer: str, label: object) -> dict[str, Any]:
    return {"question": "Which boat?", "reference": "yellow", "answer": answer, "label": label}


async def test_agreement_of_a_judge_with_people(tmp_path: Path) -> None:
    file = labelled(
        tmp_path,
        right("The yellow one.", "right"),
        right("yellow", True),
        right("The blue one.", "right"),
        right("The red one.", "Wrong"),
        right("None, ever.", 0),
    )
    plan = agreement_task(file, "right")
    model = ScriptedModel(
        lambda p: "?" if "None, ever" in p else answer(p_request(p)), name="scripted"
    )
    items = await run_plan(plan, tmp_path, model)
    summary = summarize_run(items, total=5, corpus_metrics=plan.corpus_metrics)
    assert summary["corpus"] == {
        "right/agreement": 0.75,
        "right/kappa": pytest.approx(0.5),
        "right: right → right": 2.0,
        "right: right → wrong": 1.0,
        "right: wrong → wrong": 1.0,
    }
    assert summary["metrics"]["right/agrees"]["failed"] == 1
    assert next(iter(summary["failures"])).startswith("right: UnusableReply")


async def test_long_scales_are_compared_in_bands_and_perspectives_by_part(tmp_path: Path) -> None:
    rated = {"question": "Which?", "reference": "yellow", "answer": "yellow"}
    plan = agreement_task(labelled(tmp_path, {**rated, "label": 85}), "gpt4score")
    items = await run_plan(plan, tmp_path, ScriptedModel('{"explanation": "", "score": 99}'))
    assert items[0].verdicts["gpt4score"]["label"] == {"gpt4score": "80–100"}
    assert items[0].scores == {"gpt4score/agrees": 1.0}
    parts = {"coherence": 3, "humanness": 0}
    plan = agreement_task(labelled(tmp_path, {**rated, "label": parts}), "perspectives")
    reply = json.dumps({"explanation": "", **FIVE})
    items = await run_plan(plan, tmp_path / "five", ScriptedModel(reply))
    assert items[0].scores == {"perspectives/agrees": 0.0}
    assert plan.corpus_metrics[0].score(items) == {
        "coherence/agreement": 1.0,
        "coherence: 3 → 3": 1.0,
        "humanness/agreement": 0.0,
        "humanness/kappa": 0.0,
        "humanness: 0 → 3": 1.0,
    }


async def test_results_of_runs_can_be_labeled(tmp_path: Path) -> None:
    plan = agreement_task(labelled(tmp_path, {**ITEM.record(), "label": "entails"}), "entailment")
    (item,) = plan.answered.values()
    assert (item.id, item.recalled) == ("1/c/1", ITEM.recalled)


async def test_agreement_of_a_criterion_with_people(tmp_path: Path) -> None:
    pair = {
        "dialogue": [{"speaker": "Ana", "text": "And the boat?"}],
        "answers": ["It sank.", "Which boat?"],
        "past": ["Ana's boat sank."],
    }
    file = labelled(tmp_path, {**pair, "label": "a"}, {**pair, "label": "tie"})
    plan = agreement_task(file, "memorability")
    chosen = ['{"explanation": "", "better": 1}', '{"explanation": "", "better": 2}'] * 2
    items = await run_plan(plan, tmp_path, ScriptedModel(chosen))
    assert [item.scores["memorability/agrees"] for item in items] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("name", "record", "fault"),
    [
        ("right", {"question": "?", "answer": "!"}, 'with a "label"'),
        ("right", right("x", "maybe"), "'maybe' is no label of right: right, wrong"),
        ("gpt-score", right("x", 3), "3 is no number from 0 to 2"),
        ("right", {**right("x", 1), "wit": 3}, "wit: Extra inputs"),
        ("right", {"question": "?", "label": 1}, "nothing to judge without an answer"),
        ("gsb", right("x", "A"), 'gsb needs "answers", two of them'),
        ("right", {"question": "?", "answers": ["x", "y"], "label": 1}, 'right needs one "answer"'),
        ("perspectives", right("x", 3), "label each perspective"),
        ("right", right("x", {"coherence": 1}), "no labels of several parts"),
    ],
)
def test_invalid_labels_are_reported_with_their_line(
    tmp_path: Path, name: str, record: dict[str, Any], fault: str
) -> None:
    with pytest.raises(BadInput, match=f"labelled.jsonl, line 1[:,] .*{re.escape(fault)}"):
        agreement_task(labelled(tmp_path, record), name)


def test_command_prints_agreement_and_confusion_matrix(tmp_path: Path) -> None:
    file = labelled(
        tmp_path, right("yellow", 1), right("blue", 0), right("blue", 1), right("yellow", 1)
    )
    with ScriptedServer() as server:
        done = CliRunner().invoke(
            app,
            ["bench", "judge", str(file), "--as", "right", "--judge", "openai:test",
             "--judge-base-url", server.base_url, "--out", str(tmp_path / "run")],
            env={"OPENAI_API_KEY": "none", "COLUMNS": "200"},
        )  # fmt: skip
    assert done.exit_code == 0, done.output
    rows = [
        " ".join(re.sub(r"[^\w.↓→, :]", " ", line).split()) for line in done.output.splitlines()
    ]
    assert "right 0.750 0.500 4 0" in rows
    assert "right 2 1" in rows
    assert "wrong 0 1" in rows


def test_judge_without_usable_replies_has_a_row(tmp_path: Path) -> None:
    file = labelled(tmp_path, right("yellow", 1))
    with ScriptedServer("Fine.") as server:
        done = CliRunner().invoke(
            app,
            ["bench", "judge", str(file), "--as", "right", "--judge", "openai:test",
             "--judge-base-url", server.base_url, "--out", str(tmp_path / "run")],
            env={"OPENAI_API_KEY": "none", "COLUMNS": "200"},
        )  # fmt: skip
    assert done.exit_code == 1
    assert re.search(r"^right\W+–\W+–\W+0\W+1\W*$", done.output, re.MULTILINE)


def p_request(prompt: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": prompt}]}


async def run_plan(plan: Task, folder: Path, model: ScriptedModel) -> list[SampleResult]:
    setup, models = (
        RunConfig(method=NO_METHOD, judge="scripted"),
        RunModels(agent=None, judge=model),
    )
    run_folder = RunFolder(folder / f"run-{plan.data[:8]}")
    run_folder.begin(run_settings(plan, setup, models))
    limits = Limits(retries=0, repairs=0)
    going = Runner(
        task=plan,
        config=setup,
        models=models,
        folder=run_folder,
        limits=limits,
        concurrency=1,
    )
    return await going.run()
