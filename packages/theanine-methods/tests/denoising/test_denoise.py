"""What is left out says least; what is left stands in its order; the rate is kept to."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theanine.errors import SettingsError
from theanine_methods.denoising.denoise import check_denoising, denoise
from theanine_methods.denoising.local import information, local_denoise
from theanine_methods.denoising.selection import keep_words

pytestmark = pytest.mark.anyio

LINES = st.lists(st.text("ab ,?the3船", max_size=40), max_size=6)


@settings(deadline=None)
@given(LINES, st.floats(0.01, 1))
def test_words_are_dropped_until_the_rate_is_met(lines: list[str], rate: float) -> None:
    kept = local_denoise(lines, rate)
    assert len(kept) == len(lines)
    for line, rest in zip(lines, kept, strict=True):
        words = iter(line.split())
        assert all(word in words for word in rest.split()), "not in order, or a new word"
    total = sum(len(line.split()) for line in lines)
    left = sum(len(line.split()) for line in kept)
    assert left == min(total, max(1, round(rate * total)))


@given(LINES, st.floats(0.01, 1))
def test_no_dropped_word_is_more_informative_than_a_kept_one(lines: list[str], rate: float) -> None:
    words = sorted(chain.from_iterable(line.split() for line in lines))
    kept = sorted(chain.from_iterable(line.split() for line in local_denoise(lines, rate)))
    gone = list(words)
    for word in kept:
        gone.remove(word)
    assert max(map(information, gone), default=0) <= min(map(information, kept), default=0)


def test_the_commonest_words_are_the_least_informative() -> None:
    lines = [
        "I went to the LGBTQ support group yesterday and it was so powerful.",
        "Wow, 900 of it!",
    ]
    kept = " ".join(local_denoise(lines, 0.6)).split()
    assert {"LGBTQ", "powerful.", "yesterday", "support", "900"} <= set(kept)
    assert not {"I", "to", "the", "of", "and"} & set(kept)
    assert information("?!") == 0 < information("the") < information("harbour")


def test_of_equally_informative_words_the_first_is_kept() -> None:
    assert keep_words(["a b", "a"], 0.7, [[1, 1], [1]]) == ["a b", ""]
    assert keep_words(["", " "], 0.5, [[], []]) == ["", ""]


async def test_nothing_is_dropped_at_full_rate() -> None:
    lines = ["the the", "of"]
    assert await denoise(lines, "none", 0.1) == lines
    assert await denoise(lines, "local", 1.0) == lines
    assert await denoise(lines, "local", 0.5) == local_denoise(lines, 0.5) != lines


def test_the_llmlingua_model_is_required(tmp_path: object) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed (make extras)")
    pytest.importorskip("torch", reason="torch is not installed (make extras)")
    with pytest.raises(SettingsError, match="llmlingua_model must name the folder"):
        check_denoising("llmlingua2", f"{tmp_path}/nowhere")
    check_denoising("local", "")
