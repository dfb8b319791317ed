"""What every method must keep to, through the public face; a method is one more parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.conversation import History, Transcript, Utterance
from theanine.demo import HARBOUR, questions
from theanine.formats import read_histories
from theanine.methods.registry import METHODS
from theanine.models.bundled import count_tokens
from theanine.testing import ScriptedServer, answer, status

START = datetime(2024, 5, 8, 12, tzinfo=UTC)
SECRET = "cormorant-4417"
ASKED = [question.question for question in questions()]

Opened = Callable[[Path], theanine.Agent]


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> str:
    """The method under test."""
    return str(request.param)


@pytest.fixture(params=["local", "scripted"])
def opened(request: pytest.FixtureRequest, method: str) -> Iterator[Opened]:
    """Opens a store with the method, without a model and with a scripted one."""

    def local(path: Path) -> theanine.Agent:
        return theanine.open(str(path), method=method)

    if request.param == "local":
        yield local
        return
    with ScriptedServer() as server:

        def scripted(path: Path) -> theanine.Agent:
            url = server.base_url
            return theanine.open(str(path), method=method, model="openai:scripted", base_url=url)

        yield scripted


def demo() -> History:
    """The bundled conversation's first four sessions, whose roles are both there."""
    whole = read_histories(HARBOUR).histories[0]
    return replace(whole, transcripts=whole.transcripts[:4])


def single(*texts: str, key: str = "one", day: int = 0) -> History:
    """One session of a user's turns."""
    at = START + timedelta(days=day)
    turns = [
        Utterance(text=text, speaker="Ana", at=at + timedelta(minutes=i))
        for i, text in enumerate(texts)
    ]
    return History(name="ana", transcripts=[Transcript(key=key, turns=turns, at=at)])


def learn(agent: Any, history: History, user: str = "ana") -> None:
    """Log and remember; nothing may fail."""
    agent.log(history, user)
    assert [report.failure for report in agent.remember(user) if report.failure] == []


def everything(agent: Any, user: str = "ana") -> tuple[Any, ...]:
    """All that is remembered, and what comes back."""
    found = [agent.recall(question, user) for question in ASKED]
    return (agent.memories(user), agent.links(user), found)


def test_nothing_is_lost(opened: Opened, tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as agent:
        learn(agent, demo())
        said = [turn.text for transcript in demo().transcripts for turn in transcript.turns]
        assert [turn.text for turn in agent.turns("ana")] == said
        assert agent.pending() == []


def test_one_by_one_at_once_and_twice_are_the_same(opened: Opened, tmp_path: Path) -> None:
    with opened(tmp_path / "once.db") as agent:
        learn(agent, demo())
        expected = everything(agent)
    with opened(tmp_path / "pieces.db") as agent:
        for _ in range(2):
            for transcript in demo().transcripts:
                learn(agent, History(name="ana", transcripts=[transcript]))
        assert everything(agent) == expected
        assert everything(agent) == expected


def test_every_part_is_traced_to_turns_of_the_user(opened: Opened, tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as agent:
        learn(agent, demo())
        known = {turn.id: turn for turn in agent.turns("ana")}
        memories = {memory.id: memory for memory in agent.memories("ana")}
        for question in ASKED:
            for part in agent.recall(question, "ana").parts:
                assert part.text
                assert part.sources
                assert all(known[turn.id] == turn for turn in part.sources)
                assert all(memories[memory.id] == memory for memory in part.memories)


def test_scopes_never_mix(opened: Opened, tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as agent:
        learn(agent, single("I keep my money under the red boat, and I love rowing."), "ana")
        learn(agent, single(f"I keep my {SECRET} under the red boat, and I love it."), "bo")
        found = agent.recall("What is under the red boat?", "ana")
        assert SECRET not in found.text
        assert all(SECRET not in turn.text for turn in found.sources)
        assert SECRET not in str(agent.memories("ana"))
        assert not agent.recall("What is under the red boat?", "nobody")


def _files(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))


@pytest.mark.parametrize("what", ["user", "session", "memory"])
def test_forgetting_is_complete(opened: Opened, tmp_path: Path, what: str) -> None:
    path = tmp_path / "m.db"
    with opened(path) as agent:
        learn(agent, single("I sold the boat because the engine died.", key="a"))
        learn(agent, single(f"I moved the {SECRET} of the boat to the attic.", key="b", day=3))
        agent.recall("Where is the boat?", "ana")
        chosen: dict[str, Any] = {}
        if what == "session":
            chosen = {"session": agent.sessions("ana")[1].id}
        if what == "memory":
            holding = [memory for memory in agent.memories("ana") if SECRET in memory.text]
            if not holding:
                pytest.skip("this method keeps no memory of its own of these words")
            chosen = {"memory": holding[0].id}
        assert agent.forget("ana", **chosen).verified
        assert SECRET.encode() not in _files(path)
        if what != "user":
            assert SECRET not in agent.recall("Where is the boat?", "ana").text
            learn(agent, single("I bought another boat with a new engine.", key="c", day=9))
    assert SECRET.encode() not in _files(path)


@pytest.mark.parametrize(
    "history",
    [
        History(name="ana", transcripts=[]),
        single("Hello."),
        single("I am terrified of ships."),
        single("？", "🛶" * 50, "…"),
    ],
    ids=["empty", "greeting", "one turn", "nothing to say"],
)
def test_small_histories_are_fine(opened: Opened, tmp_path: Path, history: History) -> None:
    with opened(tmp_path / "m.db") as agent:
        learn(agent, history)
        agent.recall("What about ships?", "ana", budget=50)
        with agent.session("ana") as talk:
            talk.hear("Are ships fine?")
            assert talk.reply().text


def test_a_model_that_fails_half_way_costs_nothing_but_time(method: str, tmp_path: Path) -> None:
    with ScriptedServer() as server:
        model: dict[str, Any] = {"model": "openai:scripted", "base_url": server.base_url}
        with theanine.open(str(tmp_path / "smooth.db"), method=method, **model) as agent:
            learn(agent, demo())
            expected = everything(agent)
            smooth = len(server.calls)
        failing = iter([True, False, False, True, False, True])

        def sometimes(request: Any) -> Any:
            return status(400) if next(failing, False) else answer(request)

    with ScriptedServer(sometimes) as server:
        model = {"model": "openai:scripted", "base_url": server.base_url}
        with theanine.open(str(tmp_path / "rough.db"), method=method, **model) as agent:
            agent.log(demo(), "ana")
            for _ in range(8):
                if not agent.pending():
                    break
                agent.remember("ana")
            assert agent.pending() == []
            list(failing)  # what remembering left of the failures would meet the recalls
            assert everything(agent) == expected
            refused = sum(call.outcome == "status 400" for call in server.calls)
            assert len(server.calls) - refused == smooth
            assert sum(line.calls + line.failed for line in agent.costs()) >= len(server.calls)


def test_costs_are_what_the_server_counted(method: str, tmp_path: Path) -> None:
    with (
        ScriptedServer() as server,
        theanine.open(
            str(tmp_path / "m.db"), method=method, model="openai:x", base_url=server.base_url
        ) as agent,
    ):
        learn(agent, demo())
        agent.recall("Why does Ana fear ships?", "ana")
        assert sum(line.calls for line in agent.costs()) == len(server.calls)


def test_what_no_model_made_says_so(method: str, tmp_path: Path) -> None:
    with theanine.open(str(tmp_path / "m.db"), method=method) as agent:
        learn(agent, demo())
        assert {memory.made_by for memory in agent.memories("ana")} <= {"local"}
        assert {part.made_by for part in agent.recall(ASKED[0], "ana").parts} <= {"local"}
        talk = agent.session("ana")
        talk.hear(ASKED[0])
        assert "No language model" in talk.reply().text
        talk.end()


@pytest.mark.parametrize("budget", [0, 40, 400])
def test_a_budget_is_never_passed(opened: Opened, tmp_path: Path, budget: int) -> None:
    with opened(tmp_path / "m.db") as agent:
        learn(agent, demo())
        for question in ASKED:
            assert count_tokens(agent.recall(question, "ana", budget=budget).text) <= budget
