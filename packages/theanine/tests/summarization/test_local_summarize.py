from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from support.answering import turn
from theanine.quotes import without_attribution
from theanine.summarization.local_summarize import MEMORIES_PER_TURN, local_summarize
from theanine.text.attribution import QUOTE_LIMIT


def _texts(*turns: str) -> list[str]:
    spoken = [turn(i, text, "AB"[i % 2]) for i, text in enumerate(turns, 1)]
    return [made.text for made in local_summarize(spoken)]


def test_a_disclosure_is_quoted_with_speaker_and_date() -> None:
    (made,) = local_summarize([turn(4, "I'm terrified of ships since the storm.")])
    assert made.text == "Ana said on 8 May 2023: “I'm terrified of ships since the storm.”"
    assert (made.source_turns, made.speakers, made.made_by) == ((4,), ("Ana",), "local")


def test_an_undated_session_shows_no_date() -> None:
    for dated, show_dates in ((False, True), (True, False)):
        turns = [turn(1, "I moved to Porto last spring.", dated=dated)]
        (made,) = local_summarize(turns, show_dates=show_dates)
        assert made.text == "Ana said: “I moved to Porto last spring.”"


def test_small_talk_and_bare_questions_give_nothing() -> None:
    assert _texts("Hey! How are you?", "Great, thanks!", "Wow, that's so cool!", "See you!") == []


def test_a_statement_alone_in_its_session_is_kept() -> None:
    for text in ("I'm vegan.", "Ich bin Veganer.", "No nuts, ever. I swell up.", "私は猫派です。"):
        (made,) = local_summarize([turn(1, text)], keep_notes=True)
        assert made.text == f"Ana said on 8 May 2023: “{text}”"
    for text in ("Hi!", "Thank you so much.", "Am I vegan?", "?", "🌱"):
        assert local_summarize([turn(1, text)], keep_notes=True) == []
    of_assistant = turn(1, "I see.", "Tea", role="assistant")
    assert local_summarize([of_assistant], keep_notes=True) == []
    assert local_summarize([turn(1, "I'm vegan."), turn(2, "I see.")], keep_notes=True) == []


def test_only_the_disclosing_sentences_are_quoted() -> None:
    (text,) = _texts(
        "Wow, great! I adopted a dog from the shelter. Isn't that nice? "
        "We named him Rex after my grandfather."
    )
    assert "“I adopted a dog from the shelter.” … “We named him Rex" in text
    assert "Wow" not in text
    assert "Isn't" not in text


def test_an_attachment_is_quoted_with_the_text() -> None:
    both, alone = local_summarize(
        [
            turn(1, "I painted this on Sunday.", shared="a lake at dawn"),
            turn(2, "", shared="a red boat"),
        ]
    )
    assert both.text.endswith("“I painted this on Sunday.” (shares a lake at dawn)")
    assert alone.text == "Ana shared on 8 May 2023: a red boat"


def test_an_agent_with_recalled_memories_is_not_remembered() -> None:
    text = "I remember that my sister moved to Lisbon last year."
    assert local_summarize([turn(1, text, "Tea", role="assistant", recalled=(3,))]) == []
    assert len(local_summarize([turn(1, text, "Tea", role="assistant")])) == 1


def test_other_languages_are_judged_by_form() -> None:
    disclosed = [
        "我上个月搬到了上海，在一家医院工作。",
        "Мой брат переехал в Казань прошлой весной и работает врачом.",
        "Meine Schwester hat letzten Sommer einen kleinen Laden eröffnet.",
    ]
    for text in disclosed:
        assert len(local_summarize([turn(1, text)])) == 1, text
    for text in ["你好！", "Привет!", "Wie geht's?", "你今天晚上想去哪里吃饭？"]:
        assert local_summarize([turn(1, text)]) == [], text


def test_a_very_long_turn_gives_a_bounded_number_of_bounded_quotes() -> None:
    text = "I bought a blue boat in Porto last year. " * 20_000
    made = local_summarize([turn(1, text)])
    assert len(made) == MEMORIES_PER_TURN
    assert all(len(without_attribution(memory.text)) <= QUOTE_LIMIT + 20 for memory in made)
    unbroken = local_summarize([turn(1, "I " + "x" * 100_000), turn(2, " " * 100_000)])
    assert len(unbroken) <= 1


def test_the_same_turn_twice_is_remembered_once() -> None:
    text = "I bought a boat in Porto last year."
    assert len(local_summarize([turn(1, text), turn(2, text)])) == 1


PIECES = st.sampled_from(
    [
        "I moved to Porto.",
        "\n",
        "“",
        "”",
        " … ",
        "… ",
        "我搬家了。",
        "?",
        ". ",
        "we sail on 8 May",
        "\x00",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(max_size=40) | PIECES, max_size=12).map("".join), st.text(max_size=20))
def test_every_quote_is_verbatim_and_the_result_repeats(text: str, shared: str) -> None:
    spoken = turn(1, text, shared=shared)
    made = local_summarize([spoken])
    assert made == local_summarize([spoken])
    for memory in made:
        assert memory.source_turns == (1,)
        words = memory.text.removeprefix("Ana said on 8 May 2023: ")
        words = words.removeprefix("Ana shared on 8 May 2023: ")
        left = words.replace(f" (shares {shared.strip()})", "") if shared.strip() else words
        for quote in left.split("” … “"):
            assert quote.removeprefix("“").removesuffix("”") in text or quote in (
                text,
                shared.strip(),
            )
