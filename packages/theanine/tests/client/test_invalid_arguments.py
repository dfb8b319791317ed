"""Invalid arguments and calls on a closed client are errors."""

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
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[theanine.Client]:
    with theanine.open(str(tmp_path_factory.mktemp("misuse") / "memory.db")) as client:
        yield client


Call = Callable[[theanine.Client], object]
WRONG: list[tuple[Call, type[UserError], str]] = [
    (
        lambda a: a.user(NAUGHT).session(),
        BadInput,
        "the user's name must be a string, not NoneType",
    ),
    (lambda a: a.user("").session(), BadInput, "the user's name is empty"),
    (lambda a: a.user(NAUGHT).recall("x"), BadInput, "the user's name must be a string"),
    (lambda a: a.user("ana", agent="").recall("x"), BadInput, "the agent's name is empty"),
    (lambda a: a.user(cast("Any", b"ana")).memories(), BadInput, "a string, not bytes"),
    (lambda a: a.user("ana").recall("  "), BadInput, "the question is empty"),
    (lambda a: a.user("ana").recall(NAUGHT), BadInput, "not NoneType"),
    (lambda a: a.user("ana").recall(cast("Any", b"x")), BadInput, "not bytes"),
    (
        lambda a: a.user("ana").recall(cast("Any", ["x"])),
        BadInput,
        "message 1: a message must be a mapping",
    ),
    (lambda a: a.user("ana").recall("x", budget=cast("Any", 1.5)), SettingsError, "not 1.5"),
    (lambda a: a.user("ana").recall("x", budget=-1), SettingsError, "the budget must be 0 or more"),
    (
        lambda a: a.user("ana").session().hear(NAUGHT),
        BadInput,
        "the text must be a string, not NoneType",
    ),
    (
        lambda a: a.user("ana").session().hear(cast("Any", b"x")),
        BadInput,
        "the text must be a string",
    ),
    (
        lambda a: a.user("ana").session().hear("x", at=cast("Any", "now")),
        BadInput,
        "datetime, not str",
    ),
    (lambda a: a.user("ana").session().hear("x", at=NAIVE), BadInput, "no time zone"),
    (lambda _: theanine.open(NAUGHT), SettingsError, "location must be a string, not NoneType"),
    (lambda a: theanine.open(a.location, model=NAUGHT), SettingsError, "model must be"),
]


@pytest.mark.parametrize(("call", "kind", "expected"), WRONG)
def test_invalid_arguments_are_errors_and_store_nothing(
    client: theanine.Client, call: Call, kind: type[UserError], expected: str
) -> None:
    with pytest.raises(kind, match=expected):
        call(client)
    assert client.users() == []  # no session was begun for it either


def test_an_empty_dialogue_is_valid(client: theanine.Client) -> None:
    assert not client.user("ana").session().recall()


def test_a_closed_client_is_an_error(tmp_path: Path) -> None:
    client = theanine.open(str(tmp_path / "memory.db"))
    session = client.user("ana").session()
    session.hear("I sold the boat.")
    client.close()
    uses: list[Callable[[], object]] = [
        lambda: client.user("ana").recall("the boat?"),
        lambda: session.hear("And more."),
        session.end,
        lambda: list(client.export()),
    ]
    for use in uses:
        with pytest.raises(StoreError, match=r"this client is closed; open .*memory\.db again"):
            use()
    client.close()
    with theanine.open(str(tmp_path / "memory.db")) as again:
        assert [turn.text for turn in again.user("ana").turns()] == ["I sold the boat."]
