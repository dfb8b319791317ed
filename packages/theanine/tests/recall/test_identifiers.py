"""Numbers, codes and names in questions, and in what was said."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

import theanine
from theanine.embeddings.static import StaticEmbedder
from theanine.recall.identifiers import (
    as_told,
    find_identifiers,
    find_names,
    is_other,
    is_unknown,
)
from theanine.retrieval.candidates import CandidateIndex
from theanine.retrieval.languages import Language, guess_language
from theanine.types import Turn

SHAPES = ("####-####", "@@####", "@@@-####-@", "#.#.#", "@#.##", "####", "+### ## ### ####")


def _made(shape: str, random: Random) -> str:
    letters = {"#": "123456789", "@": "ABCDEFGHKLMNPRSTUVWXZ"}
    return "".join(random.choice(letters[c]) if c in letters else c for c in shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(20))
def test_near_identifiers_are_told_apart(shape: str, seed: int) -> None:
    random = Random(seed)
    code = _made(shape, random)
    while code[:2] in ("19", "20"):  # a year
        code = _made(shape, random)
    place = random.choice([n for n, c in enumerate(code) if c.isdigit() and n > 1])
    near = code[:place] + str((int(code[place]) + random.randint(1, 8)) % 10) + code[place + 1 :]
    asked = find_identifiers(f"What do you know about {code}?")
    assert asked
    assert not is_other(asked, find_identifiers(f"Ordered {code}, the copper pipe."))
    assert is_other(asked, find_identifiers(f"Ordered {near}, the copper pipe."))


def index_of(*texts: str) -> CandidateIndex:
    index = CandidateIndex()
    at = datetime(2026, 5, 1, tzinfo=UTC)
    turns = [
        Turn(text=text, speaker="ana", at=at, id=number, session=1)
        for number, text in enumerate(texts, 1)
    ]
    index.add_turns(turns, StaticEmbedder().vectors)
    return index


_FULL_WIDTH = {n: n + 0xFEE0 for n in range(ord("!"), ord("~") + 1)}


@pytest.mark.parametrize("said", ["予約番号は{}です。", "我的订单号是{}，下周到。", "เลขที่จอง{}ครับ"])
@pytest.mark.parametrize("asked", ["予約番号 {}", "订单{}到了吗？", "What is {}?"])
@pytest.mark.parametrize("shape", ["@@@###", "@#####", "@@##-####"])
@pytest.mark.parametrize("seed", range(3))
def test_codes_are_found_in_writing_without_spaces(
    said: str, asked: str, shape: str, seed: int
) -> None:
    random = Random(seed)
    code, other = _made(shape, random), _made(shape, random)
    wanted = find_identifiers(asked.format(code))
    for written in (code, code.translate(_FULL_WIDTH)):
        assert not is_other(wanted, find_identifiers(said.format(written)))
        index = index_of(said.format(written))
        assert not any(is_unknown(each, index) for each in wanted)
        assert all(is_unknown(each, index) for each in find_identifiers(asked.format(other)))
    assert is_other(wanted, find_identifiers(said.format(other)))


@pytest.mark.parametrize(
    "text",
    [
        "I read 20 pages in 3 days.",
        "We paid 240 euros in 2019 and met at 7:40.",
        "It was the 3rd time that I ran 5k.",
        "the 100 m race",
        "3月5日の15時に1500円払いました",
    ],
)
def test_amounts_and_times_identify_nothing(text: str) -> None:
    assert not find_identifiers(text)


def test_short_numbers_count_with_their_context() -> None:
    asked = find_identifiers("Who lives at 41 Harbor Street?")
    assert is_other(asked, find_identifiers("Klara lives at 14 Harbor Street."))
    assert not is_other(asked, find_identifiers("Klara lives at 14 Church Lane."))


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What is Sabine's phone number?", ("Sabine",)),
        ("Which restaurant did Lana recommend?", ("Lana",)),
        ("Do you remember anything about Heidi?", ("Heidi",)),
        ("Do you know anything of Zürich?", ("Zürich",)),
        ("Which job did my brother Luka get?", ("Luka",)),
        ("What did I do in January?", ()),
        ("Would I like Dr. Seuss?", ()),
    ],
)
def test_names_by_their_place(question: str, names: tuple[str, ...]) -> None:
    assert find_names(question, "en") == names


@pytest.mark.parametrize(
    ("asked", "same", "other"),
    [
        ("bo@sea.example", "Bo@Sea.example", "ana@sea.example"),
        ("https://sea.example/map", "www.sea.example/map?day=1", "https://sea.example/list"),
        ("read_header", "readHeader", None),
    ],
)
def test_addresses_and_symbols_are_told_apart(asked: str, same: str, other: str | None) -> None:
    wanted = find_identifiers(f"What about {asked}?")
    assert any(one.is_same(own) for one in wanted for own in find_identifiers(f"It is {same}."))
    assert not is_other(wanted, find_identifiers(f"It is {same}."))
    if other:
        assert is_other(wanted, find_identifiers(f"It is {other}."))


@pytest.mark.parametrize("address", ["bo@sea.example", "https://moor.example/77"])
def test_an_address_that_nobody_told_is_no_evidence(tmp_path: Path, address: str) -> None:
    with theanine.open(tmp_path / "m.db") as client:
        user = client.user("ana")
        user.add(
            "Mail for the berth goes to ana@quay.example; the map is on https://quay.example/5."
        )
        assert not user.recall(f"Whose is {address}?").parts


@pytest.mark.parametrize(
    "question", ["Wer ist Gundula?", "¿Quién es Gundula?", "Qui est Gundula ?", "Tko je Gundula?"]
)
def test_a_person_whom_nobody_named_is_unknown(tmp_path: Path, question: str) -> None:
    with theanine.open(tmp_path / "m.db") as client:
        client.user("ana").add("Gisela is the doctor of the whole street.")
        assert not client.user("ana").recall(question).parts


NAMED = {
    "en": "When does {} Gundula give lessons?",
    "de": "Was hat {} Gundula gesagt?",
    "es": "¿Te hablé de {} Gundula?",
    "fr": "Où habite {} Gundula ?",
    "it": "Dove abita {} Gundula?",
    "pt": "Onde mora {} Gundula?",
    "hr": "Gdje živi {} Gundula?",
}
BEFORE_NAMES = {
    "en": ("Frau", "Mrs", "my aunt"),
    "de": ("Frau", "", "meine Schwester"),
    "es": ("mi tía", "la señora"),
    "fr": ("ma tante", "Madame"),
    "it": ("mia zia", "la signora"),
    "pt": ("minha tia", "a Dona"),
    "hr": ("teta", "moja sestra", "gospođa"),
}


@pytest.mark.parametrize(
    ("language", "before"),
    [(language, before) for language, each in BEFORE_NAMES.items() for before in each],
)
def test_a_name_is_one_by_what_is_before_it(language: Language, before: str) -> None:
    question = NAMED[language].format(before).replace("  ", " ")
    assert [name[:6] for name in find_names(question, language)] == ["Gundul"]


@pytest.mark.parametrize(
    "asked", ["on 2024-05-08", "in 2019-2021", "on 13-05-2024", "on 08 05 2024", "48 29 15", "IBAN"]
)
def test_dates_and_other_numbers_stay_as_they_are(asked: str) -> None:
    index = index_of("2024", "05", "08", "2019", "2021", "13", "48", "29 and 15")
    assert as_told(f"What was {asked}?", index) == f"What was {asked}?"


@pytest.mark.parametrize("groups", ["48 29 15", "482 915"])
def test_groups_count_where_they_are_together(groups: str) -> None:
    apart = index_of(*groups.split())
    together = index_of(f"The code is {groups}.")
    assert as_told("Is it 482915?", together) == f"Is it {groups}?"
    assert as_told("Is it 482915?", apart) == "Is it 482915?"


def test_a_long_number_is_not_put_in_groups() -> None:
    number = "1234" * 500
    assert as_told(f"Is it {number}?", index_of("12 34 1234")) == f"Is it {number}?"


@pytest.mark.parametrize("asked", ["Wer hat Höhenangst?", "Wer isst Sushi?", "Wer mag Kohlrabi?"])
def test_what_somebody_has_is_no_name(asked: str) -> None:
    assert not find_names(asked, "de")


@pytest.mark.parametrize(
    "question",
    ["Wann hat meine Frau Geburtstag?", "Was hat der Zahnarzt gesagt?", "Was hat Brot gekostet?"],
)
def test_a_german_noun_is_no_name(question: str) -> None:
    assert not find_names(question, "de")


@pytest.mark.parametrize("name", ["Kerem", "Petrunella", "Hansen", "Ivanom", "Selimes"])
def test_a_name_is_known_whatever_its_stem_is(tmp_path: Path, name: str) -> None:
    with theanine.open(tmp_path / "m.db") as client:
        client.user("ana").add(f"{name} hat sich beim Handball den Arm gebrochen.")
        asked = f"Was hat sich {name} gebrochen?"
        assert name in client.user("ana").recall(asked).text
        assert not client.user("ana").recall(asked.replace(name, "Wolfhart")).parts


@pytest.mark.parametrize("told", ["LB 0093 771", "LB-0093-771", "LB0093771", "lb 0093771"])
def test_a_code_is_known_however_it_is_split(tmp_path: Path, told: str) -> None:
    with theanine.open(tmp_path / "m.db") as client:
        client.user("ana").add(f"My library card is {told}.")
        assert "library" in client.user("ana").recall("LB0093771").text
        assert not client.user("ana").recall("LB0093772").parts


def test_a_code_in_capitals_is_no_foreign_word() -> None:
    assert {guess_language(text) for text in ("TRI GALEBA 88", '"tri-galeba-88";-- ')} == {"en"}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("told_sign", ["", ".", ",", "'"])
@pytest.mark.parametrize("asked_sign", ["", ".", ",", "'"])
def test_a_number_is_the_same_with_its_thousands_apart(
    told_sign: str, asked_sign: str, seed: int
) -> None:
    random = Random(seed)
    number = random.choice([random.randrange(2_200, 9_999), random.randrange(10_000, 9_999_999)])
    near = number + random.choice([-1, 1]) * random.choice([1, 10, 100])
    told = f"The total is {number:,}.".replace(",", told_sign)
    index = index_of(told, "The room is 4417.")
    for asked, is_known in ((number, True), (near, False)):
        question = as_told(f"Which total is {asked:,}?".replace(",", asked_sign), index)
        identifiers = find_identifiers(question)
        unknown = any(is_unknown(each, index) for each in identifiers)
        assert (unknown or is_other(identifiers, find_identifiers(told))) is not is_known


OWNED = [
    ("What is {0}'s phone number?", "{0}'s phone number is 555 0134.", "en"),
    ("Do you have the number of {0}?", "The number of {0} is 555 0134.", "en"),
    ("Wie ist die Nummer von {0}?", "Die Nummer von {0} ist 555 0134.", "de"),
    ("¿Cuál es el número de {0}?", "El número de {0} es el 555 0134.", "es"),
    ("Quel est le numéro de {0} ?", "Le numéro de {0} est le 555 0134.", "fr"),
    ("Qual è il numero di {0}?", "Il numero di {0} è 555 0134.", "it"),
]


@pytest.mark.parametrize(("question", "told", "language"), OWNED)
@pytest.mark.parametrize(("asked", "other"), [("Marko", "Klara"), ("Nadine", "Tomek")])
def test_what_is_of_another_one_is_no_evidence(
    tmp_path: Path, question: str, told: str, language: str, asked: str, other: str
) -> None:
    with theanine.open(tmp_path / "m.db") as client:
        user = client.user("ana")
        user.add(told.format(other))
        user.add(f"{asked} likes to play chess.")
        assert told.format(other) in user.recall(question.format(other)).text
        assert "555 0134" not in user.recall(question.format(asked), min_relevance=0.5).text
        user.add(told.format(asked).replace("555 0134", "555 0175"))
        assert "555 0175" in user.recall(question.format(asked), limit=1).text


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What's the wifi password?", "Here's the wifi password: hunter2."),
        ("What kind of music do I love?", "I kind of love jazz."),
        ("¿Cuál es el número de teléfono de Marko?", "El número de móvil de Marko es 555 0134."),
        ("Wie ist die Nummer von meinem Kollegen?", "Die Nummer von Tomek ist 555 0134."),
        ("What's the name of my dog?", "The name of the puppy is Bruno."),
        ("What is Klarra's number?", "Klara's number is 555 0134."),
        ("What is the price of the Polo?", "The price of Silver Polos is 9,000."),
    ],
)
def test_what_names_nobody_is_nobody_elses(tmp_path: Path, question: str, told: str) -> None:
    with theanine.open(tmp_path / "m.db") as client:
        client.user("ana").add(told)
        assert told in client.user("ana").recall(question).text


def test_two_numbers_may_be_told_with_a_word_between(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "m.db") as client:
        client.user("ana").add("My blood pressure was 150 over 95 this morning.")
        assert "150 over 95" in client.user("ana").recall("150/95").text


def test_a_year_is_no_price(tmp_path: Path) -> None:
    index = index_of("The bike cost 2.024 euros.", "I bought 1 kettle for 450 euros.")
    assert as_told("Where did I hike in 2024?", index) == "Where did I hike in 2024?"
    with theanine.open(tmp_path / "m.db") as client:
        client.user("ana").add("I bought 1 kettle for 450 euros.")
        assert not client.user("ana").recall("What did invoice 1450 say?").parts


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("pt", "O que disse o {} sobre a hipoteca?"),
        ("pt", "Lembras-te de alguma coisa sobre a {}?"),
        ("pt", "Quem é a {}?"),
        ("es", "¿Qué dijo {} de la hipoteca?"),
        ("fr", "Qu'est-ce qu'a dit {} du prêt ?"),
        ("it", "Cosa ha detto {} del mutuo?"),
    ],
)
@pytest.mark.parametrize("name", ["Valdemar", "Heidi", "Przemysław"])
def test_a_name_after_a_verb_of_saying_is_one(language: Language, question: str, name: str) -> None:
    assert name in find_names(question.format(name), language)
