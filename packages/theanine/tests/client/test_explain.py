"""Why a recall returned what it returned."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import theanine
from theanine.demo import HARBOUR, load_questions
from theanine.errors import BadInput, SettingsError
from theanine.importers import read_histories
from theanine.tokenizer import count_tokens

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Iterator[theanine.UserMemory]:
    """The bundled conversation, remembered; only for reading."""
    location = str(tmp_path_factory.mktemp("explain") / "memory.db")
    with theanine.open(location) as client:
        user = client.user("ana")
        user.log(read_histories(HARBOUR).histories[0])
        user.remember()
        yield user


@pytest.fixture
def client(tmp_path: Path) -> Iterator[theanine.Client]:
    with theanine.open(str(tmp_path / "memory.db")) as opened:
        yield opened


@pytest.mark.parametrize("budget", [40, 120, 600])
def test_an_explanation_is_of_the_same_recall(ana: theanine.UserMemory, budget: int) -> None:
    for asked in load_questions():
        recollection = ana.recall(asked.question, budget=budget)
        explanation = ana.explain(asked.question, budget=budget)
        assert explanation.recollection == recollection
        assert explanation.budget == budget >= explanation.tokens
        assert explanation.tokens == count_tokens(recollection.text)
        messages = recollection.messages()
        assert explanation.prompt == (messages[0]["content"] if messages else "")


def test_what_is_returned_is_in_its_part_and_nothing_else_is(ana: theanine.UserMemory) -> None:
    for asked in load_questions():
        explanation = ana.explain(asked.question, budget=120)
        parts = explanation.recollection.parts
        returned = [each for each in explanation.candidates if each.outcome == "returned"]
        assert {each.part for each in returned} == set(range(len(parts)))
        for each in explanation.candidates:
            assert (each.part is not None) == (each.outcome == "returned")
            assert (each.turn is None) != (each.memory is None)
            if each.part is not None:
                assert each.text in parts[each.part].text


def test_scores_are_by_stage_and_the_best_is_returned(ana: theanine.UserMemory) -> None:
    explanation = ana.explain("Shall we book that cruise?", budget=120)
    assert explanation.stages == (
        "meaning", "words", "evidence", "ranking", "echoes", "antecedents", "states",
    )  # fmt: skip
    assert explanation.candidates[0].outcome == "returned"
    best = max(each.scores["states"] for each in explanation.candidates)
    returned = [each for each in explanation.candidates if each.outcome == "returned"]
    assert best in [each.scores["states"] for each in returned]
    assert all(set(each.scores) <= set(explanation.stages) for each in explanation.candidates)
    assert {each.outcome for each in explanation.candidates} >= {
        "returned", "over_budget", "irrelevant",
    }  # fmt: skip
    assert ana.explain("Shall we book that cruise?", budget=600).recollection.timelines


def test_a_larger_budget_and_the_best_parts(ana: theanine.UserMemory) -> None:
    small, large = (ana.explain("Shall we book that cruise?", budget=n) for n in (60, 600))
    for before, after in zip(small.candidates, large.candidates, strict=True):
        assert (before.turn, before.scores) == (after.turn, after.scores)
    cut = [each for each in small.candidates if each.outcome == "over_budget"]
    assert len(cut) > sum(each.outcome == "over_budget" for each in large.candidates)
    one = ana.explain("Shall we book that cruise?", limit=1)
    assert len(one.recollection.parts) == 1
    assert "over_limit" in {each.outcome for each in one.candidates}


def test_nothing_is_relevant_or_asked(ana: theanine.UserMemory) -> None:
    unknown = ana.explain("Which lectures about quantum chromodynamics?")
    assert {each.outcome for each in unknown.candidates} == {"irrelevant"}
    assert (unknown.prompt, unknown.tokens, unknown.stopped) == ("", 0, "")
    greeting = ana.explain("Hello!")
    assert (greeting.stopped, greeting.candidates) == ("small_talk", ())


def test_what_was_left_out_and_why(client: theanine.Client) -> None:
    bo = client.user("bo")
    for day, text in enumerate(
        ("My cat is called Miso.", "I live in Lisbon.", "I'm allergic to hazelnuts.")
    ):
        bo.add(text, at=AT + timedelta(days=day))
    bo.add("My cat is called Miso.", at=AT + timedelta(days=4))
    bo.remember()
    cat, home, *_ = bo.memories()
    bo.pin(home.id)
    explained = bo.explain("What is my cat called, and where do I live?")
    by_text = {(each.text, each.outcome) for each in explained.candidates}
    assert ("I live in Lisbon.", "pinned") in by_text
    assert {
        ("My cat is called Miso.", "returned"),
        ("My cat is called Miso.", "repeated"),
    } <= by_text
    assert "(pinned) " in explained.prompt
    bo.correct(cat.id, "Bo's cat is called Mochi.")
    corrected = bo.explain("What is my cat called?")
    assert "states" in corrected.stages
    assert "Mochi" in corrected.prompt


def test_a_past_reply_is_explained_as_of_its_time(client: theanine.Client) -> None:
    bo = client.user("bo")
    bo.add("I'm allergic to hazelnuts.", at=AT)
    session = bo.session("friday")
    question = session.hear("Which cake may I eat, no hazelnuts?", at=AT + timedelta(days=1))
    session.reply(at=AT + timedelta(days=1, minutes=1))
    reply = bo.turns(thread="friday")[-1]
    session.end()
    bo.add("Hazelnuts are fine in a cake now.", at=AT + timedelta(days=9))
    explained = bo.explain(reply)
    texts = {each.text: each.outcome for each in explained.candidates}
    assert texts["I'm allergic to hazelnuts."] == "returned"
    assert "Hazelnuts are fine in a cake now." not in texts and question.text not in texts
    assert explained.recalled == reply.recalled
    later = bo.explain(reply, as_of=AT + timedelta(days=10))
    assert "Hazelnuts are fine in a cake now." in {each.text for each in later.candidates}
    with pytest.raises(BadInput, match="begins its session"):
        bo.explain(question)


def test_other_methods_have_ranked_memories(tmp_path: Path) -> None:
    location = str(tmp_path / "memory.db")
    history = read_histories(HARBOUR).histories[0]
    with theanine.open(location, method="utterance", config={"budget": 60}) as client:
        ana = client.user("ana")
        ana.log(history)
        ana.remember()
        explained = ana.explain("Shall we book that cruise?")
        assert (explained.method, explained.stages) == ("utterance", ("retrieval",))
        assert {"returned", "over_budget"} == {each.outcome for each in explained.candidates}
        scores = [each.scores["retrieval"] for each in explained.candidates]
        assert scores == sorted(scores, reverse=True)
        assert all(each.memory for each in explained.candidates)
    with theanine.open(location, method="theanine") as client:
        ana = client.user("ana")
        assert ana.explain("Shall we book that cruise?").method == "theanine"
        other = ana.explain("Shall we book that cruise?", method="utterance", budget=60)
        assert other.recollection == explained.recollection
        assert ana.explain("Shall we book that cruise?", method="secom").candidates == ()
        assert client.method_name == "theanine"
        with pytest.raises(SettingsError, match="nonsense"):
            ana.explain("Shall we book that cruise?", method="nonsense")
