"""Pairwise comparison of runs: orders, ties, flips and dropped samples."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from support.answering import Answering
from support.prompting import ATTACK, check_fences, check_length, check_snapshot
from support.run_samples import sample_settings
from theanine.cli.app import app
from theanine.errors import BadInput, ModelRejected, SettingsError, UnusableReply
from theanine.llm.limits import Limits
from theanine.testing import ScriptedServer
from theanine.testing.answers import answer, blocks_of
from theanine.testing.scripted import ScriptedModel
from theanine_bench.config import NO_METHOD, RunConfig
from theanine_bench.judges.judge import Unjudged
from theanine_bench.judges.pairwise import CRITERIA, PairwiseMetric, find_criterion, orders
from theanine_bench.judges.rendering import past_lines
from theanine_bench.runs.folder import RunFolder
from theanine_bench.runs.replay import replay
from theanine_bench.runs.runner import Runner
from theanine_bench.runs.summary import summarize_run
from theanine_bench.runs.task import RunModels, Task, run_settings
from theanine_bench.samples import SampleResult
from theanine_bench.tasks.pairwise import Entry, pairwise_task, rate_of, read_entries, standing

pytestmark = pytest.mark.anyio
IMPATIENT = Limits(retries=0, repairs=0)


def turn_record(text: str, day: int = 1, **more: Any) -> dict[str, Any]:
    return {"speaker": "Ana", "at": f"2024-03-0{day}T10:00:00+00:00", "text": text, **more}


def item(id: str, words: str | None, recalled: str = "", turn: int = 1) -> SampleResult:
    source = turn_record(f"I bought boat {turn}.", turn, turn=turn, session=1)
    parts = [{"text": recalled, "memories": [1], "sources": [source]}] if recalled else []
    return SampleResult(
        id=id,
        group="g",
        category="boats",
        question="And the boat?",
        dialogue=[turn_record("And the boat?", role="user")],
        speaker="Bo",
        reference="The boat sank in March.",
        answer=words,
        extra={"past": [f"({day} March 2024) Ana: I bought boat {day}." for day in (1, 2)]},
        recalled=parts,
        failures={} if words is not None else {"answer": "ModelRejected: no"},
    )


def plan(
    *runs: Sequence[SampleResult],
    criteria: Sequence[str] = ("specificity",),
    limit: int | None = None,
) -> Task:
    entries = [
        Entry(name=name, items={item.id: item for item in items})
        for name, items in zip("xyzw", runs, strict=False)
    ]
    return pairwise_task(entries, criteria, limit)


ONE = item("c", "It sank in March.", "The boat sank.", turn=1)
TWO = item("c", "I don't know.", "A boat was bought.", turn=2)
READY = next(iter(plan([ONE], [TWO]).answered.values()))


def compared(name: str, runs: int = 2) -> PairwiseMetric:
    return PairwiseMetric(criterion=find_criterion(name, runs), runs=runs)


def better(*chosen: int) -> Answering:
    return Answering([{"explanation": "x", "better": choice} for choice in chosen])


@pytest.mark.parametrize("name", CRITERIA)
def test_prompts_match_their_snapshots_and_fence_quoted_text(name: str) -> None:
    criterion = CRITERIA[name]
    prompt = criterion.step.render(**criterion.values(READY, READY.extra["candidates"]))
    if name not in ("consistency", "overall", "choice"):
        check_snapshot(criterion.step.name, prompt)
    check_length(criterion.step)
    assert len(blocks_of(prompt)) == prompt.count("\n>>>")
    bad = [{"run": "x", "answer": ATTACK, "made_by": "m", "recalled": [ATTACK]}] * 2
    turn = turn_record(ATTACK, role="user") | {"speaker": ATTACK}
    extra = {"past": [ATTACK], "candidates": bad}
    attacked = replace(READY, dialogue=[turn], speaker=ATTACK, reference=ATTACK, extra=extra)
    check_fences(prompt, criterion.step.render(**criterion.values(attacked, bad)))


@pytest.mark.parametrize(
    ("chosen", "outcome", "flipped"),
    [((1, 2), "A", 0.0), ((2, 1), "B", 0.0), ((1, 1), "tie", 1.0), ((2, 2), "tie", 1.0)],
)
async def test_verdict_counts_only_in_both_orders(
    chosen: tuple[int, int], outcome: str, flipped: float
) -> None:
    caller = better(*chosen)
    scored = await compared("memorability").score(READY, caller)
    shares = {f"memorability/{name}": float(name == outcome) for name in ("A", "B", "tie")}
    assert scored.values == {**shares, "memorability/flip": flipped}
    assert scored.verdict["outcome"] == outcome
    assert [reply["order"] for reply in scored.verdict["asked"]] == [["A", "B"], ["B", "A"]]
    first, second = (call.prompt for call in caller.asked)
    assert "<<<responses\n1: Bo: It sank in March.\n2: Bo: I don't know.\n>>>" in first
    assert "<<<responses\n1: Bo: I don't know.\n2: Bo: It sank in March.\n>>>" in second
    assert "- (1 March 2024) Ana: I bought boat 1.\n- (2 March 2024) Ana: I bought boat 2." in first


@pytest.mark.parametrize(
    ("one", "two", "outcome"),
    [
        (None, "It sank.", "B"),
        ("It sank.", None, "A"),
        (None, None, "tie"),
        ("It  sank.", "It sank.\n", "tie"),
    ],
)
async def test_trivial_outcomes_need_no_judge(
    one: str | None, two: str | None, outcome: str
) -> None:
    ready = plan([item("c", one)], [item("c", two)]).answered["c"]
    caller = better()
    scored = await compared("specificity").score(ready, caller)
    assert scored.verdict["outcome"] == outcome
    assert scored.values["specificity/flip"] == 0.0
    assert caller.asked == []


async def test_helpfulness_compares_recollections_not_answers() -> None:
    same = replace(TWO, answer=ONE.answer)
    ready = plan([ONE], [same]).answered["c"]
    caller = better(1, 2)
    assert (await compared("helpfulness").score(ready, caller)).verdict["outcome"] == "A"
    assert "<<<recollection 1\n- The boat sank.\n>>>" in caller.asked[0].prompt
    assert "It sank in March" not in caller.asked[0].prompt


async def test_choice_of_three_is_asked_in_a_shuffled_and_reversed_order() -> None:
    third = item("c", "It sank.", "Nothing.", turn=3)
    ready = plan([ONE], [TWO], [third], criteria=["choice"]).answered["c"]

    def pick(words: str) -> Callable[[str], dict[str, int]]:
        def find(prompt: str) -> dict[str, int]:
            lines = prompt.rsplit("<<<answers\n", 1)[1].splitlines()
            return {"best": int(next(line for line in lines if words in line)[0])}

        return find

    scored = await compared("choice", 3).score(ready, Answering([pick("sank."), pick("sank.")]))
    assert scored.verdict["outcome"] == "C"
    orders_asked = [reply["order"] for reply in scored.verdict["asked"]]
    assert orders_asked[0] == orders_asked[1][::-1]
    assert sorted(orders_asked[0]) == ["A", "B", "C"]
    caller = Answering([{"best": 4}, {"best": 1}, {"best": 1}])
    assert (await compared("choice", 3).score(ready, caller)).verdict["outcome"] == "tie"
    assert caller.faults == ["there are 3"]


async def test_equal_answers_are_shown_once_and_win_together() -> None:
    answers = ["It sank.", "No idea.", "It  sank.", None]
    ready = plan(*([item("c", words)] for words in answers), criteria=["choice"]).answered["c"]

    def pick(prompt: str) -> dict[str, int]:
        lines = prompt.rsplit("<<<answers\n", 1)[1].splitlines()
        assert len([line for line in lines if line[0].isdigit()]) == 2
        return {"best": int(next(line for line in lines if "It sank" in line)[0])}

    scored = await compared("choice", 4).score(ready, Answering([pick, pick]))
    assert (scored.verdict["outcome"], scored.verdict["alike"]) == ("AC", ["AC"])
    shares = {f"choice/{name}": float(name in "AC") for name in ("A", "B", "C", "D", "tie")}
    assert scored.values == {**shares, "choice/flip": 0.0}
    alone = plan(
        *([item("c", words)] for words in ("Yes.", "Yes.", None)), criteria=["choice"]
    ).answered["c"]
    assert (await compared("choice", 3).score(alone, better())).verdict["outcome"] == "AB"
    same = plan(*([item("c", "Yes.")] for _ in range(3)), criteria=["choice"]).answered["c"]
    assert (await compared("choice", 3).score(same, better())).verdict["outcome"] == "tie"
    standings = standing([replace(READY, verdicts={"choice": scored.verdict})], "choice", runs=3)
    assert standings["flips"] == 0.0


@settings(deadline=None)
@given(st.text(max_size=5), st.lists(st.integers(0, 7), min_size=2, unique=True))
def test_orders_are_deterministic_and_reversed(id: str, places: list[int]) -> None:
    order, other = orders(id, places)
    assert list(order) == list(other)[::-1]
    assert sorted(order) == sorted(places)
    assert orders(id, places) == (order, other)


async def test_missing_reference_is_a_failure() -> None:
    bare = plan([replace(ONE, reference="")], [replace(TWO, reference="")]).answered["c"]
    for name in ("gsb", "answer"):
        with pytest.raises(Unjudged):
            await compared(name).score(bare, better(1, 1))
    with pytest.raises(UnusableReply):
        await compared("specificity").score(READY, better(1))


def test_past_is_the_samples_own() -> None:
    extra = {"persona": {"Ana": ["I sail."]}, "gold": [["", "1"]]}
    ready = plan([replace(ONE, extra=extra)], [replace(TWO, extra=extra)]).answered["c"]
    assert set(ready.extra) == {"persona", "candidates"}
    assert past_lines(ready) == ["Ana: I sail."]


def test_runs_are_joined_by_sample() -> None:
    other = replace(item("d", "Yes."), question="Which boat?")
    mine = [ONE, item("d", "No."), item("e", "Mine alone.")]
    made = plan(mine, [TWO, other])
    assert list(made.answered) == ["c"]
    assert made.groups[0].dropped == {
        "samples that some runs lack": 1,
        "samples that differ between the runs": 1,
    }
    with pytest.raises(SettingsError, match="no sample in common: x, y"):
        plan([ONE], [item("d", "Yes.")])
    many = [item(str(n), "Yes.") for n in range(10)]
    assert len(plan(many, many, limit=3).answered) == 3


def test_invalid_settings_are_reported(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="unknown criterion 'wit'; there are: specificity"):
        plan([ONE], [TWO], criteria=["wit"])
    with pytest.raises(SettingsError, match="gsb compares two runs, not 3; choice takes more"):
        plan([ONE], [TWO], [TWO], criteria=["gsb"])
    with pytest.raises(SettingsError, match="two runs or more"):
        read_entries([tmp_path])
    with pytest.raises(BadInput, match="not a run's folder"):
        read_entries([tmp_path, tmp_path])
    folders = [Path(written(tmp_path / name, [ONE], bench="pairwise")) for name in ("a", "b")]
    with pytest.raises(SettingsError, match="a holds a run of pairwise; what qa, responses"):
        read_entries(folders)


def test_rates_count_ties_half_and_p_values_ignore_them() -> None:
    outcomes = ["A"] * 9 + ["B"] + ["tie"] * 10
    replies = [{"order": ["A", "B"], "chosen": "A"}, {"order": ["B", "A"], "chosen": "B"}]
    verdicts = [
        {"outcome": outcome, "asked": replies if outcome == "tie" else []} for outcome in outcomes
    ]
    rate = rate_of(verdicts)
    assert rate.rate.mean == 0.7
    assert rate.p == pytest.approx(22 / 1024)
    items = [replace(READY, id=str(n), verdicts={"s": v}) for n, v in enumerate(verdicts)]
    standings = standing(items, "s")
    assert (standings["flips"], standings["first"], standings["rate"]) == (1.0, 1.0, 0.7)
    assert standing(items, "other") == {}
    three = standing(items, "s", runs=3)
    assert "rate" not in three
    assert three["p A"] < 0.001 < three["p C"] < 0.05 < three["p B"] < 0.2


def model(prompt: str) -> str:
    return answer({"messages": [{"role": "user", "content": prompt}]})


async def test_a_run_is_resumed_counts_failures_and_replays(tmp_path: Path) -> None:
    ours = [item(str(n), f"It sank on day {n}.", "The boat sank.") for n in range(4)]
    theirs = [item(str(n), "It may be.", "A boat.") for n in range(4)]
    made = plan(ours, theirs, criteria=["specificity", "gsb"])
    setup, folder = RunConfig(method=NO_METHOD, judge="scripted"), RunFolder(tmp_path / "run")
    left = [5]

    def dying(prompt: str) -> Any:
        left[0] -= 1
        return model(prompt) if left[0] >= 0 else ModelRejected("no more")

    async def run(write: Any) -> tuple[dict[str, Any], ScriptedModel]:
        judge = ScriptedModel(write)
        models = RunModels(agent=None, judge=judge)
        folder.begin(run_settings(made, setup, models))
        going = Runner(
            task=made,
            config=setup,
            models=models,
            folder=folder,
            limits=IMPATIENT,
            concurrency=1,
        )
        items = await going.run()
        return summarize_run(items, total=4, corpus_metrics=made.corpus_metrics), judge

    summary, _ = await run(dying)
    lacking = {name: mean["failed"] for name, mean in summary["metrics"].items()}
    assert lacking["specificity/A"] + lacking["gsb/A"] == sum(summary["failures"].values())
    assert lacking["gsb/A"] > 0
    summary, judge = await run(model)
    assert summary["failures"] == {}
    assert summary["metrics"]["gsb/A"]["mean"] == 1.0
    assert summary["corpus"]["gsb/p"] == pytest.approx(2 / 16)
    assert len(judge.prompts) == 4 * 2 * 2 - 5
    again = await replay(made, setup, folder)
    assert again.different == []
    assert [result.scores["gsb/A"] for result in again.results] == [1.0] * 4


def written(folder: Path, items: Sequence[SampleResult], bench: str = "qa") -> str:
    run = RunFolder(folder)
    run.begin(sample_settings(bench=bench, samples=len(items)))
    for item in items:
        run.append(item)
    return str(folder)


@pytest.mark.slow
def test_command_prints_the_winner_and_replays(tmp_path: Path) -> None:
    ours = written(tmp_path / "ours", [item(str(n), "It sank in March.") for n in range(6)])
    theirs = written(tmp_path / "theirs", [item(str(n), "Hello there.") for n in range(7)])
    with ScriptedServer() as server:
        judge = ["--judge", "openai:test", "--judge-base-url", server.base_url]
        out = ["--out", str(tmp_path / "out"), "--criteria", "gsb,memorability"]
        line = ["bench", "pairwise", ours, theirs, *judge, *out]
        env = {"OPENAI_API_KEY": "none", "COLUMNS": "200"}
        done = CliRunner().invoke(app, line, env=env)
        assert done.exit_code == 0, done.output
        assert "A: ours\nB: theirs" in done.output
        row = next(row for row in done.output.splitlines() if "gsb" in row)
        assert "100.0% [100.0%, 100.0%]" in row
        assert "0.0312" in row
        assert "recalled" not in done.output
        assert "dropped: 1 sample that some runs lack" in done.output
        calls = len(server.calls)
        replayed = CliRunner().invoke(app, [*line, "--replay"], env=env)
        assert "6 results, all identical" in replayed.output
        assert len(server.calls) == calls
    settings = json.loads((tmp_path / "out" / "settings.json").read_text("utf-8"))
    assert settings["config"]["settings"] == {"A": "ours", "B": "theirs"}


def test_command_needs_a_judge(tmp_path: Path) -> None:
    folders = [written(tmp_path / name, [ONE]) for name in ("one", "two")]
    done = CliRunner().invoke(app, ["bench", "pairwise", *folders])
    assert isinstance(done.exception, SettingsError)
    assert "specificity needs a judging model: name one with --judge" in str(done.exception)
