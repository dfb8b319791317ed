"""Cues: what is left of a question about a time, and that each language has each cue."""

from __future__ import annotations

import re
from datetime import date
from typing import get_args

import pytest

from theanine.retrieval import cue_words
from theanine.retrieval.features import FEATURES
from theanine.retrieval.languages import Language, guess_language
from theanine.retrieval.query import is_small_talk, is_standing_instruction, speaks_of_asker
from theanine.retrieval.temporal import find_intervals

LANGUAGES: tuple[Language, ...] = get_args(Language)
TODAY = date(2024, 6, 19)
ONLY_TALK: dict[Language, tuple[str, ...]] = {
    "en": (
        "What did we talk about yesterday?",
        "What did I do yesterday?",
        "What happened yesterday?",
        "What did I tell you yesterday?",
    ),
    "de": (
        "Worüber haben wir gestern gesprochen?",
        "Was habe ich gestern gemacht?",
        "Was ist gestern passiert?",
        "Was habe ich dir im März 2024 erzählt?",
        "Was war letzte Woche los?",
        "Worüber haben wir uns vor drei Tagen unterhalten?",
        "Was hab ich gestern gesagt?",
        "Was geschah am 10. Juni?",
    ),
    "es": (
        "¿De qué hablamos ayer?",
        "¿Qué hice ayer?",
        "¿Qué pasó ayer?",
        "¿Qué te conté en marzo de 2024?",
        "¿Qué hicimos la semana pasada?",
        "¿Sobre qué hablamos hace tres días?",
        "que hice ayer",
        "¿Qué te dije el 10 de junio?",
    ),
    "fr": (
        "De quoi avons-nous parlé hier ?",
        "Qu'est-ce que j'ai fait hier ?",
        "Que s'est-il passé hier ?",
        "Qu'est-ce que je t'ai dit en mars 2024 ?",
        "On a parlé de quoi la semaine dernière ?",
        "Qu'ai-je fait il y a trois jours ?",
        "Il s'est passé quoi hier ?",
        "De quoi a-t-on discuté le 10 juin ?",
    ),
    "it": (
        "Di cosa abbiamo parlato ieri?",
        "Che cosa ho fatto ieri?",
        "Cosa è successo ieri?",
        "Cosa ti ho detto a marzo 2024?",
        "Di che cosa abbiamo parlato la settimana scorsa?",
        "Cosa ho fatto tre giorni fa?",
        "Che ho fatto ieri?",
        "Di cosa abbiamo discusso il 10 giugno?",
    ),
    "pt": (
        "Do que falamos ontem?",
        "O que eu fiz ontem?",
        "O que aconteceu ontem?",
        "O que eu te disse em março de 2024?",
        "Sobre o que conversamos na semana passada?",
        "O que é que eu fiz há três dias?",
        "que fiz ontem",
        "De que falámos no dia 10 de junho?",
    ),
    "hr": (
        "O čemu smo jučer razgovarali?",
        "Što sam radio jučer?",
        "Što se dogodilo jučer?",
        "Što sam ti rekla u ožujku 2024.?",
        "O čemu smo pričali prošli tjedan?",
        "Što sam radila prije tri dana?",
        "sta sam radio jucer",
        "Što se dogodilo 10. lipnja?",
    ),
    "ru": (
        "О чём мы говорили вчера?",
        "Что я делал вчера?",
        "Что произошло вчера?",
        "Что я тебе рассказывала в марте 2024?",
        "О чем мы разговаривали на прошлой неделе?",
        "Что я делала три дня назад?",
        "Что было вчера?",
        "Что случилось 10 июня?",
    ),
    "ar": (
        "عن ماذا تحدثنا أمس؟",
        "ماذا فعلت أمس؟",
        "ماذا حدث أمس؟",
        "ماذا قلت لك في مارس 2024؟",
        "عم تحدثنا الأسبوع الماضي؟",
        "ماذا فعلت قبل ثلاثة أيام؟",
        "شو عملت امس؟",
        "ما الذي حدث في 10 يونيو؟",
    ),
    "hi": (
        "हमने कल किस बारे में बात की थी?",
        "मैंने कल क्या किया?",
        "कल क्या हुआ था?",
        "मैंने आपको मार्च 2024 में क्या बताया था?",
        "पिछले हफ़्ते हमने किस विषय पर चर्चा की?",
        "तीन दिन पहले मैंने क्या किया था?",
        "कल क्या किया मैंने",
        "10 जून को क्या हुआ?",
    ),
    "tr": (
        "Dün ne hakkında konuştuk?",
        "Dün ne yaptım?",
        "Dün ne oldu?",
        "Mart 2024'te sana ne anlattım?",
        "Geçen hafta neler konuştuk?",
        "Üç gün önce ne yaptım?",
        "dün ne yaptım ben",
        "10 Haziran'da ne oldu?",
    ),
    "ko": (
        "어제 우리 무슨 얘기 했어?",
        "어제 내가 뭐 했지?",
        "어제 무슨 일이 있었어?",
        "2024년 3월에 내가 뭐라고 말했지?",
        "지난주에 무슨 이야기를 했나요?",
        "3일 전에 내가 뭘 했어?",
        "어제 뭐했어",
        "6월 10일에 무슨 일이 있었나요?",
    ),
    "zh": (
        "我们昨天聊了什么？",
        "我昨天做了什么？",
        "昨天发生了什么？",
        "2024年3月我跟你说了什么？",
        "上周我们谈了些什么？",
        "三天前我做了什么事？",
        "昨天干嘛了？",
        "6月10日发生了什么事情？",
    ),
    "ja": (
        "昨日は何について話した？",
        "昨日私は何をした？",
        "昨日何があった？",
        "2024年3月に何を話しましたか？",
        "先週どんな話をしたっけ？",
        "三日前に私は何をしましたか？",
        "昨日なにしてた？",
        "6月10日に何が起きた？",
    ),
}
OF_SOMETHING: dict[Language, tuple[str, ...]] = {
    "en": (
        "What did I read in 2023?",
        "What did I eat yesterday?",
    ),
    "de": (
        "Was habe ich 2023 gelesen?",
        "Worüber habe ich mit Anna gestern gesprochen?",
        "Was habe ich gestern gegessen?",
    ),
    "es": (
        "¿Qué leí en 2023?",
        "¿Qué comí ayer?",
        "¿Qué compré la semana pasada?",
    ),
    "fr": (
        "Qu'est-ce que j'ai lu en 2023 ?",
        "Qu'ai-je mangé hier ?",
        "Qu'est-ce que j'ai acheté la semaine dernière ?",
    ),
    "it": (
        "Cosa ho letto nel 2023?",
        "Cosa ho mangiato ieri?",
        "Cosa ho comprato la settimana scorsa?",
    ),
    "pt": (
        "O que eu li em 2023?",
        "O que comi ontem?",
        "O que comprei na semana passada?",
    ),
    "hr": (
        "Što sam čitala 2023. godine?",
        "Što sam jela jučer?",
        "Što sam kupio prošli tjedan?",
    ),
    "ru": (
        "Что я читал в 2023 году?",
        "Что я ела вчера?",
        "Что я купил на прошлой неделе?",
    ),
    "ar": (
        "ماذا قرأت في 2023؟",
        "ماذا أكلت أمس؟",
        "ماذا اشتريت الأسبوع الماضي؟",
    ),
    "hi": (
        "मैंने 2023 में क्या पढ़ा?",
        "मैंने कल क्या खाया?",
        "मैंने पिछले हफ़्ते क्या खरीदा?",
    ),
    "tr": (
        "2023'te ne okudum?",
        "Dün ne yedim?",
        "Geçen hafta ne satın aldım?",
    ),
    "ko": (
        "2023년에 무슨 책을 읽었어?",
        "어제 뭐 먹었어?",
        "지난주에 뭘 샀지?",
    ),
    "zh": (
        "我2023年读了什么？",
        "我昨天吃了什么？",
        "我上周买了什么？",
    ),
    "ja": (
        "2023年に何を読んだ？",
        "昨日何を食べた？",
        "先週何を買った？",
    ),
}
ABOUT_LAST_TALK: dict[Language, tuple[str, ...]] = {
    "en": (
        "What did we talk about last?",
        "Where did we leave off?",
    ),
    "de": (
        "Worüber haben wir zuletzt gesprochen?",
        "Wo waren wir stehengeblieben?",
    ),
    "es": (
        "¿De qué hablamos la última vez?",
        "¿Dónde nos quedamos?",
    ),
    "fr": (
        "De quoi avons-nous parlé la dernière fois ?",
        "Où en étions-nous ?",
    ),
    "it": (
        "Di cosa abbiamo parlato l'ultima volta?",
        "Dove eravamo rimasti?",
    ),
    "pt": (
        "Sobre o que falamos da última vez?",
        "Onde paramos?",
    ),
    "hr": (
        "O čemu smo zadnji put razgovarali?",
        "Gdje smo stali?",
    ),
    "ru": (
        "О чём мы говорили в последний раз?",
        "На чём мы остановились?",
    ),
    "ar": (
        "عن ماذا تحدثنا آخر مرة؟",
        "أين توقفنا؟",
    ),
    "hi": (
        "पिछली बार हमने क्या बात की थी?",
        "हम कहाँ रुके थे?",
    ),
    "tr": (
        "En son ne hakkında konuştuk?",
        "Nerede kalmıştık?",
    ),
    "ko": (
        "마지막으로 무슨 얘기 했지?",
        "어디까지 얘기했지?",
    ),
    "zh": (
        "我们上次聊了什么？",
        "我们说到哪儿了？",
    ),
    "ja": (
        "最後に何を話した？",
        "どこまで話したっけ？",
    ),
}
ABOUT_FIRST_TALK: dict[Language, str] = {
    "en": "What did we talk about first?",
    "de": "Worüber haben wir zuerst gesprochen?",
    "es": "¿De qué hablamos la primera vez?",
    "fr": "De quoi avons-nous parlé la première fois ?",
    "it": "Di cosa abbiamo parlato la prima volta?",
    "pt": "Sobre o que falamos na primeira vez?",
    "hr": "O čemu smo razgovarali prvi put?",
    "ru": "О чём мы говорили в первый раз?",
    "ar": "عن ماذا تحدثنا أول مرة؟",
    "hi": "पहली बार हमने क्या बात की थी?",
    "tr": "İlk ne hakkında konuştuk?",
    "ko": "처음에 무슨 얘기 했지?",
    "zh": "我们第一次聊了什么？",
    "ja": "最初に何を話した？",
}
ORDERED: dict[Language, tuple[str, str, str]] = {
    "en": (
        "What is my latest car?",
        "What was my first car?",
        "How many books did I read?",
    ),
    "de": (
        "Was ist mein neuestes Auto?",
        "Was war mein erstes Auto?",
        "Wie viele Bücher habe ich gelesen?",
    ),
    "es": (
        "¿Cuál es mi último coche?",
        "¿Cuál fue mi primer coche?",
        "¿Cuántos libros he leído?",
    ),
    "fr": (
        "Quelle est ma dernière voiture ?",
        "Quelle a été ma première voiture ?",
        "Combien de livres ai-je lus ?",
    ),
    "it": (
        "Qual è la mia ultima macchina?",
        "Qual è stata la mia prima macchina?",
        "Quanti libri ho letto?",
    ),
    "pt": (
        "Qual é o meu último carro?",
        "Qual foi o meu primeiro carro?",
        "Quantos livros eu li?",
    ),
    "hr": (
        "Koji je moj zadnji auto?",
        "Koji je bio moj prvi auto?",
        "Koliko sam knjiga pročitala?",
    ),
    "ru": (
        "Какая у меня последняя машина?",
        "Какая была моя первая машина?",
        "Сколько книг я прочитал?",
    ),
    "ar": (
        "ما هي آخر سيارة عندي؟",
        "ما هي أول سيارة عندي؟",
        "كم كتابا قرأت؟",
    ),
    "hi": (
        "मेरी आखिरी गाड़ी कौन सी है?",
        "मेरी पहली गाड़ी कौन सी थी?",
        "मैंने कितनी किताबें पढ़ीं?",
    ),
    "tr": (
        "Son arabam hangisi?",
        "İlk arabam hangisiydi?",
        "Kaç kitap okudum?",
    ),
    "ko": (
        "내 마지막 차는 뭐야?",
        "내 첫 번째 차는 뭐였지?",
        "책을 모두 몇 권 읽었어?",
    ),
    "zh": (
        "我最新的车是什么？",
        "我最早的车是什么？",
        "我读了多少本书？",
    ),
    "ja": (
        "最新の車は何？",
        "最初の車は何だった？",
        "本を何冊読んだ？",
    ),
}
OF_ASKER: dict[Language, tuple[str, str, str]] = {
    "fr": (
        "Où sont mes clés ?",
        "Quel livre m'as-tu conseillé ?",
        "À partir de maintenant, réponds en français.",
    ),
    "it": (
        "Dove sono le mie chiavi?",
        "Che libro mi hai consigliato?",
        "D'ora in poi rispondi in italiano.",
    ),
    "pt": (
        "Onde estão as minhas chaves?",
        "Que livro você me recomendou?",
        "De agora em diante responda em português.",
    ),
    "hr": (
        "Gdje su moji ključevi?",
        "Koju si mi knjigu preporučio?",
        "Od sada mi odgovaraj na hrvatskom.",
    ),
    "ru": (
        "Где мои ключи?",
        "Какую книгу ты мне советовал?",
        "Отныне отвечай по-русски.",
    ),
    "ar": (
        "أين مفاتيحي؟",
        "أي كتاب اقترحت علي؟",
        "من الآن فصاعدا أجبني بالعربية.",
    ),
    "hi": (
        "मेरी चाबियाँ कहाँ हैं?",
        "आपने मुझे कौन सी किताब सुझाई थी?",
        "अब से हिंदी में जवाब देना।",
    ),
    "tr": (
        "Anahtarlarım nerede?",
        "Bana hangi kitabı önermiştin?",
        "Bundan sonra Türkçe cevap ver.",
    ),
    "ko": (
        "내 열쇠 어디 있어?",
        "네가 추천해 준 책이 뭐였지?",
        "앞으로 한국어로 대답해 줘.",
    ),
}
SMALL_TALK: dict[Language, tuple[str, ...]] = {
    "fr": (
        "Bonjour !",
        "Merci beaucoup.",
        "D'accord.",
    ),
    "it": (
        "Ciao!",
        "Grazie mille.",
        "Va bene.",
    ),
    "pt": (
        "Olá!",
        "Muito obrigada.",
        "Tudo bem.",
    ),
    "hr": (
        "Bok!",
        "Hvala lijepa.",
        "U redu.",
    ),
    "ru": (
        "Привет!",
        "Спасибо большое.",
        "Хорошо.",
    ),
    "ar": (
        "مرحبا!",
        "شكرا جزيلا.",
        "حسنا.",
    ),
    "hi": (
        "नमस्ते!",
        "बहुत धन्यवाद।",
        "ठीक है।",
    ),
    "tr": (
        "Merhaba!",
        "Çok teşekkür ederim.",
        "Tamam.",
    ),
    "ko": (
        "안녕하세요!",
        "정말 감사합니다.",
        "네, 알겠어요.",
    ),
}


def rest_of(question: str, language: Language) -> str:
    """Return what is left of a question without its times and the words for talking."""
    english, times = find_intervals(question, [2023, 2024], TODAY)
    for time in reversed(times):
        start, end = time.span
        english = f"{english[:start]} {english[end:]}"
    for cue in (cue_words.LAST_TALK, cue_words.FIRST_TALK, cue_words.TALK):
        english = cue[language].sub(" ", english)
    return "".join(re.findall(r"\w+", english))


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_left_of_a_question_about_a_time_alone(language: Language) -> None:
    questions = (
        *ONLY_TALK[language],
        *ABOUT_LAST_TALK[language],
        ABOUT_FIRST_TALK[language],
    )
    left = {question: rest_of(question, language) for question in questions}
    assert {question: rest for question, rest in left.items() if rest} == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_matter_of_a_question_is_left(language: Language) -> None:
    assert [text for text in OF_SOMETHING[language] if not rest_of(text, language)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_latest_and_the_earliest_talk_are_told_apart(language: Language) -> None:
    last, first = cue_words.LAST_TALK[language], cue_words.FIRST_TALK[language]
    assert all(last.search(text) for text in ABOUT_LAST_TALK[language])
    assert first.search(ABOUT_FIRST_TALK[language])
    assert not last.search(ABOUT_FIRST_TALK[language])
    assert not any(cue.search(text) for cue in (last, first) for text in OF_SOMETHING[language])


@pytest.mark.parametrize("language", LANGUAGES)
def test_order_and_number_are_recognized(language: Language) -> None:
    cues = (cue_words.NEWEST, cue_words.OLDEST, cue_words.SPREAD)
    for at, cue in enumerate(cues):
        met = [cue[language].search(text) is not None for text in ORDERED[language]]
        assert met == [position == at for position in range(3)], ORDERED[language][at]


@pytest.mark.parametrize("language", OF_ASKER)
def test_who_is_asked_about_and_what_lasts(language: Language) -> None:
    of_asker, of_assistant, standing = OF_ASKER[language]
    assert [guess_language(text) for text in OF_ASKER[language]] == [language] * 3
    assert speaks_of_asker(of_asker)
    assert not speaks_of_asker(of_assistant)
    assert is_standing_instruction(standing)
    assert not is_standing_instruction(of_asker)


@pytest.mark.parametrize("language", SMALL_TALK)
def test_small_talk_says_nothing(language: Language) -> None:
    assert [text for text in SMALL_TALK[language] if not is_small_talk(text)] == []
    assert not any(is_small_talk(text) for text in OF_SOMETHING[language])


def test_every_language_has_every_cue() -> None:
    own = set(LANGUAGES) - {"en"}
    for cue in (cue_words.TEXT_CUES, cue_words.QUESTION_CUES):
        assert set(cue) == own
        assert len({tuple(sorted(cue[language])) for language in cue}) == 1
    for cue in (cue_words.ASKER, cue_words.STANDING, cue_words.OF_ASSISTANT):
        assert set(cue) == own
    for cue in (cue_words.TALK, cue_words.NEWEST, cue_words.OLDEST, cue_words.SPREAD):
        assert set(cue) == set(LANGUAGES)
    names = {name for cues in cue_words.TEXT_CUES.values() for name in cues}
    asked = {f"asks {name}" for cues in cue_words.QUESTION_CUES.values() for name in cues}
    assert names | asked <= set(FEATURES)


def test_a_cue_is_a_word_of_its_own() -> None:
    first_person = cue_words.TEXT_CUES["hi"]["first person"]
    assert first_person.search("मैं यहाँ रहता हूँ")  # ends with a sign of a vowel
    assert not first_person.search("मैंगो")
    assert not cue_words.TEXT_CUES["tr"]["first person"].search("yardım geldi")
    assert cue_words.TEXT_CUES["ar"]["time"].search("وأمس")


@pytest.mark.parametrize("thanks", ["Thank you", "Thanks", "Great, thanks a lot"])
@pytest.mark.parametrize(
    "end", ["that's all", "that is all for now", "that was it", "nothing else"]
)
def test_an_end_says_nothing(thanks: str, end: str) -> None:
    assert is_small_talk(f"{thanks}, {end}.") and is_small_talk(f"{end.capitalize()}. {thanks}!")
    assert not is_small_talk(f"{thanks}, {end} about the boat.")
