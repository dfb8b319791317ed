"""Which sentences are statements of the user's, and about what; what never is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from theanine.profile import AREAS
from theanine.profile.statements import PASTED, read_turn
from theanine.types import Role, Turn

STATED = {
    "about": ("My name is Ana Marin.", "I'm 34.", "I speak Croatian.", "Ich heiße Ana."),
    "home": ("I live in Rijeka.", "We moved to Delft.", "Ich wohne in Graz.", "Vivo en Cuenca."),
    "work": ("I work as a nurse.", "I'm a teacher.", "I teach maths.", "Je travaille à Lyon."),
    "people": ("My sister Marta lives in Split.", "I'm married.", "I have two sons."),
    "health": ("I'm allergic to hazelnuts.", "I have asthma.", "I don't eat meat."),
    "likes": ("I love old maps.", "I swim there every Friday.", "My favorite color is green."),
    "plans": ("I'm learning Danish.", "I want to see Kumasi.", "We've booked a cabin."),
    "possessions": ("I have a dog.", "I've bought a red van.", "We have two cats."),
    "rules": ("Use tabs.", "Always answer in French.", "Call me Ana.", "Nenne mich bitte Ana."),
}
SAID = [(area, text) for area, texts in STATED.items() for text in texts]

RULES = (
    "use tabs",
    "Use tabs, not spaces.",
    "always answer in french",
    "Please never commit to main.",
    "Don't use emojis.",
    "Keep your answers short.",
    "Never suggest pork.",
    "From now on, use metric units.",
    "We use pnpm in this repo.",
    "Prefer composition over inheritance.",
    "Run the tests before every commit.",
    "When I ask for code, give me only code.",
    "Be concise.",
    "Antworte immer auf Deutsch.",
    "Responde siempre en español.",
    "Réponds toujours en français.",
)
NO_RULES = (
    "Use the second one.",
    "Use this file.",
    "Never mind.",
    "Don't worry.",
    "Don't tell anyone.",
    "Always the same with him.",
    "Tell me a joke.",
    "Fix the failing test.",
    "Run the tests.",
    "He said always use tabs.",
    "If I were you I'd use tabs.",
    "Can you answer in French?",
    "Don't use this function here.",
    "I always use the bus.",
    "I'd rather carry it than say no.",
    "Keep it simple today.",
    "Use your head.",
)


def said(text: str, role: Role = "user") -> Turn:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    return Turn(id=1, session=1, text=text, speaker="Ana", role=role, at=at)


def areas_of(turn: Turn) -> list[str]:
    read = read_turn(turn)
    return [statement.area for statement in read.statements] if read else []


def test_there_is_a_case_for_each_area() -> None:
    assert {*STATED} == {*AREAS}


@pytest.mark.parametrize(("area", "text"), SAID)
def test_a_statement_has_its_area_and_its_words(area: str, text: str) -> None:
    read = read_turn(said(text))
    assert read is not None
    assert [(found.area, found.text) for found in read.statements] == [(area, text)]


NOT_MEANT: dict[str, Callable[[str], str]] = {
    "question": lambda text: f"{text.rstrip('.')}?",
    "condition": lambda text: f"If it rained, {text[0].lower()}{text[1:]}",
    "joke": lambda text: f"{text} Just kidding!",
    "game": lambda text: f"Let's pretend. {text}",
    "example": lambda text: f"Translate this, for example: {text}",
    "quotation": lambda text: f"He wrote “{text}” on the wall.",
    "cited lines": lambda text: f"> {text}",
    "code": lambda text: f"```\n{text}\n```",
    "pasted text": lambda text: f"{text} {'Lorem ipsum dolor sit amet. ' * (PASTED // 20)}",
}


@pytest.mark.parametrize("kind", NOT_MEANT)
@pytest.mark.parametrize("text", [text for _, text in SAID if text.isascii()])
def test_what_is_not_meant_states_nothing(kind: str, text: str) -> None:
    if kind == "condition" and not text.startswith(("I", "My", "We")):
        pytest.skip("a rule with a condition is a rule")
    assert areas_of(said(NOT_MEANT[kind](text))) == []


@pytest.mark.parametrize("matter", ["swimming", "the choir", "my diet"])
@pytest.mark.parametrize(
    "wish", ["I want to stay with", "I hope to stick to", "We intend to continue with"]
)
def test_a_wish_to_go_on_is_a_habit(wish: str, matter: str) -> None:
    assert areas_of(said(f"{wish} {matter}.")) == ["likes"]


@pytest.mark.parametrize("text", ["I want to stay in Rome this year.", "I hope to learn to swim."])
def test_a_wish_for_something_new_is_a_plan(text: str) -> None:
    assert areas_of(said(text)) == ["plans"]


@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
@pytest.mark.parametrize("text", [text for _, text in SAID])
def test_words_of_others_state_nothing(role: Role, text: str) -> None:
    assert areas_of(replace(said(text), role=role)) == []


@pytest.mark.parametrize("text", RULES)
def test_what_is_asked_of_the_assistant_for_good_is_a_rule(text: str) -> None:
    assert areas_of(said(text)) == ["rules"]


@pytest.mark.parametrize("text", NO_RULES)
def test_what_is_asked_once_is_none(text: str) -> None:
    assert "rules" not in areas_of(said(text))


def test_a_sentence_is_cut_between_areas() -> None:
    read = read_turn(said("I live in Rijeka and I work as a nurse, and I have a dog."))
    assert read is not None
    assert [(each.area, each.text) for each in read.statements] == [
        ("home", "I live in Rijeka"),
        ("work", "I work as a nurse"),
        ("possessions", "I have a dog."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "She says I'm a teacher.",
        "I used to live in Rijeka.",
        "I no longer live in Rijeka.",
        "Maybe I live in a dream.",
        "I wish I had a dog.",
        "I would love a dog.",
        "I was a nurse.",
        "I'm not a nurse.",
        "I don't live in Rijeka.",
    ],
)
def test_what_does_not_hold_is_none(text: str) -> None:
    assert areas_of(said(text)) == []


def test_odd_texts_are_read_in_time() -> None:
    for text in ("a" * 1_900, "i " * 900, "my my " * 300, "I'm " + "very " * 350, "(" * 1_500):
        read_turn(said(text))
