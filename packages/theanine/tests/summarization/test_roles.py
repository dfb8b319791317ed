"""Without a model, the assistant's words are quoted as its own, in whatever language they are."""

from __future__ import annotations

from pathlib import Path

import pytest

import theanine

DIALOGUES = {
    "en": (
        "I moved to Porto last spring and work as a nurse in the hospital there.",
        "I always go to bed at 10 and avoid coffee after noon, which helps with sleep.",
    ),
    "de": (
        "Ich bin letzten Frühling nach Porto gezogen und arbeite dort im Krankenhaus.",
        "Ich gehe immer um 10 ins Bett und trinke nach Mittag keinen Kaffee mehr.",
    ),
    "es": (
        "Me mudé a Oporto la primavera pasada y trabajo allí en el hospital.",
        "Yo siempre me acuesto a las 10 y no tomo café después del mediodía.",
    ),
    "fr": (
        "J'ai déménagé à Porto au printemps dernier et je travaille à l'hôpital.",
        "Je me couche toujours à 10 heures et je ne bois plus de café après midi.",
    ),
    "it": (
        "Mi sono trasferita a Porto la scorsa primavera e lavoro in ospedale.",
        "Io vado sempre a letto alle 10 e non bevo caffè dopo mezzogiorno.",
    ),
    "pt": (
        "Mudei para o Porto na primavera passada e trabalho no hospital de lá.",
        "Eu sempre me deito às 10 e não tomo café depois do meio-dia.",
    ),
    "hr": (
        "Prošlog proljeća preselila sam se u Porto i radim ondje u bolnici.",
        "Uvijek idem spavati u 10 i ne pijem kavu poslije podneva.",
    ),
    "ru": (
        "Прошлой весной я переехала в Порту и работаю там в больнице.",
        "Я всегда ложусь спать в 10 и не пью кофе после полудня.",
    ),
    "ar": (
        "انتقلت إلى بورتو في الربيع الماضي وأعمل هناك في المستشفى.",
        "أنا أنام دائما في الساعة 10 ولا أشرب القهوة بعد الظهر أبدا.",
    ),
    "hi": (
        "मैं पिछले वसंत में पोर्तो चली गई और वहाँ अस्पताल में काम करती हूँ।",
        "मैं हमेशा 10 बजे सोता हूँ और दोपहर के बाद कॉफ़ी नहीं पीता।",
    ),
    "tr": (
        "Geçen bahar Porto'ya taşındım ve orada hastanede hemşire olarak çalışıyorum.",
        "Ben her zaman saat 10'da yatarım ve öğleden sonra asla kahve içmem.",
    ),
    "ko": (
        "나는 지난 봄에 포르투로 이사해서 그곳 병원에서 간호사로 일하고 있어요.",
        "저는 항상 10시에 자고 오후에는 커피를 절대로 마시지 않습니다.",
    ),
    "zh": (
        "去年春天我搬到了波尔图，现在在那里的一家医院当护士。",
        "我总是晚上10点睡觉，中午以后从来不喝咖啡。",
    ),
    "ja": (
        "去年の春にポルトへ引っ越して、そこの病院で看護師として働いています。",
        "私はいつも10時に寝て、午後はコーヒーを飲まないようにしています。",
    ),
}


@pytest.mark.parametrize("language", DIALOGUES)
def test_no_memory_gives_the_user_the_words_of_the_assistant(language: str, tmp_path: Path) -> None:
    of_user, of_assistant = DIALOGUES[language]
    with theanine.open(str(tmp_path / "memory.db")) as client:
        user = client.user("kim")
        with user.session() as session:
            session.hear(of_user, speaker="Kim")
            session.say(of_assistant)
        assert [turn.role for turn in user.turns()] == ["user", "assistant"]
        memories = list(user.memories())
    said = {memory.text for memory in memories if "Kim" in memory.speakers}
    assert any(of_user in text for text in said)
    assert not any(of_assistant in text for text in said)
    quoting = [memory for memory in memories if of_assistant in memory.text]
    assert all("Kim" not in (*memory.speakers, memory.text.split(" said")[0]) for memory in quoting)


@pytest.mark.parametrize("language", DIALOGUES)
def test_a_reply_from_memories_is_not_remembered(language: str, tmp_path: Path) -> None:
    of_user, of_assistant = DIALOGUES[language]
    with theanine.open(str(tmp_path / "memory.db")) as client:
        user = client.user("kim")
        with user.session() as session:
            session.hear(of_user, speaker="Kim")
        (memory,) = user.memories()
        with user.session() as session:
            session.say(of_assistant, recalled=[memory.id])
        assert [each.id for each in user.memories()] == [memory.id]
