"""Rating tasks, stored ratings and their results."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from support.run_samples import sample_settings
from theanine.errors import BadInput, SettingsError
from theanine.testing import ScriptedModel, answer
from theanine.types import STATE, Memory, Relation
from theanine_bench.rating.forms import (
    ENTAILMENT,
    FORMS,
    HELPFULNESS,
    LINKING,
    PERSPECTIVES,
    get_form,
)
from theanine_bench.rating.ratings import Rating, Ratings
from theanine_bench.rating.tasks import (
    Block,
    RatingTask,
    draw_tasks,
    ratings_folder,
    timeline_lines,
)
from theanine_bench.runs.folder import RunFolder
from theanine_bench.samples import SampleResult

PAST = {"past": ["Ana: I sail."]}


def tasks(count: int, sides: tuple[str, ...] = ()) -> list[RatingTask]:
    block = Block(title="Dialogue", lines=("Ana: hello",))
    return [RatingTask(id=f"t{n}", blocks=(block,), sides=sides) for n in range(count)]


def a_run(folder: Path, words: str = "yes", count: int = 9) -> RunFolder:
    run = RunFolder(folder)
    run.begin(sample_settings(samples=count))
    part = {"text": f"{words} part", "memories": [1], "sources": []}
    for n in range(count):
        turn = {"speaker": "Ana", "text": f"question {n}", "at": "2024-03-01", "role": "user"}
        run.append(SampleResult(id=f"c{n}", group="g", question="?", dialogue=[turn], answer=words,
                     recalled=[part], extra=PAST))  # fmt: skip
    run.append(SampleResult(id="failed", group="g", question="?", failures={"answer": "gone"}))
    return run


def drawn(
    *runs: RunFolder, form: str = "entailment", sample: int = 5, seed: int = 0
) -> list[RatingTask]:
    return anyio.run(draw_tasks, runs, get_form(form), sample, seed)


def test_all_raters_see_the_same_tasks_drawn_once(tmp_path: Path) -> None:
    run = a_run(tmp_path / "r")
    first = drawn(run)
    assert len({task.id for task in first}) == 5
    assert all(task.id != "failed" for task in first)
    assert {task.blocks[0].lines for task in first} == {("Ana: I sail.",)}
    assert drawn(run, sample=9, seed=7) == first  # kept, whatever is asked for later
    assert drawn(a_run(tmp_path / "s")) == first


def test_order_of_runs_is_random_and_votes_count_for_the_run(tmp_path: Path) -> None:
    ours, theirs = a_run(tmp_path / "a", "ours", 40), a_run(tmp_path / "b", "theirs", 40)
    drawn_tasks = drawn(ours, theirs, form="helpfulness", sample=40)
    firsts = [task.sides[0] for task in drawn_tasks]
    assert 8 < firsts.count(str(ours.path)) < 32
    for task in drawn_tasks:
        shown = "ours" if task.sides[0] == str(ours.path) else "theirs"
        assert task.blocks[1].lines == (f"{shown} part",)
        assert all(str(tmp_path) not in line for block in task.blocks for line in block.lines)
    ratings = Ratings(tmp_path, HELPFULNESS, drawn_tasks)
    for task in drawn_tasks:
        side = "first" if task.sides[0] == str(ours.path) else "second"
        ratings.add("Ana", Rating(task=task.id, answers={"helpfulness": side}))
    [result] = ratings.results()
    assert result.shares == {str(ours.path): 1.0}


@pytest.mark.parametrize(
    ("count", "form", "complaint"),
    [(2, "entailment", "takes 1 run"), (1, "helpfulness", "takes 2 runs"),
     (1, "linking", "nothing to rate with the form linking")],
)  # fmt: skip
def test_unsuitable_runs_are_refused(tmp_path: Path, count: int, form: str, complaint: str) -> None:
    runs = [a_run(tmp_path / str(n)) for n in range(count)]
    with pytest.raises((SettingsError, BadInput), match=complaint):
        drawn(*runs, form=form)
    with pytest.raises(SettingsError, match="unknown form 'x'; there are: summaries, linking"):
        get_form("x")


def test_rater_can_continue_and_change_answers(tmp_path: Path) -> None:
    ratings = Ratings(tmp_path, ENTAILMENT, tasks(3))
    ratings.add(" Ana/Bo ", Rating(task="t0", answers={"entailment": "entails"}, note="hm"))
    ratings.add("Ana/Bo", Rating(task="t0", answers={"entailment": "neutral"}))
    assert Ratings(tmp_path, ENTAILMENT, tasks(3)).by_rater("Ana/Bo")["t0"].answers == {
        "entailment": "neutral"
    }
    [file] = tmp_path.glob("*.jsonl")
    file.write_bytes(file.read_bytes() + b'{"task": "t1", "ans')
    assert list(ratings.by_rater("Ana/Bo")) == ["t0"]
    assert ratings.raters() == ["Ana/Bo"]
    ratings.add("Ana/Bo", Rating(task="t2", answers={"entailment": "neutral"}, note="a\u2028b"))
    file.write_bytes(file.read_bytes()[:-1])  # whole, but for the end of its line
    ratings.add("Ana/Bo", Rating(task="t1", answers={}))
    assert list(ratings.by_rater("Ana/Bo")) == ["t0", "t2", "t1"]
    file.write_text("{\n" + file.read_text("utf-8"), "utf-8")
    with pytest.raises(BadInput, match="line 1: invalid JSON"):
        ratings.results()


def test_longest_rater_names_are_stored(tmp_path: Path) -> None:
    ratings = Ratings(tmp_path, ENTAILMENT, tasks(1))
    names = ["雨" * 26, "%" * 80]
    for name in names:
        ratings.add(name, Rating(task="t0", answers={}))
    assert ratings.raters() == sorted(names)


@pytest.mark.parametrize(
    ("rater", "rating", "complaint"),
    [
        (" ", Rating(task="t0", answers={}), "name has 1 to 80 bytes"),
        ("雨" * 27, Rating(task="t0", answers={}), "name has 1 to 80 bytes"),
        ("A", Rating(task="t9", answers={}), "no task 't9'"),
        ("A", Rating(task="t0", answers={"entailment": "maybe"}), "'maybe' is not an answer"),
        ("A", Rating(task="t0", answers={"mood": "good"}), "not an answer to 'mood'"),
        ("A", Rating(task="t0", answers={}, note="x" * 2_001), "at most 2000"),
    ],
)
def test_invalid_ratings_are_refused(
    tmp_path: Path, rater: str, rating: Rating, complaint: str
) -> None:
    with pytest.raises(BadInput, match=complaint):
        Ratings(tmp_path, ENTAILMENT, tasks(1)).add(rater, rating)
    assert list(tmp_path.glob("*.jsonl")) == []


def test_majority_undecided_and_kappa(tmp_path: Path) -> None:
    ratings = Ratings(tmp_path, ENTAILMENT, tasks(3))
    answers_by_rater = {
        "Ana": ("entails", "entails", "entails"),
        "Bo": ("entails", "entails", "neutral"),
        "Cy": ("entails", "neutral", "contradicts"),
    }
    for rater, answers in answers_by_rater.items():
        for n, value in enumerate(answers):
            ratings.add(rater, Rating(task=f"t{n}", answers={"entailment": value}))
    [result] = ratings.results()
    assert result.shares == {"entails": pytest.approx(2 / 3), "neutral": pytest.approx(1 / 3)}
    assert (result.raters, result.rated, result.compared) == (3, 3, 3)
    # By hand: observed 4/9; chance (6² + 2² + 1²) / 9² = 41/81.
    assert result.kappa == pytest.approx((4 / 9 - 41 / 81) / (1 - 41 / 81))
    # Of 9 answers, 6, 2 and 1: 20 / 72 + 20 / 72 of the pairs differ by chance, 5 of 9 do.
    assert result.alpha == pytest.approx(1 - (5 / 9) / (40 / 72))


def test_degrees_are_merged_and_points_are_averaged(tmp_path: Path) -> None:
    linking = Ratings(tmp_path / "l", LINKING, tasks(1))
    linking.add("A", Rating(task="t0", answers={"linking": "slightly-agree"}))
    linking.add("B", Rating(task="t0", answers={"linking": "definitely-agree"}))
    assert linking.results()[0].shares == {"agree": 1.0}
    points = Ratings(tmp_path / "p", PERSPECTIVES, tasks(1))
    points.add("A", Rating(task="t0", answers={"coherence": "3"}))
    points.add("B", Rating(task="t0", answers={"coherence": "0"}))
    results = {result.question: result for result in points.results()}
    assert results["coherence"].mean == 1.5
    assert results["coherence"].shares == {"undecided": 1.0}
    assert (results["humanness"].rated, results["humanness"].mean) == (0, None)


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 3), st.integers(0, 2))))
def test_last_answer_of_each_rater_counts_and_shares_sum_to_one(
    tmp_path_factory: pytest.TempPathFactory, given_answers: list[tuple[str, int, int]]
) -> None:
    ratings = Ratings(tmp_path_factory.mktemp("r"), ENTAILMENT, tasks(4))
    last: dict[tuple[str, int], str] = {}
    for rater, task, choice in given_answers:
        last[rater, task] = ENTAILMENT.questions[0].choices[choice].value
        ratings.add(rater, Rating(task=f"t{task}", answers={"entailment": last[rater, task]}))
    [result] = ratings.results()
    assert len(ratings.rows()) == len(last)
    assert result.rated == len({task for _, task in last})
    assert sum(result.shares.values()) == pytest.approx(1.0 if last else 0.0)


def test_entailment_is_rated_where_the_past_is_needed(tmp_path: Path) -> None:
    run = a_run(tmp_path / "r", count=2)
    turn = {"speaker": "Ana", "text": "hi", "at": "2024-03-01", "role": "user"}
    for id, need in (("needs", 1.0), ("without", 0.0)):
        run.append(SampleResult(id=id, group="g", question="?", dialogue=[turn], answer="So.",
                     scores={"needs-past": need}, extra=PAST))  # fmt: skip
    assert [task.id for task in drawn(run)] == ["needs"]
    assert len(drawn(run, form="perspectives", sample=9)) == 4


def test_a_timeline_shows_the_relation_of_each_memory_to_the_next() -> None:
    at = datetime(2024, 3, 1, tzinfo=UTC)
    timeline = [
        Memory(id=n, session=n, text=f"memory {n}", at=at, session_ended_at=at) for n in (1, 2, 5)
    ]
    assert list(timeline_lines(timeline, {(1, 2): "Changed"})) == [
        "1 March 2024: memory 1",
        "↓ Changed",
        "1 March 2024: memory 2",
        "1 March 2024: memory 5",
    ]


def test_the_guide_to_linking_explains_every_relation() -> None:
    assert all(f"{relation}: " in " ".join(LINKING.guide) for relation in Relation)


def test_what_linking_made_is_no_memory_of_a_session(tmp_path: Path) -> None:
    def write(prompt: str) -> str:
        if prompt.startswith("Task: relate\n"):
            change = {
                "a": "M1",
                "b": "N1",
                "relation": "Changed",
                "why": "",
                "now": "In Delft now.",
            }
            return json.dumps({"links": [change]})
        return answer({"messages": [{"role": "user", "content": prompt}]})

    run = a_run(tmp_path / "r")
    at = datetime(2026, 3, 1, tzinfo=UTC)
    with theanine.open(str(run.store), model=ScriptedModel(write)) as client:
        ana = client.user("ana")
        for week, town in enumerate(("Leiden", "Delft")):
            with ana.session() as session:
                session.add(f"I live in {town}, in a flat.", at=at + timedelta(weeks=week))
            ana.remember()
        assert STATE in {memory.kind for memory in ana.memories()}
    for task in drawn(run, form="summaries"):
        _, memories = task.blocks
        assert len(memories.lines) == 1
        assert "In Delft now." not in memories.lines


def test_forms_are_complete() -> None:
    for form in FORMS.values():
        assert form.title.endswith("?")
        for ask in form.questions:
            values = [choice.value for choice in ask.choices]
            assert len(set(values)) == len(values) <= 9
            assert set(ask.counted) <= set(values)
    assert ratings_folder(Path("r"), LINKING) == Path("r/ratings/linking")
