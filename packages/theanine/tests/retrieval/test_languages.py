"""Languages: guessing them, their words, and recall in each without a model."""

from __future__ import annotations

from pathlib import Path

import pytest

import theanine
from theanine.retrieval.languages import COLUMNS, everyday_words, guess_language
from theanine.retrieval.lexical import content_words, tokenize
from theanine.retrieval.query import SpeakerNames, is_standing_instruction, speaks_of_asker

TEXTS = {
    "en": ("Where do I live?", "The café is by the sea.", "See ya!", "Catch ya later", "die hard"),
    "de": ("Wo wohne ich?", "Das ist meine Schwester.", "Grüße!", "Ich bin müde"),
    "es": ("¿Dónde vivo?", "Mi hermana es piloto.", "El perro duerme en la cama"),
    "zh": ("我住在哪里？", "My 猫 叫 米拉。", "好"),
    "ja": ("どこに住んでいる？", "妹はパイロットです。", "猫の名前"),
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_language_is_guessed_from_script_and_function_words(language: str) -> None:
    assert {text: guess_language(text) for text in TEXTS[language]} == dict.fromkeys(
        TEXTS[language], language
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What may she eat?", ["eat"]),
        ("May I come? She may.", ["come"]),
        ("We met in may.", ["met", "may"]),
        ("In May, on 3 may, may 5", ["may", "3", "may", "may", "5"]),
        ("May was warm", ["may", "warm"]),
    ],
)
def test_the_verb_may_is_not_the_month(text: str, words: list[str]) -> None:
    assert content_words(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "Je suis dans le jardin avec les enfants.",
        "Ik ben in de tuin.",
        "Sono nel giardino.",
        "🙂",
        "",
    ],
)
def test_other_languages_pass_for_english(text: str) -> None:
    assert guess_language(text) == "en"


def test_words_of_a_kind_become_one_english_term() -> None:
    grandmothers = ["Meine Oma ist krank", "Mi abuela está enferma", "我奶奶生病了", "祖母は病気だ"]
    for text in [*grandmothers, "My grandmother is sick"]:
        assert set(tokenize(text)) >= set(tokenize("grandmother sick"))


def test_inflected_and_compound_words_meet() -> None:
    assert tokenize("die Schlüssel sind da") == tokenize("wo ist der Schlüssel?")
    assert "key" in content_words("Das ist der Zweitschlüssel")
    assert tokenize("Las canciones") == tokenize("la canción") == tokenize("the song")
    assert tokenize("ＷｉＦｉ と 猫") == tokenize("wifi と 猫")


@pytest.mark.parametrize("language", COLUMNS[1:])
def test_everyday_words_are_many_and_not_empty(language: str) -> None:
    known = everyday_words(language)  # pyright: ignore[reportArgumentType]
    assert len(known) > 500
    assert all(word and all(english) for word, english in known.items())


@pytest.mark.parametrize(
    ("question", "of_asker"),
    [
        ("Wo ist mein Schlüssel?", True),
        ("Wo wohnt Clara denn?", False),
        ("¿Dónde está mi llave?", True),
        ("¿A qué soy alérgica?", True),
        ("¿Dónde vive Clara ahora con ella?", False),
        ("我的钥匙在哪里？", True),
        ("小明住在哪里？", False),
        ("私の鍵はどこ？", True),
        ("太郎はどこに住んでいる？", False),
        ("Welches Buch hast du mir empfohlen?", False),
        ("¿Qué libro me recomendaste?", False),
        ("你给我推荐过哪本书？", False),
        ("我给你推荐过哪本书？", True),
        ("どの本をすすめてくれた？", False),
    ],
)
def test_questions_in_the_first_person_are_about_the_asker(question: str, of_asker: bool) -> None:
    assert speaks_of_asker(question) is of_asker


@pytest.mark.parametrize(
    "text",
    [
        "Bitte antworte mir immer auf Deutsch.",
        "Por favor, respóndeme siempre en español.",
        "从现在起请用中文回答我。",
        "これからは日本語で答えてください。",
    ],
)
def test_lasting_instructions_are_recognized(text: str) -> None:
    assert is_standing_instruction(text)


def test_names_are_found_without_spaces_and_with_a_genitive() -> None:
    names = SpeakerNames()
    names.add(["小飞", "翔太", "Nora"])
    assert names.find("小飞是怎么受伤的？") == {"小飞"}
    assert names.find("翔太のバンドの名前は？") == {"翔太"}
    assert names.find("Was hat sich in Noras Leben geändert?") == {"Nora"}
    assert names.find("Was kostet Noradrenalin?") == frozenset()


CONVERSATIONS = {
    "de": {
        "Wo lebt meine Schwester?": "Meine Schwester wohnt seit Mai in Bremen.",
        "Was darf ich nicht essen?": "Von Nüssen bekomme ich Ausschlag, ich esse keine.",
        "Wie heißt mein Hund?": "Unser neuer Welpe hört auf den Namen Bello.",
        "": "Gestern war das Wetter furchtbar, wir sind drinnen geblieben.",
    },
    "es": {
        "¿Dónde vive mi hermana?": "Mi hermana reside en Bilbao, vive allí desde mayo.",
        "¿Qué no puedo comer?": "Soy alérgica a las nueces, no debo comer ninguna.",
        "¿Cómo se llama mi perro?": "Nuestro nuevo cachorro se llama Toby.",
        "": "Ayer hizo muy mal tiempo y nos quedamos dentro.",
    },
    "zh": {
        "我姐姐在哪里生活？": "我姐姐从五月起住在南京。",
        "我不能吃什么？": "坚果会让我过敏，我从来不吃。",
        "我的狗叫什么名字？": "我们新养的小狗取名叫豆豆。",
        "": "昨天天气很糟糕，我们一直待在屋里。",
    },
    "ja": {
        "姉はどこで暮らしている？": "姉は五月から大阪に住んでいるの。",
        "私が食べられないものは？": "ナッツはアレルギーがあるから食べない。",
        "うちの犬の名前は？": "新しく飼った子犬の名前はポチ。",
        "": "昨日は天気がひどくて、ずっと中にいたよ。",
    },
}


@pytest.mark.parametrize("language", CONVERSATIONS)
def test_recall_answers_in_the_language_of_the_question(language: str, tmp_path: Path) -> None:
    conversation = CONVERSATIONS[language]
    with theanine.open(str(tmp_path / "memory.db")) as client:
        user = client.user("kim")
        for text in conversation.values():  # a session each: a part holds one session's turns
            with user.session() as session:
                session.hear(text, speaker="kim")
        first = {
            question: user.recall(question, limit=1).text for question in conversation if question
        }
    assert [q for q, text in first.items() if conversation[q] not in text] == []
