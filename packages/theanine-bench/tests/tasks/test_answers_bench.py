"""`bench qa` and `bench responses` end to end, on small conversations of our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.dataset_samples import locomo_questions
from support.history_samples import cc, save
from support.running import Terminal
from theanine.errors import BadInput
from theanine.testing import ScriptedServer
from theanine.tokenizer import count_tokens
from theanine_bench.datasets.past import LEFT_OUT, with_past
from theanine_bench.datasets.qa import read_qa
from theanine_bench.datasets.responses import read_responses
from theanine_bench.runs.folder import RunFolder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    record = locomo_questions([["D2:1"], ["D2:2"], []])
    for question, answer in zip(record[0]["qa"], ("hazelnuts", "to pay the rent", ""), strict=True):
        question["answer"] = answer
    record[0]["qa"][2]["category"] = 5
    return save(tmp_path, "pair.json", record)


def test_questions_keep_their_answers_and_say_when_there_is_none(data: Path) -> None:
    [group] = read_qa(data)
    told = [(case.reference, case.category, case.extra["answerable"]) for case in group.samples]
    assert told == [
        ("hazelnuts", "single-hop", True),
        ("to pay the rent", "single-hop", True),
        ("", "adversarial", False),
    ]
    assert group.samples[0].extra["gold"] == [["", "D2:1"]]
    turns = [turn for t in group.stages[0].histories[0].transcripts for turn in t.turns]
    assert all(case.dialogue[-1].at > turns[-1].at for case in group.samples)


@pytest.mark.slow
def test_a_run_without_a_model_is_an_honest_baseline(
    run: Terminal, data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shown = run.bare("bench", "qa", str(data), "--out", str(folder))
    assert "f1" in shown.out
    assert "right" not in shown.out  # there is no judge
    items = RunFolder(folder).results()
    assert items["pair/1"].scores["f1"] > 0
    assert "hazelnuts" in (items["pair/1"].answer or "")
    assert {item.made_by for item in items.values()} == {"local"}
    summary = RunFolder(folder).summary()
    assert summary["metrics"]["f1"]["n"] == 2
    assert summary["spent"] == {}


@pytest.mark.slow
def test_a_judged_run_goes_on_for_nothing_and_is_replayed(
    run: Terminal, data: Path, tmp_path: Path
) -> None:
    folder = str(tmp_path / "run")
    with ScriptedServer() as server:
        model = ["--model", "openai:m", "--base-url", server.base_url]
        judge = ["--judge", "openai:j", "--judge-base-url", server.base_url]
        command = ["bench", "qa", str(data), *model, *judge, "--out", folder]
        first = run.bare(*command)
        asked = len(server.calls)
        assert asked > 6
        again = run.bare(*command, "--json")
        assert len(server.calls) == asked
    assert again.json["metrics"]["right"]["n"] == 3
    assert again.json["spent"]["judging"]["calls"] == 3
    assert "judging: 3 calls" in first.out
    replayed = run.bare(*command, "--replay")
    assert "3 results, all identical; no model was called" in replayed.out
    other = run.bare(*command, "--seed", "7", fine=False)
    assert other.code == 2
    assert "other settings (seed: 0, now 7)" in other.err


def test_a_failing_model_is_counted_and_exits_with_1(
    run: Terminal, data: Path, tmp_path: Path
) -> None:
    with ScriptedServer(lambda request: "{" if "Task: right" in str(request) else "fine") as server:
        judge = ["--judge", "openai:j", "--judge-base-url", server.base_url]
        judge += ["--judge-set", "temperature=0.5"]
        command = ["bench", "qa", str(data), *judge, "--out", str(tmp_path / "run"), "--limit", "1"]
        failed = run.bare(*command, fine=False)
    assert {request["temperature"] for request in server.requests} == {0.5}
    assert failed.code == 1
    assert "failed 1 ×: right: UnusableReply" in failed.out


def test_a_measure_that_is_not_known_is_named_with_those_there_are(
    run: Terminal, data: Path
) -> None:
    wrong = run.bare("bench", "qa", str(data), "--metric", "fluff", fine=False)
    assert wrong.code == 2
    assert "unknown metric 'fluff'; there are: " in wrong.err
    judged = run.bare("bench", "qa", str(data), "--metric", "gpt4score", fine=False)
    assert "gpt4score needs a judging model: name one with --judge" in judged.err


def episode(tmp_path: Path) -> Path:
    record = {
        "metadata": {"initial_data_id": "e1"},
        "previous_dialogs": [
            {
                "dialog": [{"text": f"Session {n}, I keep {n} bees."}, {"text": "Nice."}],
                "personas": [[f"I keep {n} bees."], ["I am nice."]],
            }
            for n in (1, 2)
        ],
        "personas": [["I keep two bees by now."], ["I am nice."]],
        "dialog": [
            {"id": "Speaker 1", "text": "How many bees did I keep?"},
            {"id": "Speaker 2", "text": "You kept two bees."},
            {"id": "Speaker 1", "text": "Right."},
        ],
    }
    file = tmp_path / "session_3.jsonl"
    file.write_text(json.dumps(record) + "\n")
    return file


def test_every_turn_but_the_first_of_a_later_session_is_a_case(tmp_path: Path) -> None:
    [group] = read_responses(episode(tmp_path))
    [stage] = group.stages
    assert [len(history.transcripts) for history in stage.histories] == [2]
    assert [(case.reference, case.speaker, len(case.dialogue)) for case in stage.samples] == [
        ("You kept two bees.", "Speaker 2", 1),
        ("Right.", "Speaker 1", 2),
    ]
    assert {case.category for case in stage.samples} == {"session 3"}
    with pytest.raises(BadInput, match="no history in it has a session 5"):
        read_responses(episode(tmp_path), [5])


def test_the_answer_is_never_remembered_before_it_is_asked_for(
    run: Terminal, tmp_path: Path
) -> None:
    file, folder = episode(tmp_path), tmp_path / "run"
    run.bare(
        "bench", "responses", str(file), "--sessions", "2-3", "--out", str(folder),
        "--method", "full-history", "--metric", "f1",
    )  # fmt: skip
    items = RunFolder(folder).results()
    assert sorted(item.category for item in items.values()) == ["session 2"] + ["session 3"] * 2
    recalled = {id: json.dumps(item.recalled) for id, item in items.items()}
    personas = [item.extra["persona"]["Speaker 1"] for item in items.values()]
    assert personas == [["I keep 1 bees."], *[["I keep 1 bees.", "I keep 2 bees."]] * 2]
    assert "2 bees" not in recalled["e1/session_2/2"]
    assert "2 bees" in recalled["e1/session_3/2"]
    assert all("You kept two" not in text for text in recalled.values())


def test_past_without_labels_is_the_newest_history(tmp_path: Path) -> None:
    file = save(tmp_path, "cc.json", [cc()])
    [group] = with_past(read_responses(file, [2, 3]))
    second, third = [stage.samples[0].extra["past"] for stage in group.stages]
    assert second == ["Neighbor A: Word 0.", "Neighbor B: Answer 0."]
    assert third == [*second, "Neighbor A: Word 1.", "Neighbor B: Answer 1."]
    [group] = with_past(read_responses(file, [3]), tokens=count_tokens(third[-1]))
    assert group.samples[0].extra["past"] == [LEFT_OUT, third[-1]]
    [group] = with_past([group], tokens=0)
    assert group.samples[0].extra["past"] == [LEFT_OUT, third[-1]]  # as it was


def test_questions_of_ones_own_are_asked_of_any_history(
    run: Terminal, data: Path, tmp_path: Path
) -> None:
    asked = [
        {"question": "What is Ana allergic to?", "answer": "hazelnuts", "sources": ["D2:1", "x"]},
        *("Who is Cid?", "And Dora?"),
    ]
    file = save(tmp_path, "questions.json", asked)
    [group] = read_qa(data, file)
    assert [(case.id, case.reference) for case in group.samples] == [
        ("pair/1", "hazelnuts"),
        ("pair/2", ""),
        ("pair/3", ""),
    ]
    assert group.samples[0].extra["gold"] == [["", "D2:1"]]
    assert group.dropped == {"labels of no turn": 1}  # those without evidence are asked
    folder = tmp_path / "own"
    qa = ["bench", "qa", str(data), "--metric", "f1", "--metric", "evidence"]
    run.bare(*qa, "--questions", str(file), "--out", str(folder))
    measured = RunFolder(folder).results()["pair/1"].scores
    assert measured["evidence"] == 1
    assert measured["f1"] > 0
    other = run.bare(*qa, "--out", str(folder), fine=False)
    assert "a run with other settings (data: " in other.err
