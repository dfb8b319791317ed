"""What is known of a user: what holds, what it was, who comes up, as of now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.demo import HARBOUR
from theanine.embeddings.base import Vectors
from theanine.embeddings.hashing import HashEmbedder
from theanine.importers import read_histories
from theanine.profile import BUDGET, Profile
from theanine.profile.reading import SENTENCES
from theanine.profile.statements import Statement, read_turn
from theanine.profile.states import comparable
from theanine.retrieval.log_index import AT_ONCE
from theanine.tokenizer import count_tokens
from theanine.types import NO_MODEL_NOTICE, Turn, Utterance

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[theanine.Client]:
    with theanine.open(tmp_path / "m.db", clock=lambda: START + timedelta(days=400)) as client:
        yield client


@pytest.fixture
def ana(client: theanine.Client) -> theanine.UserMemory:
    return client.user("ana")


def add(ana: theanine.UserMemory, *texts: str) -> None:
    """Have the user say one thing a month."""
    for month, text in enumerate(texts):
        ana.add(text, at=START + timedelta(days=30 * month))


def held(profile: Profile, area: str) -> list[str]:
    return [line.text for line in profile.areas.get(area, ())]


def test_nothing_is_known_of_nobody(ana: theanine.UserMemory) -> None:
    assert not ana.profile()
    assert ana.profile().text == ""
    add(ana, "Hello!", "What's the weather like?")
    assert not ana.profile()


def test_each_line_has_its_source_and_since_when(ana: theanine.UserMemory) -> None:
    add(ana, "I'm allergic to hazelnuts.", "Hello.", "As I wrote, I'm allergic to hazelnuts.")
    [line] = ana.profile().lines
    turns = {turn.id: turn for turn in ana.turns()}
    assert turns[line.turn].text == line.text and turns[line.turn].session == line.session
    assert (line.since, line.at) == (START, START + timedelta(days=60))
    assert line.certainty == "repeated"


@pytest.mark.parametrize(
    ("older", "newer", "area"),
    [
        ("I live in Rijeka.", "I moved to Ljubljana last weekend.", "home"),
        ("I live in Rijeka.", "We live in a flat in Delft.", "home"),
        ("My name is Ana Marin.", "My name is Ana Novak.", "about"),
        ("Always answer in French.", "Always answer in German.", "rules"),
        ("Use tabs.", "Use spaces.", "rules"),
        ("I work at the shipyard.", "I work at a honey cooperative.", "work"),
    ],
)
def test_what_holds_comes_with_what_it_was(
    ana: theanine.UserMemory, older: str, newer: str, area: str
) -> None:
    add(ana, older, newer)
    profile = ana.profile()
    assert held(profile, area) == [newer]
    [line] = profile.areas[area]
    assert [state.text for state in line.before] == [older]
    assert [(change.text, change.before.text) for change in profile.changes] == [(newer, older)]
    before = ana.profile(as_of=START + timedelta(days=1))
    assert held(before, area) == [older] and not before.changes


@pytest.mark.parametrize(
    ("statement", "ending"),
    [
        ("I work at the shipyard.", "I quit my job at the shipyard."),
        ("I'm afraid of ships.", "I'm not afraid of ships any more."),
        ("I work at the shipyard.", "I no longer work at the shipyard."),
    ],
)
def test_what_has_ended_is_a_change(ana: theanine.UserMemory, statement: str, ending: str) -> None:
    add(ana, statement, ending)
    profile = ana.profile()
    assert not profile.lines
    assert [(c.text, c.before.text) for c in profile.changes] == [(ending, statement)]


PLACES = ("the bakery", "a law firm in Split", "the harbor clinic", "Kraft Motors")
KEPT = ("I work nights at {}.", "I work at {} as a cleaner.", "I work for {}.")
LEFT = ("I quit {}.", "I've resigned from {}.", "I left my job at {}.")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("left", LEFT)
def test_what_one_leaves_holds_no_more(ana: theanine.UserMemory, place: str, left: str) -> None:
    other = PLACES[PLACES.index(place) - 1]
    working = [form.format(place) for form in KEPT]
    said = working[len(left) % len(working)]
    add(ana, said, left.format(other), f"I left {place} at six.")
    assert said in held(ana.profile(), "work")
    add(ana, left.format(place))
    assert said not in held(ana.profile(), "work")


def test_things_that_both_hold_stay(ana: theanine.UserMemory) -> None:
    told = ["I have a dog.", "I have two cats.", "I love old maps.", "I'm allergic to hazelnuts."]
    add(ana, *told, "I'm allergic to penicillin.")
    assert {line.text for line in ana.profile().lines} == {*told, "I'm allergic to penicillin."}


def test_a_plan_is_over_when_its_time_is(ana: theanine.UserMemory) -> None:
    add(ana, "I'm going to run a marathon in April 2026.", "Hi.", "Hi.", "I want to learn to sail.")
    assert held(ana.profile(), "plans") == ["I want to learn to sail."]
    add(ana, *["Hello."] * 9)
    assert not ana.profile()


def test_a_correction_counts_at_once(ana: theanine.UserMemory) -> None:
    add(ana, "I live in Rijeka and I work as a nurse at the harbor clinic.")
    [memory] = ana.memories()
    ana.correct(memory.id, "I live in Split and I work as a nurse at the harbor clinic.")
    profile = ana.profile()
    assert held(profile, "home") == ["I live in Split"]
    [home] = profile.areas["home"]
    assert home.is_correction and [state.text for state in home.before] == ["I live in Rijeka"]
    [work] = profile.areas["work"]
    assert not work.is_correction and not work.before
    [corrected] = [each for each in ana.memories() if "Split" in each.text]
    ana.correct(corrected.id, "Her home is unknown.")
    assert held(ana.profile(), "home") == ["Her home is unknown."]


@pytest.mark.parametrize("what", ["turn", "session", "memory"])
def test_what_is_forgotten_is_gone_at_once(ana: theanine.UserMemory, what: str) -> None:
    add(ana, "I live in Rijeka, my sister Marta lives in Split.", "I have a dog called Bura.")
    assert held(ana.profile(), "home") and "Marta" in str(ana.profile())
    [memory] = [each for each in ana.memories() if "Rijeka" in each.text]
    turn, session = memory.source_turns[0], memory.session
    chosen: dict[str, Any] = {"turn": turn, "session": session, "memory": memory.id}
    ana.forget(**{what: chosen[what]})
    left = ana.profile()
    assert [line.area for line in left.lines] == ["possessions"]
    assert "Marta" not in str(left) and "Rijeka" not in str(left)
    ana.forget_all()
    assert not ana.profile()


def test_only_the_users_words_count(ana: theanine.UserMemory) -> None:
    ana.add(
        [
            {"role": "user", "content": "What do you know?"},
            {"role": "assistant", "content": "You live in Rome. I live in a cloud, my friend Bo."},
            {"role": "user", "content": "Suppose I lived in Oslo."},
        ]
    )
    assert not ana.profile()


def test_others_in_a_chat_are_not_the_user(client: theanine.Client) -> None:
    def chat() -> list[Utterance]:
        words = [("Ana", "I live in Rijeka."), ("Tom", "I live in Graz."), ("Ana", "Nice.")]
        return [Utterance(text=text, speaker=name, at=START) for name, text in words]

    for user, expected in (("ana", ["I live in Rijeka."]), ("tom", ["I live in Graz."])):
        client.user(user).add(chat())
        assert held(client.user(user).profile(), "home") == expected
    client.user("u17").add(chat())
    assert not client.user("u17").profile()


def test_who_and_what_comes_up(ana: theanine.UserMemory) -> None:
    add(
        ana,
        "My sister Marta plays the clarinet. I have a dog called Bura.",
        "Marta, whom we call Mara, came from Split.",
        "Bura ate my shoe. Is Pavao coming?",
        "I moved to Ljubljana, and Marta says hello.",
    )
    found = {entity.name: entity for entity in ana.profile().entities}
    assert {"Marta", "Bura", "Ljubljana"} <= found.keys() and "Pavao" not in found
    marta, bura = found["Marta"], found["Bura"]
    assert (marta.kind, marta.relation, marta.mentions) == ("person", "sister", 3)
    assert marta.introduced.text == "My sister Marta plays the clarinet."
    assert marta.last_at == START + timedelta(days=90)
    assert (bura.kind, bura.relation, bura.turns) == ("animal", "dog", (3, 1))
    assert found["Ljubljana"].kind == "place"


def test_the_form_for_a_prompt_keeps_to_its_budget(ana: theanine.UserMemory) -> None:
    things = "a car,a boat,a piano,a horse,a cello,a guitar,a van,a drone,a flute,a laptop"
    add(ana, *(f"I have {thing}." for thing in things.split(",")), "Use tabs.", "I love maps.")
    profile = ana.profile()
    for budget in (0, 5, 30, 60, BUDGET):
        text = profile.within(budget)
        assert count_tokens(text) <= budget
        assert budget < 30 or text.startswith("Rules for the assistant:\n“Use tabs.”")
    assert "I love maps." in profile.within(60)
    assert profile.text == profile.within(BUDGET)


def test_a_recollection_begins_with_it(ana: theanine.UserMemory) -> None:
    add(ana, "Always answer in French.", "I'm allergic to hazelnuts.", "I live in Rijeka.")
    found = ana.recall("Which cake may I eat, with hazelnuts?", profile=True, budget=200)
    assert found.parts[0].text == ana.profile().within(100)
    assert found.parts[0].pinned and not found.parts[0].memories
    assert {turn.text for turn in found.parts[0].source_turns} >= {"Always answer in French."}
    assert any("hazelnuts" in part.text for part in found.parts[1:])
    assert count_tokens(found.text) <= 200
    irrelevant = ana.recall("What does the Haskell compiler return?", profile=True)
    assert [part.text for part in irrelevant.parts] == [ana.profile().text]
    assert not ana.recall("What does the Haskell compiler return?")
    assert "Always answer in French." in irrelevant.messages()[0]["content"]


def test_what_the_dialogue_shows_is_not_told_again(ana: theanine.UserMemory) -> None:
    with ana.session() as session:
        session.hear("I live in Rijeka.")
        assert not session.recall(profile=True)


def test_the_demo(ana: theanine.UserMemory) -> None:
    ana.log(read_histories(HARBOUR).histories[0])
    profile = ana.profile()
    assert held(profile, "home") == [
        "I moved to Ljubljana last weekend, and Bura and I live in a small flat in the Trnovo "
        "quarter."
    ]
    assert "I'm allergic to hazelnuts and her treats are full of them." in held(profile, "health")
    sure = [line.text for line in profile.lines if line.certainty != "may be outdated"]
    assert not any("shipyard" in text or "afraid" in text for text in sure)
    relations = {entity.name: entity.relation for entity in profile.entities if entity.relation}
    assert relations == {
        "Bura": "dog",
        "Lucija": "sister",
        "Petra": "friend",
        "Tine": "neighbour",
    }


BOTH_HOLD = [
    ("Always answer in French.", "Please answer in short sentences."),
    ("Always answer in French.", "Always reply in Markdown."),
    ("Always answer in French.", "Always answer in Markdown."),
    ("I work as a nurse.", "I work at the harbour clinic."),
    ("I work for Siemens.", "I work for two hours every day."),
    ("I work at the harbour clinic.", "I work at night."),
    ("I live in Rijeka.", "I live near the river."),
    ("I live in Rijeka.", "I live on the third floor."),
    ("I live in Rijeka.", "I live in a small flat."),
    ("Antworte auf Deutsch.", "Antworte kurz."),
    ("Ich wohne in Graz.", "Ich wohne im dritten Stock."),
    ("Responde en español.", "Responde con frases cortas."),
    ("Vivo en Cuenca.", "Vivo en el tercer piso."),
    ("Réponds en français.", "Réponds avec des phrases courtes."),
    ("J'habite à Lyon.", "J'habite au troisième étage."),
]
ONE_HOLDS = [
    ("I live in Rijeka.", "I live in Split."),
    ("I live in the Netherlands.", "I'm living in Graz."),
    ("I live in a flat.", "I live in a house."),
    ("I work as a nurse.", "I work as a teacher."),
    ("I work for Siemens.", "I work for a bakery."),
    ("Antworte auf Deutsch.", "Antworte immer auf Englisch."),
    ("Ich wohne in Graz.", "Ich wohne in einer Wohnung in Wien."),
    ("Responde en español.", "Responde siempre en inglés."),
    ("Vivo en Cuenca.", "Vivo en Toledo."),
    ("Réponds en français.", "Réponds toujours en anglais."),
    ("J'habite à Lyon.", "J'habite à Nantes."),
]


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("both", BOTH_HOLD)
def test_what_holds_besides_ends_nothing(
    ana: theanine.UserMemory, both: tuple[str, str], is_turned: bool
) -> None:
    add(ana, *(reversed(both) if is_turned else both))
    profile = ana.profile()
    assert both[0] in {line.text for line in profile.lines}
    assert not profile.changes and not any(line.before for line in profile.lines)


@pytest.mark.parametrize(("older", "newer"), ONE_HOLDS)
def test_what_one_has_once_only_is_replaced(
    ana: theanine.UserMemory, older: str, newer: str
) -> None:
    add(ana, older, newer)
    assert [line.text for line in ana.profile().lines] == [newer]


@pytest.mark.parametrize(
    ("told", "correction", "left"),
    [
        ("I have a dog called Bura.", "I don't have any animal.", set[str]()),
        ("I have a dog called Bura.", "I have a dog called Grom.", {"Grom"}),
        ("My sister Marta lives in Split.", "I have no sister.", set[str]()),
        ("My dog Bura ate my shoe.", "I don't have any animal.", set[str]()),
    ],
)
def test_a_corrected_name_is_gone(
    ana: theanine.UserMemory, told: str, correction: str, left: set[str]
) -> None:
    add(ana, told, "I swim every Friday.")
    [memory] = [each for each in ana.memories() if told in each.text]
    assert ana.profile().entities
    ana.correct(memory.id, correction)
    assert {entity.name for entity in ana.profile().entities} == left


class _Hosted:
    """An embedder of which it isn't known where it runs; it keeps what it is asked."""

    name = "hosted"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return HashEmbedder().vectors(texts)


@pytest.mark.parametrize("method", ["theanine", "utterance"])
def test_no_hosted_embedder_is_asked(tmp_path: Path, method: str) -> None:
    embedder = _Hosted()
    with theanine.open(tmp_path / "m.db", method=method, embedder=embedder) as client:
        ana = client.user("ana")
        add(ana, "I live in Rijeka.", "My dog Bura ate.", "I live in Split.", "I'm a teacher.")
        embedder.asked.clear()
        profile = ana.profile()
        assert held(profile, "home") == ["I live in Split."] and profile.entities
        assert held(ana.profile(as_of=START + timedelta(days=1)), "home") == ["I live in Rijeka."]
        assert not embedder.asked
        found = ana.recall("Where do I live?", profile=True)
        assert found.parts[0].text == profile.text


DOUBT = "My new place in Split is nicer than the one in Rijeka."
NOTICE = f"{NO_MODEL_NOTICE} {DOUBT}"


@pytest.mark.parametrize(
    ("speaker", "text", "days", "is_doubtful"),
    [
        ("Ana", DOUBT, 400, True),
        ("Ana", DOUBT, 1, False),
        ("Tom", DOUBT, 400, False),
        ("Ana", NOTICE, 400, False),
    ],
    ids=["own", "later", "another's", "notice"],
)
def test_only_the_users_words_within_the_bounds_make_doubtful(
    ana: theanine.UserMemory, speaker: str, text: str, days: int, is_doubtful: bool
) -> None:
    said = [("Ana", "I live in Rijeka."), ("Tom", "Hello."), ("Ana", "I have a van.")]
    chat = [Utterance(text=text, speaker=name, at=START) for name, text in said]
    later = START + timedelta(days=60)
    ana.add([*chat, Utterance(text=text, speaker=speaker, at=later)])
    [home] = ana.profile(as_of=START + timedelta(days=days)).areas["home"]
    assert home.certainty == ("may be outdated" if is_doubtful else "said")


@pytest.mark.parametrize(
    "texts",
    [
        ["I like plums.", "I like figs.", "I love anchovies."],
        ["I'm allergic to hazelnuts.", "I am vegan.", "I have asthma."],
        ["I have a cat.", "I have a dog.", "I own a boat."],
        ["I play the cello.", "I play chess on Sundays.", "I sing in a choir."],
        ["My sister is called Petra.", "My brother is called Luka.", "My aunt is a nurse."],
    ],
    ids=["likes", "health", "possessions", "habits", "people"],
)
def test_what_is_stated_besides_makes_nothing_doubtful(
    ana: theanine.UserMemory, texts: Sequence[str]
) -> None:
    add(ana, *texts)
    ana.recall("Hello?")  # which makes the vectors
    profile = ana.profile()
    assert {line.text for line in profile.lines} == {*texts}
    assert {line.certainty for line in profile.lines} == {"said"}


LOVED = (
    "I love {0} and {1}.",
    "I live in {0} with {1}.",
    "I work with {0} and {1}.",
    "Always use {0} and {1}.",
    "I have a van from {0} and {1}.",
)


@pytest.mark.parametrize("frame", LOVED)
def test_as_many_statements_are_compared_as_there_are(frame: str) -> None:
    def compared(count: int) -> int:
        found: list[Statement] = []
        for number in range(count):
            words = (f"{letter * 3}{number}" for letter in "BK")
            at = START + timedelta(hours=number)
            told = frame.format(*words)
            turn = Turn(id=number, session=1, text=told, speaker="Ana", role="user", at=at)
            read = read_turn(turn)
            assert read
            found += read.statements
        assert len(found) == count
        return len([*comparable(found)])

    for count in (100, 200, 400):
        assert compared(count) <= count


@pytest.mark.parametrize("name", ["Bettina", "Graciela Ruiz", "Zoran"])
@pytest.mark.parametrize("form", ["{}, who has the studio, wants ten.", "{} said yes.", "{} came."])
def test_a_person_may_begin_a_sentence(ana: theanine.UserMemory, name: str, form: str) -> None:
    add(ana, form.format(name), f"{name} again.", "Everyone said no.", "Everyone came.")
    [found] = ana.profile().entities
    assert (found.name, found.kind, found.mentions) == (name, "person", 2)


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("We asked Marta, my sister, to sing.", "sister"),
        ("We asked Marta, my sister.", "sister"),
        ("It was Marta who is my sister.", "sister"),
        ("There is no Marta, my sister wants Tom.", ""),
    ],
)
def test_an_apposition_has_an_end(ana: theanine.UserMemory, text: str, relation: str) -> None:
    add(ana, text, "Marta called me, and Marta laughed.")
    [marta] = [entity for entity in ana.profile().entities if entity.name == "Marta"]
    assert marta.relation == relation


ROUNDABOUT = {
    "home": "Our flat is on the fourth floor and the lift is broken for good.",
    "work": "I start at the harbor office on Monday, they hired me as a clerk for good.",
    "people": "My sister Vesna has had twins, so I'm an uncle twice over.",
}


@pytest.mark.parametrize(("area", "text"), ROUNDABOUT.items())
def test_what_no_frame_knows_is_read_by_a_model(
    ana: theanine.UserMemory, area: str, text: str
) -> None:
    add(ana, text, "What a lovely day it was.", "How tall is the Eiffel tower?")
    profile = ana.profile()
    assert [line.text for line in profile.lines] == [text]
    assert held(profile, area) == [text]


@pytest.mark.parametrize("text", ROUNDABOUT.values())
def test_a_later_state_makes_a_roundabout_one_doubtful(ana: theanine.UserMemory, text: str) -> None:
    ana.add(text, at=START)
    [line] = ana.profile().lines
    assert line.certainty == "said"
    ana.add(f"No longer so: {text[0].lower()}{text[1:]}", at=START + timedelta(days=200))
    assert [line.certainty for line in ana.profile().lines if line.text == text] != ["said"]


def test_no_more_sentences_are_read_than_are_worth_it(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "m.db") as client:
        ana = client.user("ana")
        for number in range(3 * SENTENCES // 2):
            ana.add(f"My sister Vesna has had twins in house {number}.", at=START)
        assert 0 < len(ana.profile().lines) <= SENTENCES


@pytest.mark.slow
def test_until_the_encoder_has_read_all_wording_alone_tells(ana: theanine.UserMemory) -> None:
    texts = [*(f"Row {number} is fine." for number in range(AT_ONCE)), "I live in Rijeka."]
    ana.add([Utterance(text=text, speaker="ana", at=START) for text in texts])
    assert held(ana.profile(), "home") == ["I live in Rijeka."]
