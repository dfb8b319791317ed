"""Splitting turns into passages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from theanine.retrieval.passages import PASSAGE_WORDS, split_passages

SENTENCE = "The harbor master keeps three grey cats in the old customs house. "


def test_a_turn_of_ordinary_length_is_one_passage() -> None:
    assert split_passages(SENTENCE * 5) == [(0, len(SENTENCE) * 5)]


def test_a_long_turn_is_split_between_sentences() -> None:
    text = SENTENCE * 20
    passages = [text[start:end] for start, end in split_passages(text)]
    assert len(passages) > 2
    assert all(len(passage.split()) <= PASSAGE_WORDS for passage in passages)
    assert all(passage.strip().endswith(".") for passage in passages)


def test_a_long_turn_without_spaces_is_split_as_well() -> None:
    text = "海の近くの町に住んでいる祖母は毎朝魚を買いに行く。" * 20
    assert len(split_passages(text)) > 2
    assert len(split_passages("海" * 2_000)) > 2


@given(st.text(alphabet=st.sampled_from("ab。.! \n海é"), max_size=3_000))
def test_the_passages_are_the_whole_text(text: str) -> None:
    spans = split_passages(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end or not text for start, end in spans)
