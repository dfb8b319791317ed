"""What is taken for the same in a search for words."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine.folding import fold

LATIN = st.text(st.characters(max_codepoint=0x24F))
TYPED = {"'": "‘’ʼ´`", '"': "“”„«»", "-": "‐‑–—"}
ACCENTS = "\u0300\u0301\u0302\u0303\u0308\u030c\u0327"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Don’t", "don't", True),
        ("CAFÉ", "cafe", True),
        ("Straße", "STRASSE", True),
        ("Łódź", "lodz", True),
        ("ﬁne", "fine", True),
        ("İzmir", "izmir", True),
        ("Ωμέγα", "ωμεγα", True),
        ("ΟΔΟΣ", "οδος", True),
        ("ｆｕｌｌ", "full", True),
        ("co\u00adoperate", "cooperate", True),
        ("が", "か", False),
        ("мой", "мои", False),
        ("हि", "ह", False),
        ("resume", "resumes", False),
    ],
)
def test_what_people_take_for_the_same(one: str, other: str, same: bool) -> None:
    assert (fold(one) == fold(other)) is same


@given(st.text())
def test_folding_again_changes_nothing_nor_does_the_form(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded
    assert fold(unicodedata.normalize("NFD", text)) == folded
    assert fold(unicodedata.normalize("NFC", text)) == folded


@given(LATIN, st.text("abcdefghijklmnopqrstuvwxyz'\"-", min_size=1), LATIN, st.data())
def test_a_word_is_found_however_it_was_typed(
    before: str, word: str, after: str, data: st.DataObject
) -> None:
    typed = "".join(
        data.draw(st.sampled_from([letter, *TYPED.get(letter, letter.upper())]))
        + (data.draw(st.sampled_from(["", *ACCENTS])) if letter.isalpha() else "")
        for letter in word
    )
    text = unicodedata.normalize(data.draw(st.sampled_from(["NFC", "NFD"])), typed)
    assert fold(word) in fold(f"{before} {text} {after}")
