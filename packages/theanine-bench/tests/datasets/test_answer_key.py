"""Corrected answer keys: in `bench qa` from the outset, and over a run that is there already."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.dataset_samples import locomo_questions
from support.history_samples import save
from support.running import Terminal
from theanine.errors import BadInput
from theanine.testing import ScriptedServer
from theanine_bench.datasets.answer_key import REJECTED, apply_answer_key, read_answer_key
from theanine_bench.datasets.qa import read_qa
from theanine_bench.runs.folder import RunFolder
from theanine_bench.tasks.rescore import NOT_ASKED, rescore_task


def records() -> list[dict[str, Any]]:
    record = locomo_questions([["D2:1"], ["D2:2"], []])
    questions = ("What does Ana like?", "Why does Bo work?", "Who is Cid?")
    for one, words, answer in zip(record[0]["qa"], questions, ("hazelnuts", 2022, ""), strict=True):
        one |= {"question": words, "answer": answer}
    record[0]["qa"][2]["category"] = 5
    return record


def audited(**more: Any) -> dict[str, Any]:
    """An entry in the form of the published audit."""
    return {
        "question_id": "locomo_0_qa1",
        "question": "Why does Bo  work?",
        "golden_answer": "2022",
        "error_type": "HALLUCINATION",
        "correct_answer": "to pay the rent",
        **more,
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return save(tmp_path, "pair.json", records())


def told(data: Path, key: object, tmp_path: Path) -> dict[str, str]:
    groups = apply_answer_key(read_qa(data), read_answer_key(save(tmp_path, "key.json", key)))
    return {case.id: case.reference for group in groups for case in group.samples}


@pytest.mark.parametrize(
    "key",
    [
        {"pair/2": "to pay the rent", "pair/1": None},
        {"pair/2": {"answer": "to pay the rent"}, "pair/1": {"answer": " "}},
        [audited(), {"id": "pair/1", "answer": None}],
        [audited(conversation="pair"), audited(question="what does ana like?", correct_answer=None,
                                               golden_answer="hazelnuts")],
        "\n".join(map(json.dumps, [audited(), {"id": "pair/1", "answer": None}])),
        [
            audited(),
            {"id": "pair/1", "answer": None},
            {"question": "Who is Cid?", "error_type": "WRONG_CITATION", "correct_answer": "Cid"},
        ],
    ],
)  # fmt: skip
def test_keys_of_every_form_say_the_same(data: Path, tmp_path: Path, key: object) -> None:
    assert told(data, key, tmp_path) == {"pair/2": "to pay the rent", "pair/3": ""}


def test_what_a_key_changes_is_kept_beside_it_and_counted(data: Path, tmp_path: Path) -> None:
    key = {"pair/1": None, "pair/2": 2022, "pair/3": "Ana's cousin"}
    [group] = apply_answer_key(read_qa(data), read_answer_key(save(tmp_path, "key.json", key)))
    assert group.dropped[REJECTED] == 1
    same, new = group.samples
    assert "published" not in same.extra
    assert new.extra["published"] == ""
    assert new.extra["answerable"]
    assert {"rubric", "ordered"}.isdisjoint(new.extra)


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ([audited(), {"id": "pair/9", "answer": "x"}], "entry 2: 'pair/9' is no question"),
        ([audited(question="Who?")], "entry 1: 'locomo_0_qa1' is no question of the set"),
        ([audited(conversation="conv-1")], "'locomo_0_qa1' is no question of the set"),
        ([audited(golden_answer="2023")], "another version of the set: it says that '2023'"),
        ([audited(), {"id": "pair/2", "answer": "x"}], "entry 2: another entry is about pair/2"),
        ([{"id": "pair/1"}], 'entry 1: an entry needs "id" or "question", and "answer"'),
        ([{"answer": "x"}], "entry 1: an entry needs"),
        (["x"], "entry 1: an entry is an object"),
        ({"pair/1": ["x"]}, 'entry 1: "question" is a text, and "answer" a text'),
        ([], "it holds no answer"),
    ],
)
def test_an_entry_that_fits_nothing_is_named(
    data: Path, tmp_path: Path, key: object, why: str
) -> None:
    with pytest.raises(BadInput) as caught:
        told(data, key, tmp_path)
    assert why in str(caught.value)
    assert "key.json" in str(caught.value)


def test_words_that_several_conversations_ask_need_more(tmp_path: Path) -> None:
    first, second = records()[0], records()[0]
    two = [first, second | {"sample_id": "other"}]
    data = save(tmp_path, "two.json", two)
    entry = {"question": "Why does Bo work?", "answer": "x"}
    with pytest.raises(BadInput, match='asked several times; give its "id" or its "conversation"'):
        told(data, [entry], tmp_path)
    found = told(data, [{**entry, "sample_id": "other"}], tmp_path)
    assert (found["pair/2"], found["other/2"]) == ("2022", "x")
    second["qa"][1]["answer"] = 1999
    data = save(tmp_path, "two.json", two)
    found = told(data, [audited()], tmp_path)
    assert (found["pair/2"], found["other/2"]) == ("to pay the rent", "1999")


@pytest.mark.slow
def test_one_run_has_both_scores_and_asks_nothing_twice(
    run: Terminal, data: Path, tmp_path: Path
) -> None:
    key = str(save(tmp_path, "key.json", [audited(), {"id": "pair/1", "answer": None}]))
    first, again, outset = (tmp_path / name for name in ("first", "again", "outset"))
    with ScriptedServer() as server:
        judge = ["--judge", "openai:j", "--judge-base-url", server.base_url]
        model = ["--model", "openai:m", "--base-url", server.base_url]
        qa = ["bench", "qa", str(data), *model, *judge, "--metric", "f1", "--metric", "right"]
        run.bare(*qa, "--out", str(first))
        asked = len(server.calls)
        shown = run.bare(
            "bench", "rescore", str(first), "--answers", key, *judge, "--out", str(again)
        )
        assert len(server.calls) == asked + 1  # the verdict of what the key changed
        run.bare(*qa, "--answers", key, "--out", str(outset))
    assert "dropped: 1 question that the answer key rejects" in shown.out
    published, rescored, keyed = (RunFolder(one).results() for one in (first, again, outset))
    assert set(rescored) == set(keyed) == {"pair/2", "pair/3"}
    for id, item in rescored.items():
        assert item.answer == published[id].answer == keyed[id].answer
        assert item.scores == keyed[id].scores
    assert rescored["pair/2"].reference == "to pay the rent"
    assert rescored["pair/3"] == published["pair/3"]
    assert RunFolder(first).summary()["metrics"]["right"]["n"] == 3
    assert RunFolder(again).summary()["metrics"]["right"]["n"] == 2


def test_a_key_may_have_more_than_a_run_was_asked(
    run: Terminal, data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "part"
    run.bare("bench", "qa", str(data), "--metric", "f1", "--limit", "1", "--out", str(folder))
    more = {"id": "pair/2", "answer": "x"}
    key = save(tmp_path, "key.json", [{"id": "pair/1", "answer": "cashews"}, more])
    plan = rescore_task(folder, key)
    assert plan.answered["pair/1"].reference == "cashews"
    assert plan.groups[0].dropped == {NOT_ASKED: 1}
    with pytest.raises(BadInput, match="no entry of it is about a question of the run"):
        rescore_task(folder, save(tmp_path, "key.json", [more]))


def test_a_run_can_be_measured_by_something_else(run: Terminal, data: Path, tmp_path: Path) -> None:
    first, again = str(tmp_path / "first"), str(tmp_path / "again")
    run.bare("bench", "qa", str(data), "--metric", "f1", "--metric", "evidence", "--out", first)
    run.bare("bench", "rescore", first, "--metric", "exact", "--out", again)
    items = RunFolder(Path(again)).results()
    assert set(items["pair/1"].scores) == {"exact"}
    assert rescore_task(Path(first), limit=1).answered.keys() == {"pair/1"}
    own = rescore_task(Path(first)).metrics
    assert [measure.name for measure in own] == ["f1", "evidence"]
    missing = run.bare("bench", "rescore", str(tmp_path), fine=False)
    assert missing.code == 2
    assert "not a run's folder" in missing.err
