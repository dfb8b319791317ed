"""A run is resumed where it was cut off, counts what fails, and is replayed to the byte."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from theanine.types import History, Transcript, Utterance
from theanine_bench.cli.runs.common import show_summary
from theanine_bench.metrics.base import Scored
from theanine_bench.runs.folder import ITEMS, SUMMARY, RunFolder
from theanine_bench.runs.item import ANSWER, Item
from theanine_bench.runs.lock import locked
from theanine_bench.runs.perform import Bounds, default_folder, perform
from theanine_bench.runs.replay import replay
from theanine_bench.runs.runner import Progress, Running
from theanine_bench.runs.setup import Models, Plan, Setup, settings_of
from theanine_bench.runs.spending import Spending
from theanine_bench.runs.summary import summarize_run
from theanine_bench.samples import Case, Group, Stage, count, limited, merged

pytestmark = pytest.mark.anyio
AT = datetime(2024, 3, 1, tzinfo=UTC)
IMPATIENT = Limits(retries=0, repairs=0)


class Verdict(BaseModel):
    right: bool


JUDGE = PromptTemplate("toy-judge", 1, "Task: toy-judge\n<<<answer\n$answer\n>>>", Verdict)


@dataclass(frozen=True)
class Length:
    name: str = "length"
    judging: bool = False
    worst: Mapping[str, float] = field(default_factory=lambda: {"length": 0.0})

    async def of(self, item: Item, judge: ScopedChat | None) -> Scored:
        return Scored(values={"length": float(len(item.answer or ""))})


@dataclass(frozen=True)
class Right:
    name: str = "right"
    judging: bool = True
    worst: Mapping[str, float] = field(default_factory=lambda: {"right": 0.0})

    async def of(self, item: Item, judge: ScopedChat | None) -> Scored:
        assert judge
        said = await judge.ask(JUDGE, answer=item.answer or "")
        return Scored(values={"right": float(said.right)}, verdict=said.model_dump())


def history(name: str, *days: int) -> History:
    said = [
        Utterance(text=f"On day {day} I bought boat number {day}.", speaker="Ana", at=_on(day))
        for day in days
    ]
    talks = [Transcript(key=f"{one.at:%d}", turns=[one], at=one.at) for one in said]
    return History(name=name, transcripts=talks)


def _on(day: int) -> datetime:
    return AT + timedelta(days=day)


def case(id: str, words: str, day: int) -> Case:
    asked = Utterance(text=words, speaker="Ana", at=_on(day))
    return Case(id=id, dialogue=(asked,), category="boats", reference="a boat")


def plan(*names: str) -> Plan:
    groups = [
        Group(
            id=name,
            stages=(
                Stage(histories=(history(name, 1),), cases=(case(f"{name}/1", "Which boat?", 2),)),
                Stage(
                    histories=(history(name, 3, 4),),
                    cases=tuple(case(f"{name}/{n}", f"What of boat {n}?", 9) for n in (2, 3)),
                ),
            ),
        )
        for name in names
    ]
    return Plan(bench="toy", data="0", groups=groups, measures=[Length(), Right()])


def talk(prompt: str) -> str:
    if task_of(prompt) == "toy-judge":
        return json.dumps({"right": "boat" in prompt})
    return answer({"messages": [{"role": "user", "content": prompt}]})


def models(write: Any = talk) -> Models:
    return Models(agent=ScriptedModel(write), judge=ScriptedModel(write, "judge"))


def test_runs_of_as_many_but_other_cases_have_folders_of_their_own() -> None:
    def place(*names: str) -> Path:
        told = settings_of(plan(*names), Setup(), models())
        return default_folder("toy", "theanine", told).path

    assert len({place("a", "b"), place("a", "c"), place("b", "a")}) == 3
    assert place("a", "b") == place("a", "b")


def running(folder: Path, with_: Models, asked: Plan, **more: Any) -> Running:
    setup, place = Setup(model="scripted", judge="judge"), RunFolder(folder)
    place.begin(settings_of(asked, setup, with_))
    options: dict[str, Any] = {"limits": IMPATIENT, **more}
    return Running(plan=asked, setup=setup, models=with_, folder=place, **options)


def prompts(of: Models) -> int:
    return sum(len(one.prompts) for one in (of.agent, of.judge) if isinstance(one, ScriptedModel))


async def test_every_case_is_answered_measured_and_judged_once(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def tell(told: Progress) -> None:
        seen.append((told.done, told.total))

    asked = plan("a", "b")
    items = await running(tmp_path / "r", models(), asked, progress=tell).run()
    assert [item.id for item in items] == ["a/1", "a/2", "a/3", "b/1", "b/2", "b/3"]
    assert all(item.complete and item.measures["right"] == 1 for item in items)
    assert seen[-1] == (6, 6)
    again = models()
    assert await running(tmp_path / "r", again, asked).run() == items
    assert prompts(again) == 0


async def test_a_stage_knows_nothing_of_later_sessions(tmp_path: Path) -> None:
    items = await running(tmp_path / "r", models(), plan("a")).run()
    assert "number 3" not in json.dumps(items[0].recalled)
    assert "number 3" in json.dumps([items[1].recalled, items[2].recalled])


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


async def test_what_fails_is_counted_beside_the_score(tmp_path: Path) -> None:
    def partly(prompt: str) -> Any:
        if task_of(prompt) == "toy-judge":
            return "no JSON at all"
        if task_of(prompt) == "respond" and "boat 2" in prompt.split("<<<dialogue")[-1]:
            return ModelRejected("this key may not do that")
        return talk(prompt)

    asked = plan("a")
    items = await running(tmp_path / "r", models(partly), asked).run()
    summary = summarize_run(items, total=count(asked.groups))
    assert [item.answer is None for item in items] == [False, True, False]
    assert items[1].failures[ANSWER].startswith("ModelRejected: this key")
    assert summary["unanswered"] == 1
    assert summary["measures"]["length"]["n"] == 3
    assert summary["measures"]["right"] == {
        "mean": 0.0, "low": 0.0, "high": 0.0, "n": 1, "failed": 2,
    }  # fmt: skip
    judged = await running(tmp_path / "r", models(), asked).run()  # judges are asked again
    assert [item.measures["right"] for item in judged] == [1, 0, 1]
    assert judged[1].failures == items[1].failures


async def test_a_replay_is_the_same_to_the_byte_and_asks_nobody(tmp_path: Path) -> None:
    asked, setup = plan("a", "b"), Setup(model="scripted", judge="judge")
    run = running(tmp_path / "r", models(), asked)
    await run.run()
    again = await replay(asked, setup, run.folder)
    assert again.different == []
    assert len(again.items) == 6
    file = run.folder.path / ITEMS
    file.write_text(file.read_text("utf-8").replace('"right": 1.0', '"right": 0.0', 1), "utf-8")
    assert len((await replay(asked, setup, run.folder)).different) == 1
    with pytest.raises(BadInput, match="not those of this run"):
        await replay(asked, replace(setup, seed=1), run.folder)


async def test_no_call_is_begun_beyond_the_budget(tmp_path: Path) -> None:
    def priced(prompt: str) -> RawReply:
        return RawReply(text=talk(prompt), cost=1.0)

    async def ran(most: float, **more: Any) -> tuple[int, int, str]:
        """Cases done, calls made, why it stopped."""
        with_, spending = models(priced), Spending(most)
        run = running(tmp_path / "r", with_, plan("a"), spending=spending, **more)
        return len(await run.run()), prompts(with_), spending.over

    whole = models(priced)
    await running(tmp_path / "whole", whole, plan("a"), concurrency=1).run()
    calls = prompts(whole)
    assert await ran(0.0) == (0, 0, "the budget of $0 is spent ($0.0000)")
    assert (await ran(0.5, concurrency=1))[:2] == (0, 1)  # remembering is a call like any other
    assert (await ran(0.5))[:2] == (0, 0)  # what was spent before counts
    done, made, why = await ran(calls - 1.0, concurrency=1)
    assert (done, made) == (2, calls - 2)  # answered but not judged: begun, and not done
    assert why == f"the budget of ${calls - 1} is spent (${calls - 1:.4f})"
    assert await ran(99.0) == (3, 1, "")
    assert RunFolder(tmp_path / "r").items() == RunFolder(tmp_path / "whole").items()


async def test_what_cant_be_remembered_counts_with_the_worst_value(tmp_path: Path) -> None:
    def forgetful(prompt: str) -> Any:
        lost = task_of(prompt) not in ("respond", "toy-judge") and "boat number 3" in prompt
        return ModelRejected("no") if lost else talk(prompt)

    asked = plan("a")
    items = await running(tmp_path / "r", models(forgetful), asked).run()
    assert [item.answer is None for item in items] == [False, True, True]
    summary = summarize_run(items, total=count(asked.groups))
    assert [summary["measures"][name]["n"] for name in ("length", "right")] == [3, 3]
    assert summary["measures"]["right"]["mean"] == pytest.approx(1 / 3)
    again = await running(tmp_path / "r", models(), asked).run()
    assert all(item.complete for item in again)


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

    spending = Spending(9.0)
    run = running(tmp_path / "r", models(unpriced), plan("a"), spending=spending, concurrency=1)
    assert await run.run() == []
    assert "price is unknown" in spending.over


async def test_a_model_known_to_have_no_price_is_refused_before_it_is_asked(tmp_path: Path) -> None:
    pytest.importorskip("pydantic_ai")
    setup = Setup(
        method="exchange", model="nobodys", base_url="http://127.0.0.1:9/v1", judge="local"
    )
    asked, bounds = replace(plan("a"), measures=[Length()]), Bounds(money=9.0)
    with pytest.raises(SettingsError, match="price of openai:nobodys is unknown"):
        await perform(asked, setup, RunFolder(tmp_path / "r"), bounds=bounds)
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
    with pytest.raises(BadInput, match="holds no run"):
        RunFolder(tmp_path / "none").settings()
    for read, complaint in ((place.settings, "lacks bench, cases"), (place.summary, "lacks done")):
        (place.path / SUMMARY).write_text('{"cases": 1}')
        with pytest.raises(BadInput, match=complaint):
            read()
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(SettingsError, match="can't be a run's folder"):
            RunFolder(path).begin({})


async def test_items_of_another_run_are_refused_and_stay(tmp_path: Path) -> None:
    with_ = models()
    run = running(tmp_path / "r", with_, plan("a"))
    run.folder.add(sample_item(7))
    with pytest.raises(BadInput, match=r"holds 1 items that this run .* 'a/7'; name another"):
        await run.run()
    assert prompts(with_) == 0
    assert list(run.folder.items()) == ["a/7"]


def test_one_process_at_a_time_is_at_work_on_a_run(tmp_path: Path) -> None:
    with locked(tmp_path):
        told = pytest.raises(SettingsError, match=f"another process is .*:{os.getpid()}:")
        with told, locked(tmp_path):
            pass
        code = "import sys; from theanine_bench.runs.lock import locked; from pathlib import"
        code += " Path; locked(Path(sys.argv[1])).__enter__()"
        other = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True)
        assert b"SettingsError" in other.stderr
    killed = subprocess.run([sys.executable, "-c", code + "; import os; os._exit(9)", tmp_path])
    assert killed.returncode == 9
    with locked(tmp_path):  # what died holds nothing
        pass


def test_an_item_that_was_cut_off_is_dropped_and_a_damaged_one_named(tmp_path: Path) -> None:
    place = RunFolder(tmp_path / "r")
    place.begin({})
    items = [Item(id=str(n), group="g", asked="?", answer="é") for n in range(3)]
    for item in items[:2]:
        place.add(item)
    file = place.path / ITEMS
    whole = file.read_bytes()
    file.write_bytes(whole[:-9])
    assert list(place.items()) == ["0"]
    place.add(items[2])
    assert list(place.items()) == ["0", "2"]
    file.write_bytes(whole.replace(b"{", b"(", 1))
    with pytest.raises(BadInput, match="line 1"):
        place.items()


def test_limits_and_merges_keep_every_case_once() -> None:
    groups = plan("a", "b", "c").groups
    assert count(limited(groups, 4)) == 4
    assert limited(groups, None) == list(groups)
    assert limited(groups, 1)[0].stages[-1].cases
    joined = merged(groups, 2)
    assert [group.id for group in joined] == ["a+b", "c"]
    assert [c.id for g in joined for c in g.cases] == [c.id for g in groups for c in g.cases]
    assert len(joined[0].stages[0].histories) == 4


def test_a_judge_that_always_fails_has_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    items = [sample_item(n, measures={"f1": 0.5}, failures={"right": "no"}) for n in range(1, 5)]
    items += [sample_item(5, measures={"f1": 0.5, "fit/a": 1.0}, category="odd")]
    items += [sample_item(6, measures={"f1": 0.5}, failures={"fit": "no"}, category="even")]
    summary = summarize_run(items, total=6)
    none = {"mean": None, "low": None, "high": None, "n": 0}
    assert summary["measures"]["right"] == {**none, "failed": 4}
    assert summary["measures"]["fit/a"] == {"mean": 1, "low": 1, "high": 1, "n": 1, "failed": 1}
    assert summary["categories"]["even"] == {
        "f1": {"mean": 0.5, "low": 0.5, "high": 0.5, "n": 1, "failed": 0},
        "fit/a": {**none, "failed": 1},
    }
    assert "right" not in summary["categories"]["odd"]
    show_summary(summary)
    assert re.search(r"^right +– +– +0 +4", capsys.readouterr().out, re.MULTILINE)


def test_a_mean_needs_values() -> None:
    empty: Sequence[Item] = []
    assert summarize_run(empty, total=3)["measures"] == {}
