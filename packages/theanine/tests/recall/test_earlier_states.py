"""How something was at a time, or before an event: often told long before."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import theanine
from theanine.types import History, Transcript, Utterance

TOLD = {
    datetime(2024, 2, 3, 9, tzinfo=UTC): [
        "I live in a flat in Ghent, by the canal.",
        "Meine Wohnung ist in der Lindenstraße.",
        "Vivo en un piso de la calle Olmos.",
    ],
    datetime(2024, 6, 8, 9, tzinfo=UTC): ["The wedding of Petra was lovely.", "We danced a lot."],
    datetime(2024, 9, 21, 9, tzinfo=UTC): [
        "We moved to Antwerp, I live near the harbor now.",
        "Ich bin nach Kiel gezogen, meine Wohnung ist jetzt am Hafen.",
        "Me mudé a Sevilla, vivo en la calle Betis.",
    ],
    datetime(2025, 1, 12, 9, tzinfo=UTC): ["The radiator in the kitchen leaks."],
}


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Iterator[theanine.UserMemory]:
    transcripts = [
        Transcript(
            key=str(at),
            at=at,
            turns=[Utterance(speaker="ana", text=text, at=at) for text in said],
        )
        for at, said in TOLD.items()
    ]
    now = datetime(2025, 3, 1, 9, tzinfo=UTC)
    path = tmp_path_factory.mktemp("earlier") / "m.db"
    with theanine.open(path, clock=lambda: now) as client:
        client.user("ana").log(History(name="ana", transcripts=transcripts))
        yield client.user("ana")


@pytest.mark.parametrize("time", ["in June 2024", "last summer", "in the summer of 2024"])
@pytest.mark.parametrize("question", ["Where was I living {}?", "Where did I live {}?"])
def test_a_state_of_a_time_may_have_been_told_before(
    ana: theanine.UserMemory, question: str, time: str
) -> None:
    found = ana.recall(question.format(time)).text
    assert "Ghent" in found
    assert "Antwerp" not in found


@pytest.mark.parametrize("question", ["What happened in June 2024?", "What did we do last June?"])
def test_what_happened_then_was_told_then(ana: theanine.UserMemory, question: str) -> None:
    found = ana.recall(question).text
    assert "wedding" in found
    assert "Ghent" not in found


def test_nothing_was_so_before_the_first_word(ana: theanine.UserMemory) -> None:
    assert not ana.recall("Where was I living in May 2022?").parts


@pytest.mark.parametrize(
    ("question", "before", "after"),
    [
        ("Where did I live before we moved to Antwerp?", "Ghent", "Antwerp"),
        ("Before we moved to Antwerp, where did I live?", "Ghent", "Antwerp"),
        ("Wo war meine Wohnung, bevor ich nach Kiel gezogen bin?", "Lindenstraße", "Hafen"),
        ("¿Dónde vivía antes de mudarme a Sevilla?", "Olmos", "Sevilla"),
    ],
)
def test_before_an_event_counts_what_was_told_before_it(
    ana: theanine.UserMemory, question: str, before: str, after: str
) -> None:
    found = ana.recall(question, limit=1).text
    assert before in found
    assert after not in found


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Where did I work before Google?", "Before Google I worked at IBM."),
        ("Where did we live before we moved to Bruges?", "We moved from Lille to Bruges."),
        ("Where was my desk before the move?", "Until the move my desk was by the window."),
        ("Where did I stay before bed?", "I stayed at the lake and bought a new bed."),
        ("Où est-ce que j'habitais avant d'aller à Lyon ?", "J'habitais à Nantes avant Lyon."),
        ("Dove abitavo prima dell'incidente?", "Prima dell'incidente abitavo a Pisa."),
    ],
)
def test_the_event_may_be_told_with_what_was_before(
    tmp_path: Path, question: str, told: str
) -> None:
    with theanine.open(tmp_path / "m.db") as client:
        client.user("ana").add(told)
        assert told in client.user("ana").recall(question).text


@pytest.mark.parametrize(
    "question",
    [
        "What did I have for lunch on 5 March 2025?",
        "Where was the party in March 2025?",
        "Who was singing at the party in March 2025?",
        "What was decided about the fence in March 2025?",
    ],
)
def test_an_event_of_a_time_was_not_told_before(tmp_path: Path, question: str) -> None:
    at = datetime(2024, 1, 4, 9, tzinfo=UTC)
    said = [
        "For lunch I had soup.",
        "The party was at Petra's, and Tom was singing.",
        "It was decided to paint the fence.",
    ]
    turns = [Utterance(speaker="ana", text=text, at=at) for text in said]
    now = datetime(2025, 4, 1, 9, tzinfo=UTC)
    with theanine.open(tmp_path / "m.db", clock=lambda: now) as client:
        user = client.user("ana")
        user.log(History(name="ana", transcripts=[Transcript(key="a", at=at, turns=turns)]))
        assert not user.recall(question).parts


@pytest.mark.parametrize(
    "question",
    ["Where do I live?", "I know we spoke of it before: where do I live?", "Where did I live?"],
)
def test_other_questions_are_not_of_an_earlier_time(
    ana: theanine.UserMemory, question: str
) -> None:
    assert "Antwerp" in ana.recall(question).text


def test_the_turns_before_a_question_count_with_its_event(ana: theanine.UserMemory) -> None:
    dialogue = [
        Utterance(speaker="ana", text="Let's talk about Petra.", at=datetime.now(UTC)),
        Utterance(
            speaker="ana", text="Where did she live before the wedding?", at=datetime.now(UTC)
        ),
    ]
    assert ana.recall(dialogue).query == "Let's talk about Petra.\nWhere did she live"
