"""What makes no sense is refused at once, with its name; and a closed agent says that it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pytest

import theanine
from theanine.errors import BadInput, SettingsError, StoreError, UserError

NAUGHT = cast("Any", None)
NAIVE = datetime(2024, 1, 1)


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[theanine.Client]:
    with theanine.open(str(tmp_path_factory.mktemp("misuse") / "memory.db")) as agent:
        yield agent


Call = Callable[[theanine.Client], object]
WRONG: list[tuple[Call, type[UserError], str]] = [
    (lambda a: a.session(NAUGHT), BadInput, "the user's name must be a string, not NoneType"),
    (lambda a: a.session(""), BadInput, "the user's name is empty"),
    (lambda a: a.recall("x", NAUGHT), BadInput, "the user's name must be a string"),
    (lambda a: a.recall("x", "ana", agent=""), BadInput, "the agent's name is empty"),
    (lambda a: a.memories(cast("Any", b"ana")), BadInput, "a string, not bytes"),
    (lambda a: a.recall("  ", "ana"), BadInput, "the question is empty"),
    (lambda a: a.recall(NAUGHT, "ana"), BadInput, "not NoneType"),
    (lambda a: a.recall(cast("Any", b"x"), "ana"), BadInput, "not bytes"),
    (lambda a: a.recall(cast("Any", ["x"]), "ana"), BadInput, "a list of utterances, not list"),
    (lambda a: a.recall("x", "ana", budget=cast("Any", 1.5)), SettingsError, "not 1.5"),
    (lambda a: a.recall("x", "ana", budget=-1), SettingsError, "the budget must be 0 or more"),
    (lambda a: a.session("ana").hear(NAUGHT), BadInput, "the text must be a string, not NoneType"),
    (lambda a: a.session("ana").hear(cast("Any", b"x")), BadInput, "the text must be a string"),
    (lambda a: a.session("ana").hear("x", at=cast("Any", "now")), BadInput, "datetime, not str"),
    (lambda a: a.session("ana").hear("x", at=NAIVE), BadInput, "no time zone"),
    (lambda _: theanine.open(NAUGHT), SettingsError, "location must be a string, not NoneType"),
    (lambda a: theanine.open(a.location, model=NAUGHT), SettingsError, "model must be"),
]


@pytest.mark.parametrize(("call", "kind", "said"), WRONG)
def test_what_makes_no_sense_is_refused_and_leaves_nothing(
    agent: theanine.Client, call: Call, kind: type[UserError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        call(agent)
    assert agent.users() == []  # no session was begun for it either


def test_that_nothing_was_said_yet_is_no_mistake(agent: theanine.Client) -> None:
    assert not agent.session("ana").recall()


def test_a_closed_agent_says_so(tmp_path: Path) -> None:
    agent = theanine.open(str(tmp_path / "memory.db"))
    talk = agent.session("ana")
    talk.hear("I sold the boat.")
    agent.close()
    uses: list[Callable[[], object]] = [
        lambda: agent.recall("the boat?", "ana"),
        lambda: talk.hear("And more."),
        talk.end,
        lambda: list(agent.export()),
    ]
    for use in uses:
        with pytest.raises(StoreError, match=r"this client is closed; open .*memory\.db again"):
            use()
    agent.close()
    with theanine.open(str(tmp_path / "memory.db")) as again:
        assert [turn.text for turn in again.turns("ana")] == ["I sold the boat."]
