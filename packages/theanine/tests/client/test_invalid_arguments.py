"""Invalid arguments and calls on a closed client are errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

import theanine
from theanine.errors import BadInput, SettingsError, StoreError, UserError

NAUGHT = cast("Any", None)
NAIVE = datetime(2024, 1, 1)
END_OF_TIME = datetime.max.replace(tzinfo=UTC)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[theanine.Client]:
    with theanine.open(str(tmp_path_factory.mktemp("misuse") / "memory.db")) as client:
        yield client


Call = Callable[[theanine.Client], object]
WRONG: list[tuple[Call, type[UserError], str]] = [
    (
        lambda a: a.user(NAUGHT).session(),
        BadInput,
        "user must be a string, not None",
    ),
    (lambda a: a.user("").session(), BadInput, "the user's name is empty"),
    (lambda a: a.user(NAUGHT).recall("x"), BadInput, "user must be a string"),
    (lambda a: a.user("ana", agent="").recall("x"), BadInput, "the agent's name is empty"),
    (lambda a: a.user(cast("Any", b"ana")).memories(), BadInput, "a string, not bytes"),
    (lambda a: a.user("ana").recall("  "), BadInput, "the question is empty"),
    (
        lambda a: a.user("ana").recall(NAUGHT),
        BadInput,
        "dialogue must be a string or a list, not None",
    ),
    (lambda a: a.user("ana").recall(cast("Any", b"x")), BadInput, "not bytes"),
    (
        lambda a: a.user("ana").recall(cast("Any", ["x"])),
        BadInput,
        r"dialogue\[0\] must be an Utterance or a mapping, not str",
    ),
    (lambda a: a.user("ana").recall("x", budget=cast("Any", 1.5)), SettingsError, "not 1.5"),
    (lambda a: a.user("ana").recall("x", budget=-1), SettingsError, "the budget must be 0 or more"),
    (
        lambda a: a.user("ana").session().hear(NAUGHT),
        BadInput,
        "words must be a string or a list, not None",
    ),
    (
        lambda a: a.user("ana").session().hear(cast("Any", b"x")),
        BadInput,
        "words must be a string or a list, not bytes",
    ),
    (
        lambda a: a.user("ana").session().hear("x", at=cast("Any", "now")),
        SettingsError,
        "at must be a datetime or None, not str",
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


VALID: dict[str, Any] = {
    "query": "boats",
    "user": "ana",
    "dialogue": "Where is the boat?",
    "messages": "I sold the boat.",
    "words": "I sold the boat.",
    "text": "I kept the boat.",
    "memory": 1,
    "session": 1,
    "name": "Europe/Zagreb",
    "retention": None,
    "history": theanine.History(name="ana", transcripts=[]),
    "records": [],
}
"""Arguments of the parameters that have no default."""
NO_TYPES = (object(), b"x", 1j, [object()], {1: object()})
NUMBERS = (None, True, -1, 10**30, 1.5, float("nan"))
TEXTS = ("", "x", "\0", "\ud800", ["x"], [None])
TIMES = (NAIVE, NAIVE.date(), END_OF_TIME, timedelta(days=-1), timedelta.max, len)


def public_calls(*objects: object) -> Iterator[tuple[Callable[..., object], list[str], str]]:
    """Yield each public method with the names of its required parameters and of one parameter."""
    for each in objects:
        for name, method in inspect.getmembers(each, callable):
            if name.startswith("_"):
                continue
            parameters = inspect.signature(method).parameters
            required = [p.name for p in parameters.values() if p.default is p.empty]
            for parameter in parameters:
                yield method, required, parameter


@pytest.mark.slow
def test_a_wrong_type_is_an_error_of_theanine_in_each_argument_of_each_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a text may be a valid location
    failures: list[str] = []
    with theanine.open(str(tmp_path / "memory.db")) as client:
        ana = client.user("ana")
        ana.add("I bought a boat.")
        live = ana.session("thread")
        live.hear("It is red.")
        calls = list(public_calls(client, ana, live, client.start_remembering()))
        calls += [(theanine.open, [], name) for name in inspect.signature(theanine.open).parameters]
        assert len(calls) > 150
        for call, required, parameter in calls:
            for value in (*NO_TYPES, *NUMBERS, *TEXTS, *TIMES):
                arguments = {name: VALID[name] for name in required} | {parameter: value}
                if call is theanine.open:
                    arguments.setdefault("location", str(tmp_path / "other.db"))
                where = f"{call.__name__}({parameter}={value!r})"
                try:
                    result = call(**arguments)
                    if isinstance(result, Iterator | theanine.ReplyStream):
                        result = list(cast("Iterator[object]", result))
                except theanine.TheanineError:
                    continue
                except Exception as error:  # noqa: BLE001
                    failures.append(f"{where} raised {type(error).__name__}: {error}")
                    continue
                if isinstance(result, theanine.Client):
                    result.close()
                if value in NO_TYPES and parameter != "config":
                    failures.append(f"{where} was accepted")
    assert not failures, "\n".join(failures)


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


def test_help_names_the_options_and_what_is_returned() -> None:
    open_ = inspect.signature(theanine.open)
    assert (open_.return_annotation, "model" in open_.parameters) == ("Client", True)
    assert {"budget", "where"} <= set(inspect.signature(theanine.UserMemory.recall).parameters)
    assert "budget: 'int | None' = ..., limit" in str(inspect.signature(theanine.UserMemory.recall))
    assert {"search", "since"} <= set(inspect.signature(theanine.UserMemory.turns).parameters)
    assert {"tools", "limit"} <= set(inspect.signature(theanine.LiveSession.reply).parameters)
    assert str(inspect.signature(theanine.Client.export).return_annotation).startswith("Iterator")


def test_what_is_printed_is_short(tmp_path: Path) -> None:
    with theanine.open(str(tmp_path / "memory.db")) as client:
        ana = client.user("ana")
        report = ana.add("I sold the red boat because the engine died.")
        [session], [memory] = ana.sessions(), ana.memories()
        live, found = ana.session("thread"), ana.recall("Where is the boat?")
        assert str(report) == "session 1: logged=1 known=0"
        assert str(session).endswith("1 turn, remembered")
        assert str(memory) == memory.text
        assert repr(ana) == "<UserMemory ana>"
        assert repr(live) == "<LiveSession 'thread' of ana>"
        assert repr(client) == f"<Client {client.location}: theanine, local>"
        assert "parts=1" in repr(found) and "engine" not in repr(found)
        assert str(ana.forget(session=1)).startswith("ana: erased sessions=1 turns=1 memories=1")
        hidden = {"inner", "portal", "import_module"}
        assert hidden.isdisjoint({*dir(client), *dir(ana), *dir(live), *dir(theanine)})


def test_an_error_names_the_arguments_that_there_are(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        ana: Any = client.user("ana")
        calls: list[tuple[Callable[[], object], str]] = [
            (lambda: ana.recall(), "it takes dialogue, and by name budget, limit"),
            (lambda: ana.recall("x", nonsense=1), "it takes dialogue, and by name budget"),
            (lambda: ana.pin(), "it takes memory"),
        ]
        for call, words in calls:
            with pytest.raises(TypeError, match=words) as raised:
                call()
            assert (
                "Ellipsis" not in str(raised.value) and "'" not in str(raised.value).split(";")[1]
            )
