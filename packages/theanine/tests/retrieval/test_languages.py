"""Languages: guessing them, their words, and recall in each without a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import theanine
from theanine.retrieval.languages import (
    COLUMNS,
    Language,
    everyday_words,
    guess_language,
    split_words,
)
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


SHORT_TEXTS: dict[Language, tuple[str, ...]] = {
    "en": (
        "wanna grab coffee tmrw?",
        "My sister Paola moved to Porto last May.",
        "Did I tell you about Señor Gómez?",
        "Where does Jürgen live now?",
        "I love crêpes and a good espresso",
        "François and Zoë are getting married",
        "thx, see u at Café Müller",
        "Lunch with Đorđe on Tuesday",
        "The Çelik family came for dinner",
        "I flew to São Paulo via Madrid",
        "Marco e Luca is my favorite pizzeria",
        "What's the name of my dog?",
        "no idea lol",
        "Got a new job!",
        "Ibrahim Yılmaz called me",
        "We ate at La Casa de Maria",
        "My cat is called Mausi",
        "The show Das Boot was great",
        "I met Jean and Marie in Nice",
        "sold my Vespa",
    ),
    "de": (
        "Wo wohne ich?",
        "Hab morgen Zahnarzt",
        "wie heißt mein hund",
        "Ich trinke keinen Kaffee mehr",
        "Meine Schwester ist nach Hamburg gezogen",
        "was hab ich gestern gegessen",
        "Termin am Montag verschoben",
        "Kannst du mir helfen?",
        "bin müde",
        "Wann hat Anna Geburtstag?",
        "Gestern Pizza gegessen",
        "mag keine Pilze",
    ),
    "es": (
        "¿Dónde vivo?",
        "mañana tengo dentista",
        "como se llama mi perro",
        "Ya no tomo café",
        "Mi hermana se mudó a Sevilla",
        "que comí ayer",
        "Me gusta mucho el mar",
        "¿Puedes ayudarme?",
        "estoy cansada",
        "¿Cuándo es el cumpleaños de Ana?",
        "odio los champiñones",
        "trabajo en un hospital",
    ),
    "fr": (
        "Où est-ce que j'habite ?",
        "j'ai dentiste demain",
        "comment s'appelle mon chien",
        "Je ne bois plus de café",
        "Ma sœur a déménagé à Lyon",
        "qu'est-ce que j'ai mangé hier",
        "J'adore la mer",
        "Tu peux m'aider ?",
        "suis fatiguée",
        "Quand est l'anniversaire d'Anne ?",
        "je déteste les champignons",
        "mon patron s'appelle Marc",
    ),
    "it": (
        "Dove vivo?",
        "domani ho il dentista",
        "come si chiama il mio cane",
        "Non bevo più caffè",
        "Mia sorella si è trasferita a Torino",
        "cosa ho mangiato ieri",
        "Mi piace molto il mare",
        "Puoi aiutarmi?",
        "sono stanca",
        "Quando è il compleanno di Anna?",
        "odio i funghi",
        "lavoro in ospedale",
    ),
    "pt": (
        "Onde eu moro?",
        "amanhã tenho dentista",
        "como se chama o meu cachorro",
        "Não tomo mais café",
        "Minha irmã se mudou para Recife",
        "o que comi ontem",
        "Gosto muito do mar",
        "Pode me ajudar?",
        "estou cansada",
        "Quando é o aniversário da Ana?",
        "odeio cogumelos",
        "Sobre o que falamos da última vez?",
    ),
    "hr": (
        "Gdje živim?",
        "sutra imam zubara",
        "kako se zove moj pas",
        "Više ne pijem kavu",
        "Sestra mi se preselila u Split",
        "što sam jučer jela",
        "Jako volim more",
        "Možeš li mi pomoći?",
        "umorna sam",
        "Kada je Anin rođendan?",
        "mrzim gljive",
        "radim u bolnici",
    ),
    "ru": (
        "Где я живу?",
        "завтра к зубному",
        "как зовут мою собаку",
        "Я больше не пью кофе",
        "Сестра переехала в Казань",
        "что я ел вчера",
        "Люблю море",
        "Можешь помочь?",
        "устала",
        "Когда день рождения Анны?",
        "ненавижу грибы",
        "работаю в больнице",
    ),
    "ar": (
        "أين أسكن؟",
        "عندي موعد عند طبيب الأسنان غدا",
        "ما اسم كلبي",
        "لم أعد أشرب القهوة",
        "انتقلت أختي إلى دبي",
        "ماذا أكلت أمس",
        "أحب البحر",
        "هل يمكنك مساعدتي؟",
        "أنا متعبة",
        "متى عيد ميلاد سارة؟",
        "أكره الفطر",
        "أعمل في مستشفى",
    ),
    "hi": (
        "मैं कहाँ रहता हूँ?",
        "कल दाँत के डॉक्टर के पास जाना है",
        "मेरे कुत्ते का नाम क्या है",
        "मैं अब कॉफ़ी नहीं पीती",
        "मेरी बहन पुणे चली गई",
        "मैंने कल क्या खाया",
        "मुझे समुद्र पसंद है",
        "क्या आप मदद कर सकते हैं?",
        "थक गई हूँ",
        "अन्ना का जन्मदिन कब है?",
        "मुझे मशरूम पसंद नहीं",
        "अस्पताल में काम करता हूँ",
    ),
    "tr": (
        "Nerede yaşıyorum?",
        "yarın dişçim var",
        "köpeğimin adı ne",
        "Artık kahve içmiyorum",
        "Ablam İzmir'e taşındı",
        "dün ne yedim",
        "Denizi çok seviyorum",
        "Yardım eder misin?",
        "yorgunum",
        "Ayşe'nin doğum günü ne zaman?",
        "mantardan nefret ederim",
        "hastanede çalışıyorum",
    ),
    "ko": (
        "나 어디 살아?",
        "내일 치과 예약 있어",
        "우리 강아지 이름이 뭐야",
        "이제 커피 안 마셔",
        "언니가 부산으로 이사했어",
        "어제 뭐 먹었지",
        "바다를 정말 좋아해",
        "도와줄래?",
        "피곤해",
        "지수 생일이 언제야?",
        "버섯은 싫어",
        "병원에서 일해요",
    ),
    "zh": (
        "我住在哪里？",
        "明天看牙医",
        "我的狗叫什么名字",
        "我不喝咖啡了",
        "姐姐搬到成都了",
        "昨天我吃了什么",
        "很喜欢大海",
        "能帮我吗？",
        "好累",
        "小美的生日是哪天？",
        "讨厌蘑菇",
        "我在医院上班",
    ),
    "ja": (
        "私はどこに住んでる？",
        "明日歯医者",
        "犬の名前は何だっけ",
        "もうコーヒーは飲まない",
        "姉が札幌に引っ越した",
        "昨日何食べた",
        "海が大好き",
        "手伝ってくれる？",
        "疲れた",
        "あきの誕生日はいつ？",
        "きのこは嫌い",
        "病院で働いています",
    ),
}


@pytest.mark.parametrize("language", SHORT_TEXTS)
def test_the_language_of_short_texts_is_guessed(language: Language) -> None:
    texts = SHORT_TEXTS[language]
    wrong = [text for text in texts if guess_language(text) != language]
    # English is what all else passes for, so that it must not be taken for another language.
    allowed = 0 if language == "en" else len(texts) // 10
    assert len(wrong) <= allowed, wrong


@pytest.mark.parametrize(
    "text",
    [
        "Luna's a great name!",
        "I'd prefer tea",
        "Sam enjoys expressing themselves.",
        "Ed Sheeran",
        "13 August",
        "September 2023",
        "Caroline has a guinea pig named Oscar.",
        "call her",
        "J.K. Rowling",
        "Mon at ten, Tue at nine",
        "Check the reservation location",
        "the application documents",
        "public conditions",
        "director, planning committee",
    ],
)
def test_names_and_dates_are_english(text: str) -> None:
    assert guess_language(text) == "en"


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
        "Ik ben in de tuin.",
        "Jestem w ogrodzie.",
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


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        ("Đorđe Šarić", "Dorde Saric"),
        ("Łukasz Żak", "Lukasz Zak"),
        ("Café Søren", "Cafe Soren"),
        ("Müller", "Muller"),
    ],
)
def test_accents_do_not_count_in_english_text(written: str, typed: str) -> None:
    text = "I had dinner with {}, the architect, and we talked about the house."
    assert tokenize(text.format(written)) == tokenize(text.format(typed))


@pytest.mark.parametrize(
    ("written", "typed", "language"),
    [
        ("kırmızı bavulun şifresi ne", "kirmizi bavulun sifresi ne", "tr"),
        ("yedek gözlük nerede", "yedek gozluk nerede", "tr"),
        ("gdje je ključ od podruma", "gdje je kljuc od podruma", "hr"),
        ("onde está a chave do portão", "onde esta a chave do portao", "pt"),
        ("wo ist der Schlüssel für die Küche", "wo ist der schlussel fur die kuche", "de"),
    ],
)
def test_everyday_words_may_be_typed_without_accents(
    written: str, typed: str, language: Language
) -> None:
    assert guess_language(written) == guess_language(typed) == language
    assert {*tokenize(typed)} - {"fur"} == {*tokenize(written)}


def test_marks_that_make_other_letters_count() -> None:
    assert tokenize("ガラス") != tokenize("カラス")
    assert tokenize("чай и йод") != tokenize("чай и иод")


def test_inflected_and_compound_words_meet() -> None:
    assert tokenize("die Schlüssel sind da") == tokenize("wo ist der Schlüssel?")
    assert "key" in content_words("Das ist der Zweitschlüssel")
    assert tokenize("Las canciones") == tokenize("la canción") == tokenize("the song")
    assert tokenize("ＷｉＦｉ と 猫") == tokenize("wifi と 猫")


@pytest.mark.parametrize("length", [3, 40, 200_000])
def test_a_long_run_in_writing_without_spaces_is_one_word(length: int) -> None:
    """However long: tried from each of its letters, a pasted one would take hours."""
    run = "ab1" * (length // 3) + "x" * (length % 3)
    for text in (f"密码是{run}。", f"密码 {run} 好的", f"予約は{run}です"):
        assert run in [word for word, _ in split_words(text)]


@pytest.mark.parametrize("language", COLUMNS[1:])
def test_everyday_words_are_many_and_not_empty(language: str) -> None:
    known = everyday_words(language)  # pyright: ignore[reportArgumentType]
    assert len(known) > 1_500
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


ENGLISH_LOG = {
    "plumber": "The plumber fixed the leak under the kitchen sink for 145 pounds.",
    "choir": "Our choir rehearses in the hall next to the church.",
    "tooth": "The dentist pulled a tooth, and I slept all afternoon.",
    "ladder": "I fell off the ladder while I was painting the ceiling.",
    "umbrella": "Somebody stole my umbrella at the library.",
    "goat": "A goat ate the neighbour's hat.",
}
FOREIGN: dict[Language, dict[str, str]] = {
    "de": {"Wo probt unser Chor?": "choir", "Wer hat meinen Regenschirm gestohlen?": "umbrella"},
    "es": {"¿Quién arregló el fregadero?": "plumber", "¿Qué comió la cabra?": "goat"},
    "fr": {"Qui a volé mon parapluie ?": "umbrella", "Qu'a fait le dentiste ?": "tooth"},
    "it": {"Dove prova il nostro coro?": "choir", "Da dove sono caduta dipingendo?": "ladder"},
    "pt": {"O que fez o dentista?": "tooth", "O que comeu a cabra?": "goat"},
    "hr": {"Tko mi je ukrao kišobran?": "umbrella", "Što je napravio zubar?": "tooth"},
    "ru": {"Кто украл мой зонтик?": "umbrella", "Что съела коза?": "goat"},
    "tr": {"Şemsiyemi kim çaldı?": "umbrella", "Keçi ne yedi?": "goat"},
    "ko": {"누가 내 우산을 훔쳤어?": "umbrella", "염소가 뭘 먹었어?": "goat"},
    "zh": {"谁偷了我的雨伞？": "umbrella", "山羊吃了什么？": "goat"},
    "ja": {"誰が私の傘を盗んだ？": "umbrella", "歯医者は何をした？": "tooth"},
    "ar": {"من سرق مظلتي؟": "umbrella", "ماذا أكلت العنزة؟": "goat"},
    "hi": {"मेरा छाता किसने चुराया?": "umbrella", "बकरी ने क्या खाया?": "goat"},
}


@pytest.fixture(scope="module")
def english_log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[theanine.UserMemory]:
    with theanine.open(str(tmp_path_factory.mktemp("foreign") / "memory.db")) as client:
        user = client.user("kim")
        for text in ENGLISH_LOG.values():
            with user.session() as session:
                session.hear(text, speaker="kim")
        yield user


@pytest.mark.parametrize("language", FOREIGN)
def test_a_question_in_another_language_finds_english(
    english_log: theanine.UserMemory, language: Language
) -> None:
    found = {question: english_log.recall(question, limit=2).text for question in FOREIGN[language]}
    matters = FOREIGN[language]
    assert [q for q, text in found.items() if ENGLISH_LOG[matters[q]] not in text] == []
