"""Wording of questions and of what was said: slips of the pen, pronouns, and who spoke."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

import theanine
from theanine.recall.spelling import common_words, is_common_word
from theanine.types import History, Transcript, Utterance

START = datetime(2025, 3, 1, 9, tzinfo=UTC)
TALK = [  # sessions of what was said by turns
    ["I booked a restaurant for our anniversary.", "How nice! Which one?", "The Galley."],
    ["The password of the cabin is on the fridge.", "Noted.", "Nobody else knows it."],
    ["I adopted a cat from the shelter.", "What is she called?", "Her name is Miso."],
    ["Grandma said that every storm is a teacher.", "Wise words.", "It made me weep."],
    ["Recommend me a gift for Klara.", "A leather logbook, I'd say.", "Perfect."],
    ["My hydrangea is losing leaves.", "I'd recommend less water and more shade.", "Thanks."],
    ["The boiler rattles again.", "Have you called the plumber?", "The plumber comes on Monday."],
    ["We sailed to Vis with the children.", "Was it windy?", "The sails were full all day."],
]
MISSPELLED = ["restaurant", "anniversary", "password", "hydrangea", "plumber", "shelter"]


@pytest.fixture(scope="module", params=["encoder", "wordllama"])
def ana(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[theanine.UserMemory]:
    path = tmp_path_factory.mktemp("wording") / "m.db"
    transcripts = [
        Transcript(
            key=str(day),
            at=START + timedelta(days=day),
            turns=[
                Utterance(
                    speaker=("ana", "assistant")[minute % 2],
                    role=("user", "assistant")[minute % 2],
                    text=text,
                    at=START + timedelta(days=day, minutes=minute),
                )
                for minute, text in enumerate(talk)
            ],
        )
        for day, talk in enumerate(TALK)
    ]
    with theanine.open(path, embedder=request.param) as client:
        client.user("ana").log(History(name="ana", transcripts=transcripts))
        yield client.user("ana")


def _slip(word: str, random: Random) -> str:
    """Return a word with one letter left out, doubled, changed or swapped; not the first."""
    at = random.randrange(1, len(word) - 1)
    before, here, after = word[:at], word[at], word[at + 1 :]
    return random.choice(
        [
            before + after,
            before + here + here + after,
            before + chr((ord(here) - ord("a") + random.randrange(1, 26)) % 26 + ord("a")) + after,
            before + after[0] + here + after[1:],
        ]
    )


@pytest.mark.parametrize("word", MISSPELLED)
@pytest.mark.parametrize("seed", range(8))
def test_a_slip_of_the_pen_finds_the_word(ana: theanine.UserMemory, word: str, seed: int) -> None:
    slip = _slip(word, Random(seed))
    if is_common_word(slip):
        pytest.skip("another word")
    assert word in ana.recall(f"What about the {slip}?", limit=1).text


@pytest.mark.parametrize("word", MISSPELLED)
@pytest.mark.parametrize("seed", range(4))
def test_a_slip_in_another_form_finds_the_word(
    ana: theanine.UserMemory, word: str, seed: int
) -> None:
    slip = _slip(word, Random(seed)) + "s"
    if is_common_word(slip) or not word.endswith(("r", "t", "d", "a")):
        pytest.skip("another word")
    assert word in ana.recall(f"What about the {slip}?", limit=1).text


@pytest.mark.parametrize("word", ["xyzzy", "zorkmid", "asdfgh", "blivet", "frobnicator"])
def test_what_is_no_word_finds_nothing(ana: theanine.UserMemory, word: str) -> None:
    assert not ana.recall(f"{word}?").parts


def test_what_a_pronoun_stands_for_is_shown(ana: theanine.UserMemory) -> None:
    assert "every storm is a teacher" in ana.recall("What made me weep?").text


def test_what_refers_to_the_answer_is_shown(ana: theanine.UserMemory) -> None:
    assert "Miso" in ana.recall("Which pets did I adopt? List all.").text


@pytest.mark.parametrize(
    "question",
    ["What did you recommend?", "What did you suggest to me?", "What was your advice?"],
)
def test_what_the_assistant_said_is_shown(ana: theanine.UserMemory, question: str) -> None:
    assert "less water and more shade" in ana.recall(question, limit=3).text


ROLES = [("wife", "Petra, my wife, laughed."), ("boss", "My boss Henrik sails, too."),
         ("neighbor", "Our neighbor is called Ivo.")]  # fmt: skip
NAME_QUESTIONS = ["What's my {}'s name?", "What is the name of my {}?", "My {}, what's the name?"]


@pytest.mark.parametrize(("role", "told"), ROLES)
@pytest.mark.parametrize("question", NAME_QUESTIONS)
def test_a_name_is_that_of_the_one_asked_for(
    tmp_path: Path, role: str, told: str, question: str
) -> None:
    with theanine.open(tmp_path / "m.db") as client:
        user = client.user("ana")
        for text in ("I adopted a cat.", "Her name is Miso.", "The ferry is named Vis.", told):
            user.add(text)
        assert told in user.recall(question.format(role), limit=1).text


@pytest.mark.parametrize(
    "question", ["Wie heißt meine Katze?", "Comment s'appelle mon chat ?", "我的猫叫什么？"]
)
def test_a_name_is_found_in_another_language(ana: theanine.UserMemory, question: str) -> None:
    assert "Miso" in ana.recall(question, limit=1).text


def test_the_question_that_a_pronoun_answers_is_shown(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "m.db") as client:
        talk = client.user("ana").session("pets")
        talk.hear("We have a dog now.")
        talk.say("How does Miso take it?")
        talk.hear("She hisses from the wardrobe.")
        found = client.user("ana").recall("Who hisses from the wardrobe?")
        assert "Miso" in found.text


def test_common_words_are_whole_and_common() -> None:
    words = common_words(1_000)
    assert len({*words}) == 1_000 and {"people", "house"} <= {*words}
    assert all(word.isalpha() and is_common_word(word) for word in words)
