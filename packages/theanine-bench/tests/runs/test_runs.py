"""A run is resumed where it was interrupted, counts what fails, and is replayed to the byte."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import theanine
from support.run_samples import sample_item
from theanine.errors import BadInput, ModelRejected, ModelUnavailable, SettingsError
from theanine.llm.base import RawReply
from theanine.llm.chat import ScopedChat
from theanine.llm.limits import Limits
from theanine.llm.prompt import PromptTemplate
from theanine.testing.answers import answer
from theanine.testing.scripted import ScriptedModel, task_of
from theanine.types import LOCAL_MODEL, History, Transcript, Utterance
from theanine_bench.cli.execution import show_summary
from theanine_bench.config import RunConfig
from theanine_bench.runs.cost_limit import CostLimit
from theanine_bench.runs.folder import ITEMS, SUMMARY, RunFolder
from theanine_bench.runs.lock import lock_folder
from theanine_bench.runs.replay import replay
from theanine_bench.runs.runner import Progress, RunLimits, Runner, default_folder, run_task
from theanine_bench.runs.summary import summarize_run
from theanine_bench.runs.task import RunModels, Task, open_models, run_settings
from theanine_bench.samples import (
    ANSWER,
    Group,
    Sample,
    SampleResult,
    Score,
    Stage,
    count_samples,
    limit_samples,
    merge_groups,
)
from theanine_bench.statistics.intervals import wilson_interval

pytestmark = pytest.mark.anyio
AT = datetime(2024, 3, 1, tzinfo=UTC)
IMPATIENT = Limits(retries=0, repairs=0)


class Verdict(BaseModel):
    right: bool


JUDGE = PromptTemplate("toy-judge", 1, "Task: toy-judge\n<<<answer\n$answer\n>>>", Verdict)


@dataclass(frozen=True)
class Length:
    name: str = "length"
    needs_judge: bool = False
    worst: Mapping[str, float] = field(default_factory=lambda: {"length": 0.0})

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        return Score(values={"length": float(len(result.answer or ""))})


@dataclass(frozen=True)
class Right:
    name: str = "right"
    needs_judge: bool = True
    binary: bool = True
    worst: Mapping[str, float] = field(default_factory=lambda: {"right": 0.0})

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        assert judge
        said = await judge.ask(JUDGE, answer=result.answer or "")
        return Score(values={"right": float(said.right)}, verdict=said.model_dump())


def history(name: str, *days: int) -> History:
    said = [
        Utterance(text=f"On day {day} I bought boat number {day}.", speaker="Ana", at=_on(day))
        for day in days
    ]
    talks = [Transcript(key=f"{one.at:%d}", turns=[one], at=one.at) for one in said]
    return History(name=name, transcripts=talks)


def _on(day: int) -> datetime:
    return AT + timedelta(days=day)


def case(id: str, words: str, day: int) -> Sample:
    asked = Utterance(text=words, speaker="Ana", at=_on(day))
    return Sample(id=id, dialogue=(asked,), category="boats", reference="a boat")


def plan(*names: str) -> Task:
    groups = [
        Group(
            id=name,
            stages=(
                Stage(
                    histories=(history(name, 1),), samples=(case(f"{name}/1", "Which boat?", 2),)
                ),
                Stage(
                    histories=(history(name, 3, 4),),
                    samples=tuple(case(f"{name}/{n}", f"What of boat {n}?", 9) for n in (2, 3)),
                ),
            ),
        )
        for name in names
    ]
    return Task(bench="toy", data="0", groups=groups, metrics=[Length(), Right()])


def talk(prompt: str) -> str:
    if task_of(prompt) == "toy-judge":
        return json.dumps({"right": "boat" in prompt})
    return answer({"messages": [{"role": "user", "content": prompt}]})


def models(write: Any = talk) -> RunModels:
    return RunModels(agent=ScriptedModel(write), judge=ScriptedModel(write, "judge"))


def test_runs_of_as_many_but_other_cases_have_folders_of_their_own() -> None:
    def place(*names: str) -> Path:
        told = run_settings(plan(*names), RunConfig(), models())
        return default_folder("toy", "theanine", told).path

    assert len({place("a", "b"), place("a", "c"), place("b", "a")}) == 3
    assert place("a", "b") == place("a", "b")


def test_runs_of_earlier_releases_are_found_and_other_models_have_folders_of_their_own() -> None:
    def settings(config: RunConfig) -> dict[str, Any]:
        return run_settings(plan("a"), config, open_models(config))

    url = "http://127.0.0.1:9/v1"
    before = RunConfig(model="large", base_url=url)
    assert "memory_model" not in settings(before)["config"]
    assert "memory" not in settings(before)["models"]
    several = [
        before,
        replace(before, model_settings={"temperature": 0.7}),
        replace(before, memory_model="small"),
        replace(before, memory_model=LOCAL_MODEL),
        replace(before, memory_settings={"temperature": 0.7}),
    ]
    assert len({default_folder("toy", "theanine", settings(one)).path for one in several}) == 5
    small = settings(several[2])["models"]["memory"]
    assert (small["name"], small["settings"]["temperature"]) == ("openai:small", 0.0)


async def test_another_model_remembers(tmp_path: Path) -> None:
    memory = ScriptedModel(talk, "small")
    with_ = replace(models(), memory=memory)
    asked = plan("a")
    runner = running(tmp_path / "r", with_, asked)
    items = await runner.run()
    assert all(item.complete for item in items)
    assert {task_of(prompt) for prompt in memory.prompts} == {"summarize", "relate"}
    assert isinstance(with_.agent, ScriptedModel)
    assert {task_of(prompt) for prompt in with_.agent.prompts} == {"respond"}
    assert (await replay(asked, SETUP, runner.folder)).different == []


SETUP = RunConfig(model="scripted", judge="judge", embedder="wordllama")


def running(folder: Path, with_: RunModels, asked: Task, **more: Any) -> Runner:
    setup, place = SETUP, RunFolder(folder)
    place.begin(run_settings(asked, setup, with_))
    options: dict[str, Any] = {"limits": IMPATIENT, **more}
    return Runner(task=asked, config=setup, models=with_, folder=place, **options)


def prompts(of: RunModels) -> int:
    return sum(len(one.prompts) for one in (of.agent, of.judge) if isinstance(one, ScriptedModel))


@pytest.mark.slow
async def test_every_case_is_answered_measured_and_judged_once(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def tell(told: Progress) -> None:
        seen.append((told.done, told.total))

    asked = plan("a", "b")
    items = await running(tmp_path / "r", models(), asked, progress=tell).run()
    assert [item.id for item in items] == ["a/1", "a/2", "a/3", "b/1", "b/2", "b/3"]
    assert all(item.complete and item.scores["right"] == 1 for item in items)
    assert seen[-1] == (6, 6)
    again = models()
    assert await running(tmp_path / "r", again, asked).run() == items
    assert prompts(again) == 0


async def test_a_stage_knows_nothing_of_later_sessions(tmp_path: Path) -> None:
    items = await running(tmp_path / "r", models(), plan("a")).run()
    assert "number 3" not in json.dumps(items[0].recalled)
    assert "number 3" in json.dumps([items[1].recalled, items[2].recalled])


@pytest.mark.slow
@pytest.mark.parametrize("cut", range(1, 14, 3))
async def test_a_run_that_lost_its_model_goes_on_where_it_was(tmp_path: Path, cut: int) -> None:
    whole = await running(tmp_path / "whole", models(), plan("a", "b"), concurrency=1).run()
    smooth = prompts(with_all := models())
    await running(tmp_path / "count", with_all, plan("a", "b"), concurrency=1).run()
    smooth = prompts(with_all)
    left = [cut]

    def dying(prompt: str) -> Any:
        left[0] -= 1
        return talk(prompt) if left[0] >= 0 else ModelUnavailable("the line is dead")

    broken = models(dying)
    await running(tmp_path / "r", broken, plan("a", "b"), concurrency=1).run()
    rest = models()
    items = await running(tmp_path / "r", rest, plan("a", "b"), concurrency=1).run()
    assert items == whole
    assert prompts(rest) == smooth - cut


@pytest.mark.slow
async def test_what_fails_is_counted_beside_the_score(tmp_path: Path) -> None:
    def partly(prompt: str) -> Any:
        if task_of(prompt) == "toy-judge":
            return "no JSON at all"
        if task_of(prompt) == "respond" and "boat 2" in prompt.split("<<<dialogue")[-1]:
            return ModelRejected("this key may not do that")
        return talk(prompt)

    asked = plan("a")
    items = await running(tmp_path / "r", models(partly), asked).run()
    summary = summarize_run(items, total=count_samples(asked.groups), binary=["right"])
    assert [item.answer is None for item in items] == [False, True, False]
    assert items[1].failures[ANSWER].startswith("ModelRejected: this key")
    assert summary["unanswered"] == 1
    assert summary["metrics"]["length"]["n"] == 3
    assert summary["metrics"]["right"] == {**asdict(wilson_interval(0, 1)), "failed": 2}
    judged = await running(tmp_path / "r", models(), asked).run()  # judges are asked again
    assert [item.scores["right"] for item in judged] == [1, 0, 1]
    assert judged[1].failures == items[1].failures


@pytest.mark.slow
async def test_a_replay_is_the_same_to_the_byte_and_asks_nobody(tmp_path: Path) -> None:
    asked, setup = plan("a", "b"), SETUP
    run = running(tmp_path / "r", models(), asked)
    await run.run()
    again = await replay(asked, setup, run.folder)
    assert again.different == []
    assert len(again.results) == 6
    file = run.folder.path / ITEMS
    file.write_text(file.read_text("utf-8").replace('"right": 1.0', '"right": 0.0', 1), "utf-8")
    assert len((await replay(asked, setup, run.folder)).different) == 1
    with pytest.raises(BadInput, match="not those of this run"):
        await replay(asked, replace(setup, seed=1), run.folder)


@pytest.mark.slow
async def test_no_call_is_begun_beyond_the_budget(tmp_path: Path) -> None:
    def priced(prompt: str) -> RawReply:
        return RawReply(text=talk(prompt), cost=1.0)

    async def ran(most: float, **more: Any) -> tuple[int, int, str]:
        """Cases done, calls made, why it stopped."""
        with_, spending = models(priced), CostLimit(most)
        run = running(tmp_path / "r", with_, plan("a"), cost_limit=spending, **more)
        return len(await run.run()), prompts(with_), spending.exceeded

    whole = models(priced)
    await running(tmp_path / "whole", whole, plan("a"), concurrency=1).run()
    calls = prompts(whole)
    assert await ran(0.0) == (0, 0, "the cost limit of $0 is reached ($0.0000)")
    assert (await ran(0.5, concurrency=1))[:2] == (0, 1)  # remembering is a call like any other
    assert (await ran(0.5))[:2] == (0, 0)  # what was spent before counts
    done, made, why = await ran(calls - 1.0, concurrency=1)
    assert (done, made) == (2, calls - 2)  # answered but not judged: begun, and not done
    assert why == f"the cost limit of ${calls - 1} is reached (${calls - 1:.4f})"
    assert await ran(99.0) == (3, 1, "")
    assert RunFolder(tmp_path / "r").results() == RunFolder(tmp_path / "whole").results()


@pytest.mark.slow
async def test_what_cant_be_remembered_counts_with_the_worst_value(tmp_path: Path) -> None:
    def forgetful(prompt: str) -> Any:
        lost = task_of(prompt) not in ("respond", "toy-judge") and "boat number 3" in prompt
        return ModelRejected("no") if lost else talk(prompt)

    asked = plan("a")
    items = await running(tmp_path / "r", models(forgetful), asked).run()
    assert [item.answer is None for item in items] == [False, True, True]
    summary = summarize_run(items, total=count_samples(asked.groups))
    assert [summary["metrics"][name]["n"] for name in ("length", "right")] == [3, 3]
    assert summary["metrics"]["right"]["mean"] == pytest.approx(1 / 3)
    again = await running(tmp_path / "r", models(), asked).run()
    assert all(item.complete for item in again)


@pytest.mark.slow
async def test_what_is_spent_is_what_the_journal_says(tmp_path: Path) -> None:
    left = [9]
    told: list[float | None] = []

    def priced(prompt: str) -> Any:
        left[0] -= 1
        cost = 0.25 if task_of(prompt) == "toy-judge" else 1.0
        return RawReply(text=talk(prompt), cost=cost) if left[0] >= 0 else ModelUnavailable("dead")

    def tell(now: Progress) -> None:
        told.append(now.spent)

    asked = plan("a", "b")
    for calls in (9, 99):  # the second run begins with what the first has spent
        left[0] = calls
        run = running(tmp_path / "r", models(priced), asked, progress=tell)
        await run.run()
        assert told[-1] == pytest.approx(await journalled(run.folder.store))


async def journalled(store: Path) -> float:
    async with theanine.aopen(str(store)) as agent:
        return sum(line.cost or 0.0 for line in await agent.costs())


async def test_no_budget_is_kept_of_a_model_without_a_price(tmp_path: Path) -> None:
    def unpriced(prompt: str) -> RawReply:
        return RawReply(text=talk(prompt))

    spending = CostLimit(9.0)
    run = running(tmp_path / "r", models(unpriced), plan("a"), cost_limit=spending, concurrency=1)
    assert await run.run() == []
    assert "price is unknown" in spending.exceeded


@pytest.mark.slow
async def test_a_model_known_to_have_no_price_is_refused_before_it_is_asked(tmp_path: Path) -> None:
    pytest.importorskip("pydantic_ai")
    setup = RunConfig(
        method="exchange", model="nobodys", base_url="http://127.0.0.1:9/v1", judge="local"
    )
    asked, bounds = replace(plan("a"), metrics=[Length()]), RunLimits(max_cost=9.0)
    with pytest.raises(SettingsError, match="price of openai:nobodys is unknown"):
        await run_task(asked, setup, RunFolder(tmp_path / "r"), limits=bounds)
    assert not (tmp_path / "r").exists()


def test_a_folder_is_one_runs(tmp_path: Path) -> None:
    place = RunFolder(tmp_path / "r")
    place.begin({"seed": 0})
    place.begin({"seed": 0})
    with pytest.raises(SettingsError, match=r"seed: 0, now 1"):
        place.begin({"seed": 1})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("x")
    with pytest.raises(SettingsError, match=r"letter\.txt and no run"):
        RunFolder(tmp_path / "other").begin({})
    with pytest.raises(BadInput, match="not a run's folder"):
        RunFolder(tmp_path / "none").settings()
    for read, complaint in (
        (place.settings, '"bench" is missing'),
        (place.summary, '"done" is missing'),
    ):
        (place.path / SUMMARY).write_text('{"samples": 1}')
        with pytest.raises(BadInput, match=complaint):
            read()
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(SettingsError, match="can't be a run's folder"):
            RunFolder(path).begin({})


async def test_items_of_another_run_are_refused_and_stay(tmp_path: Path) -> None:
    with_ = models()
    run = running(tmp_path / "r", with_, plan("a"))
    run.folder.append(sample_item(7))
    with pytest.raises(BadInput, match=r"contains 1 results of samples .* 'a/7'; name another"):
        await run.run()
    assert prompts(with_) == 0
    assert list(run.folder.results()) == ["a/7"]


@pytest.mark.slow
def test_one_process_at_a_time_is_at_work_on_a_run(tmp_path: Path) -> None:
    with lock_folder(tmp_path):
        told = pytest.raises(SettingsError, match=f"in use by another process .*:{os.getpid()}:")
        with told, lock_folder(tmp_path):
            pass
        code = "import sys; from theanine_bench.runs.lock import lock_folder; from pathlib import"
        code += " Path; lock_folder(Path(sys.argv[1])).__enter__()"
        other = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True)
        assert b"SettingsError" in other.stderr
    killed = subprocess.run([sys.executable, "-c", code + "; import os; os._exit(9)", tmp_path])
    assert killed.returncode == 9
    with lock_folder(tmp_path):  # what died holds nothing
        pass


def test_an_item_that_was_cut_off_is_dropped_and_a_damaged_one_named(tmp_path: Path) -> None:
    place = RunFolder(tmp_path / "r")
    place.begin({})
    items = [SampleResult(id=str(n), group="g", question="?", answer="é") for n in range(3)]
    for item in items[:2]:
        place.append(item)
    file = place.path / ITEMS
    whole = file.read_bytes()
    file.write_bytes(whole[:-9])
    assert list(place.results()) == ["0"]
    place.append(items[2])
    assert list(place.results()) == ["0", "2"]
    file.write_bytes(whole.replace(b"{", b"(", 1))
    with pytest.raises(BadInput, match="line 1"):
        place.results()


def test_limits_and_merges_keep_every_case_once() -> None:
    groups = plan("a", "b", "c").groups
    assert count_samples(limit_samples(groups, 4)) == 4
    assert limit_samples(groups, None) == list(groups)
    assert limit_samples(groups, 1)[0].stages[-1].samples
    joined = merge_groups(groups, 2)
    assert [group.id for group in joined] == ["a+b", "c"]
    assert [c.id for g in joined for c in g.samples] == [c.id for g in groups for c in g.samples]
    assert len(joined[0].stages[0].histories) == 4


def test_a_judge_that_always_fails_has_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    items = [sample_item(n, scores={"f1": 0.5}, failures={"right": "no"}) for n in range(1, 5)]
    items += [sample_item(5, scores={"f1": 0.5, "fit/a": 1.0}, category="odd")]
    items += [sample_item(6, scores={"f1": 0.5}, failures={"fit": "no"}, category="even")]
    summary = summarize_run(items, total=6, binary=["fit"])
    none = {"mean": None, "low": None, "high": None, "n": 0}
    assert summary["metrics"]["right"] == {**none, "failed": 4}
    assert summary["metrics"]["fit/a"] == {**asdict(wilson_interval(1, 1)), "failed": 1}
    assert summary["categories"]["even"] == {
        "f1": {"mean": 0.5, "low": 0.5, "high": 0.5, "n": 1, "failed": 0},
        "fit/a": {**none, "failed": 1},
    }
    assert "right" not in summary["categories"]["odd"]
    show_summary(summary)
    assert re.search(r"^right +– +– +0 +4", capsys.readouterr().out, re.MULTILINE)


def test_a_mean_needs_values() -> None:
    empty: Sequence[SampleResult] = []
    assert summarize_run(empty, total=3)["metrics"] == {}
