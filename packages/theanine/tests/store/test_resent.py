"""What of a list of messages is new to a thread."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine.store.resent import FINGERPRINT_EDGE, count_held, fingerprint


@pytest.mark.parametrize(
    ("logged", "sent", "new"),
    [
        ("", "ab", "ab"),
        ("ab", "abc", "c"),  # the whole history again
        ("abc", "abc", ""),
        ("abcd", "cde", "e"),  # cut at its front
        ("abcd", "de", "de"),  # d may have been said again
        ("abcd", "Scde", "e"),  # with a summary in front
        ("abcd", "abX", "X"),  # its last messages edited
        ("abcd", "abc", ""),  # to be answered again
        ("abcdD", "abcDe", "e"),  # answered again
        ("abcdXY", "abXYe", "e"),  # edited and gone on
        ("acd", "abcde", "e"),  # b was forgotten
        ("abcd", "abXd", "Xd"),  # edited, with the same answer
        ("y", "yy", "y"),  # equal messages
        ("yy", "yyy", "y"),
        ("yoyo", "yoyoy", "y"),
        ("ab", "cd", "cd"),  # only what is new
        ("abcd", "b", "b"),
        ("abcd", "a", "a"),
        ("abcd", "bX", "bX"),
        ("aa", "a", "a"),
        ("a", "a", "a"),
        ("a", "ab", "b"),
        ("y", "hXyo", "hXyo"),  # more is unknown than known
    ],
)
def test_what_is_new(logged: str, sent: str, new: str) -> None:
    assert sent[count_held(logged, sent, complete=True) :] == new


def is_one_message(sent: Sequence[object]) -> bool:
    """Whether a list is a single message, which may have been said again."""
    return len(sent) == 1


@given(st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_a_whole_history_adds_what_follows(logged: str, new: str) -> None:
    sent = logged + new
    assert sent[count_held(logged, sent, complete=True) :] == new or is_one_message(sent)


@given(st.lists(st.integers(), unique=True), st.lists(st.integers(), unique=True), st.data())
def test_a_window_of_the_history_adds_what_follows(
    logged: list[int], new: list[int], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, max(0, len(logged) - 2)))
    new = [n for n in new if n not in logged]
    sent = logged[start:] + new
    held = count_held(logged, sent, complete=True)
    assert sent[held:] == new or is_one_message(sent)


@given(
    st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True),
    st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True),
)
def test_nothing_is_logged_twice_when_it_is_sent_twice(logged: list[str], sent: list[str]) -> None:
    if is_one_message(sent):
        return
    once = logged + sent[count_held(logged, sent, complete=True) :]
    assert count_held(once, sent, complete=True) == len(sent)


@given(st.text("ab", max_size=2 * FINGERPRINT_EDGE + 5))
def test_a_short_content_is_compared_whole(content: str) -> None:
    assert (fingerprint(content) == content) == (len(content) <= 2 * FINGERPRINT_EDGE)
