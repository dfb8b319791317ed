"""Exports of one store, in any order, give one store, and bring back nothing that was forgotten."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import hypothesis
import pytest
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
from theanine.demo import HARBOUR
from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.types import History, Transcript, Utterance

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:users who were left out"),
]

Records = list[dict[str, Any]]
_USERS = ("ana", "bo")
AT = datetime(2024, 3, 1, 10, tzinfo=UTC)


class _KilledError(Exception):
    """Stands for the end of the process that restores."""


def _cut(records: Records, after: int) -> Iterator[dict[str, Any]]:
    yield from records[:after]
    raise _KilledError


class ExportsOfOneStore(RuleBasedStateMachine):
    """A store that is changed and exported, and copies into which exports are restored."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.exports: list[Records] = []
        self.gone: list[tuple[int, str]] = []
        self.spoken = 0
        self.copies = 0

    @initialize()
    def begin(self) -> None:
        self.source = theanine.open(self.path / "source.db")
        self.log("ana", 2)
        self.export()

    def teardown(self) -> None:
        self.source.close()
        self.folder.cleanup()

    # changes

    @rule(user=st.sampled_from(_USERS), turns=st.integers(1, 3))
    def log(self, user: str, turns: int) -> None:
        self.spoken += 1
        at = AT
        said = [
            Utterance(text=f"Number {self.spoken}.{turn} is about bees.", speaker=user, at=at)
            for turn in range(turns)
        ]
        transcript = Transcript(key=f"s{self.spoken}", turns=said, at=at)
        self.source.user(user).log(History(name=user, transcripts=[transcript]))

    @rule(user=st.sampled_from(_USERS))
    def speak(self, user: str) -> None:
        self.spoken += 1
        session = self.source.user(user).session("open")
        session.hear(f"Number {self.spoken} is about bees.")

    @rule(user=st.sampled_from(_USERS))
    def remember(self, user: str) -> None:
        self.source.user(user).remember()

    @rule(user=st.sampled_from(_USERS), data=st.data())
    def forget_turn(self, user: str, data: st.DataObject) -> None:
        if turns := self.source.user(user).turns():
            turn = data.draw(st.sampled_from(turns))
            self.source.user(user).forget(turn=turn.id)
            self.gone.append((len(self.exports), turn.text))

    @rule(user=st.sampled_from(_USERS))
    def forget_user(self, user: str) -> None:
        if turns := self.source.user(user).turns():
            self.source.user(user).forget_all()
            self.gone += [(len(self.exports), turn.text) for turn in turns]

    @rule(user=st.sampled_from(_USERS), data=st.data(), correct=st.booleans())
    def mark(self, user: str, data: st.DataObject, correct: bool) -> None:
        owner = self.source.user(user)
        marked = {mark.memory for mark in owner.marks()}
        if memories := [memory for memory in owner.memories() if memory.id not in marked]:
            memory = data.draw(st.sampled_from(memories)).id
            if correct:
                self.spoken += 1
                owner.correct(memory, f"Corrected by {self.spoken}.")
            elif not owner.pin(memory):
                owner.unpin(memory)

    @rule(user=st.sampled_from(_USERS))
    def rebuild(self, user: str) -> None:
        if self.source.user(user).turns():
            self.source.user(user).rebuild(again=True)

    @rule(user=st.sampled_from(_USERS), zone=st.sampled_from(["Asia/Tokyo", "UTC", None]))
    def set_zone(self, user: str, zone: str | None) -> None:
        self.source.user(user).set_time_zone(zone)

    @rule()
    def export(self) -> None:
        self.exports.append(json.loads(json.dumps(list(self.source.export()))))

    # restoring

    @precondition(lambda self: len(self.exports) > 1)
    @rule(seed=st.integers(0, 2**32), kill=st.booleans())
    def restore_in_any_order(self, seed: int, kill: bool) -> None:
        rng = Random(seed)
        chosen = rng.choices(range(len(self.exports)), k=rng.randint(1, 4))
        self.copies += 1
        with theanine.open(self.path / f"copy{self.copies}.db") as copy:
            for number in chosen:
                records = self.exports[number]
                if kill:
                    before = list(copy.export())
                    with pytest.raises(_KilledError):
                        copy.restore(_cut(records, rng.randint(0, len(records))))
                    assert list(copy.export()) == before
                copy.restore(records)
            assert list(copy.export()) == self.exports[max(chosen)]
            assert copy.check() == ""
        content = b"".join(p.read_bytes() for p in self.path.glob(f"copy{self.copies}.db*"))
        for since, text in self.gone:
            if since <= max(chosen):
                assert text.encode() not in content, f"{text!r} was forgotten"

    @precondition(lambda self: self.exports)
    @rule(data=st.data())
    def restore_into_the_source(self, data: st.DataObject) -> None:
        before = list(self.source.export())
        assert self.source.restore(data.draw(st.sampled_from(self.exports))) == 0
        assert list(self.source.export()) == before

    @precondition(lambda self: self.exports)
    @rule(data=st.data())
    def refuse_a_part(self, data: st.DataObject) -> None:
        records = data.draw(st.sampled_from(self.exports))
        kept = data.draw(st.integers(1, len(records) - 1))
        with (
            theanine.open(self.path / "part.db") as part,
            pytest.raises(BadInput, match="not a whole export"),
        ):
            part.restore(records[:kept])

    @invariant()
    def is_sound(self) -> None:
        if self.exports:
            assert self.source.check() == ""


def test_exports_in_any_order_give_the_same_store() -> None:
    settings = hypothesis.settings(cases(4), stateful_step_count=25)
    run_state_machine_as_test(ExportsOfOneStore, settings=settings)


@pytest.mark.parametrize("method", ["theanine", "exchange"])
def test_an_early_and_a_later_export_are_remembered_once(tmp_path: Path, method: str) -> None:
    with theanine.open(tmp_path / "a.db", method=method) as source:
        ana = source.user("ana")
        ana.log(read_histories(HARBOUR).histories[0])
        early = list(source.export())
        ana.remember()
        later, memories = list(source.export()), ana.memories()
    for number, order in enumerate([[early, later], [later, early]]):
        with theanine.open(tmp_path / f"{number}.db", method=method) as copy:
            for records in order:
                copy.restore(records)
            copy.remember()
            assert copy.user("ana").memories() == memories
