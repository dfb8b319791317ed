"""Where sentences end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine.sentences import sentence_ends, sentence_spans


@pytest.mark.parametrize(
    "text",
    [
        # titles and initials
        "The appointment with Dr. Weber was moved from 12 May to 3 June.| It is fine.",
        "Prof. Klein said that Mr. and Mrs. Smith came.| Ms. Lee didn't.",
        "I read J. R. R. Tolkien.| He wrote more than George R. R. Martin.",
        "Ich war bei Prof. Dr. Weber und Dipl.-Ing. Maier.| Hr. Kunz kam auch.",
        "El Sr. García y la Dra. López vinieron.| D. Juan no vino.",
        # abbreviations
        "We need fruit, e.g. apples, i.e. five of them, etc. for now.| Then we cook.",
        "I live in the U.S. with my cat.| The U.S. Army is near St. Louis.| I like it.",
        "Ich mag Obst, z. B. Äpfel, d.h. ca. fünf usw. für heute.| Dann koche ich.",
        "Vive en EE. UU. con su hija, p. ej. en verano.| Viven en EE. UU.| La casa es grande.",
        "Our flat is No. 5 in Hauptstr. 7, see p. 12.| She said no.| Five is enough.",
        # decimals, times, days and ordinals
        "It costs 3.50 euros.| The train leaves at 5 p.m. Monday.| We met at 9 a.m.| Then we ate.",
        "Salió a las 5 p. m. el lunes.| Costó 3.50 euros.",
        "Am 3. Juni, am 12. und 13. Mai und im 2. Stock.| Es war 2019.| Dann kam der 1. Winter.",
        "See you Fri. at noon on Jan. 5.| I am 42.| She is 40.| I was born in 1982.| It was cold.",
        # no abbreviation
        "I sold it in May.| My sister lives in CA.| Das ist, was ich mag.| Dann ging ich.",
        "how are u.| i am fine.| it was late...| so do i!?| u know?",
        # lists, quotes and marks of other scripts
        "1. Buy milk.| 2. Buy eggs.|\nDone|\n- and bread",
        "He said “No.”| „Gut.“| Then **he left.**| (Twice.)| Yes.",
        "我去了。|你呢？|好！|她说“不。”|走了。",
        "行きました。|「はい！」|次です。",
    ],
)
def test_sentences_end_where_they_end(text: str) -> None:
    parts = text.split("|")
    plain = "".join(parts)
    assert [plain[a:b] for a, b in sentence_spans(plain)] == [part.strip() for part in parts]


def test_a_text_that_stops_within_a_sentence_has_no_end_there() -> None:
    assert list(sentence_ends("I saw her. Then I saw Dr.")) == [10]
    assert list(sentence_ends("I saw her. Then I")) == [10]
    assert list(sentence_ends("I live in the U.S.")) == [18]


@given(st.text(alphabet=st.sampled_from("aBI1 .!…?。”“*(-\n\u00a0é"), max_size=60))
def test_all_but_space_is_in_a_sentence(text: str) -> None:
    spans = list(sentence_spans(text))
    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())
    assert all(text[a:b] == text[a:b].strip() != "" for a, b in spans)
    ends = list(sentence_ends(text))
    assert ends == sorted(set(ends))
