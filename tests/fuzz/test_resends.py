"""A dialogue with repetitions, sent in the ways of applications, is logged as it was said."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import theanine
from support.fuzzing import cases
from theanine.types import Message

pytestmark = pytest.mark.fuzz

FIRST = datetime(2024, 5, 1, 9, tzinfo=UTC)
WORDS = st.lists(st.sampled_from(["yes", "no", "I took my pills.", "1"]), min_size=1, max_size=3)


def overlap(logged: list[str], sent: list[str]) -> int:
    """Return how many of the last messages logged are, at most, the first ones sent."""
    longest = min(len(logged), len(sent))
    return next(n for n in range(longest, -1, -1) if logged[len(logged) - n :] == sent[:n])


class OneThread(RuleBasedStateMachine):
    """An application and its thread.

    ``said`` is what the log must have, ``sent`` is each message of it, and ``dialogue`` is what the
    application has, where an edited message has replaced what it was.
    """

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._client = theanine.open(Path(self._folder.name) / "memory.db", remembering="later")
        self._user = self._client.user("ana")
        self.said: list[str] = []
        self.sent: list[Message] = []
        self.dialogue: list[Message] = []

    @initialize(ids=st.booleans(), own_session=st.booleans())
    def begin(self, ids: bool, own_session: bool) -> None:
        self.ids = ids
        self._session = self._user.session(None if own_session else "thread")

    def _speak(self, words: list[str]) -> list[Message]:
        new: list[Message] = []
        for text in words:
            new.append({"role": "user", "content": text})
            if self.ids:
                new[-1] = {**new[-1], "id": str(len(self.dialogue) + len(new))}
        self.said += words
        self.sent += new
        return new

    @rule(words=WORDS)
    def send_the_whole_history(self, words: list[str]) -> None:
        self.dialogue += self._speak(words)
        # One message alone, without an id, is always new: it is sent as such below.
        assume(self.ids or len(self.dialogue) > 1)
        self._session.add(self.dialogue)

    @precondition(lambda self: self.ids or len(self.dialogue) > 1)
    @rule()
    def send_the_whole_history_again(self) -> None:
        report = self._session.add(self.dialogue)
        assert report.turns == ()
        assert [turn.text for turn in report.left_out] == [
            message["content"] for message in self.dialogue
        ]

    @precondition(lambda self: len(self.dialogue) >= 2)
    @rule(words=WORDS, data=st.data())
    def send_the_last_ones(self, words: list[str], data: st.DataObject) -> None:
        count = data.draw(st.integers(2, len(self.dialogue)))
        last = [str(message["content"]) for message in self.dialogue[-count:]]
        # Without ids, nobody can tell how much of a repetition is new.
        assume(self.ids or overlap(self.said, last + words) == count)
        known = self.dialogue[-count:]
        new = self._speak(words)
        self.dialogue += new
        self._session.add([*known, *new])

    @rule(text=st.sampled_from(["yes", "no"]), alone=st.booleans())
    def send_one_message(self, text: str, alone: bool) -> None:
        [message] = self._speak([text])
        self.dialogue.append(message)
        assert self._session.add(message if alone else [message]).known == 0

    @precondition(lambda self: len(self.dialogue) > 0 and self.ids)
    @rule(data=st.data(), text=st.sampled_from(["yes", "no", "never"]))
    def edit(self, data: st.DataObject, text: str) -> None:
        position = data.draw(st.integers(0, len(self.dialogue) - 1))
        old = self.dialogue[position]
        assume(old["content"] != text)
        seen = {**old, "content": text}
        assume(seen not in self.sent)
        self.dialogue[position] = seen
        self.sent.append(seen)
        self.said.append(text)
        report = self._session.add(self.dialogue)
        assert [turn.text for turn in report.turns] == [text]

    @precondition(lambda self: not self.ids)
    @rule(words=WORDS, later=st.integers(1, 3))
    def say_the_same_on_another_day(self, words: list[str], later: int) -> None:
        turns = self._user.turns()
        day = max([turn.at for turn in turns], default=FIRST) + timedelta(days=later)
        for _ in range(2):  # the request is repeated
            self._session.add([{"role": "user", "content": text} for text in words], at=day)
            if len(words) == 1:
                break
        self.said += words
        self.dialogue += [{"role": "user", "content": text} for text in words]

    @invariant()
    def the_log_has_what_was_said(self) -> None:
        assert [turn.text for turn in self._user.turns()] == self.said

    def teardown(self) -> None:
        self._client.close()
        self._folder.cleanup()


def test_a_dialogue_is_logged_as_it_was_said() -> None:
    run_state_machine_as_test(OneThread, settings=cases(40))
