"""What every method must keep to, through the public face alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import pytest

import theanine
from theanine.errors import SettingsError
from theanine.methods.registry import method_class, open_method
from theanine.testing.contract.histories import (
    ASKED,
    IN_FLIGHT,
    SECRET,
    SMALL,
    Child,
    demo,
    everything,
    in_files,
    learn,
    records_of,
    settle,
    single,
    source_turn_ids,
)
from theanine.testing.faults import status
from theanine.testing.script import Script, by_step, writer
from theanine.testing.server import ScriptedServer
from theanine.tokenizer import count_tokens
from theanine.types import History

Opened = Callable[[Path], theanine.Client]


class MethodContract:
    """Subclass it in a test module as ``class TestMine(MethodContract)`` and give it the name.

    Attributes:
        name: the method's id, as its package's entry point names it.
        settings: its settings by name, if not the defaults.
        answers: what a scripted model answers to the method's own steps, by the step's name; it
            knows the answers to theanine's own.
    """

    name: ClassVar[str] = ""
    settings: ClassVar[Mapping[str, object]] = {}
    answers: ClassVar[Mapping[str, Any]] = {}

    # what the tests stand on; override `method` to run them over several

    @pytest.fixture
    def method(self) -> str:
        """The id of the method under test."""
        return self.name

    @pytest.fixture
    def server(self) -> Iterator[ScriptedServer]:
        """A scripted model, over real HTTP on loopback."""
        if find_spec("pydantic_ai") is None:
            pytest.skip("what asks a model needs the extra theanine[models]")
        with ScriptedServer(self.script) as server:
            yield server

    @pytest.fixture(params=["local", "scripted"])
    def opened(self, request: pytest.FixtureRequest, method: str) -> Opened:
        """Opens a store with the method, without a model and with a scripted one."""
        if request.param == "local":
            return lambda path: theanine.open(**self.options(path, method))
        server: ScriptedServer = request.getfixturevalue("server")
        return lambda path: theanine.open(**self.options(path, method, server))

    @property
    def script(self) -> Script:
        """What the model answers."""
        return by_step(self.answers)

    def options(
        self, path: Path, method: str, server: ScriptedServer | None = None
    ) -> dict[str, Any]:
        """How ``theanine.open`` is called."""
        given: dict[str, Any] = {"location": str(path), "method": method, "seed": 7}
        if self.settings:
            given["config"] = dict(self.settings)
        if server is not None:
            given |= {"model": "openai:scripted", "base_url": server.base_url}
        return given

    def test_settings_are_frozen_data_with_defaults(self, method: str) -> None:
        """A frozen dataclass; an unknown setting is a mistake, and paper() gives one of its own."""
        config: Any = method_class(method).Config()
        assert config.__dataclass_params__.frozen
        assert hash(config) == hash(type(config)())
        if hasattr(config, "paper"):
            assert isinstance(config.paper(), type(config))
        with pytest.raises(SettingsError, match="no_such_setting"):
            open_method(method, {"no_such_setting": 1})

    # nothing is lost

    def test_nothing_is_lost(self, opened: Opened, tmp_path: Path) -> None:
        """The log has every turn, and every session is remembered."""
        with opened(tmp_path / "m.db") as agent:
            learn(agent, demo())
            said = [turn.text for transcript in demo().transcripts for turn in transcript.turns]
            assert [turn.text for turn in agent.user("ana").turns()] == said
            assert agent.pending() == []

    @pytest.mark.parametrize("small", SMALL)
    def test_small_histories_are_fine(self, opened: Opened, tmp_path: Path, small: str) -> None:
        """No session, or one of hardly a word."""
        with opened(tmp_path / "m.db") as agent:
            learn(agent, SMALL[small])
            agent.user("ana").recall("What about ships?", budget=50)
            with agent.user("ana").session() as talk:
                talk.hear("Are ships fine?")
                assert talk.reply().text
            assert agent.pending() == []

    # the same again

    def test_one_by_one_at_once_and_twice_are_the_same(
        self, opened: Opened, tmp_path: Path
    ) -> None:
        """However a history comes in, the same seed gives the same memories and recollections."""
        with opened(tmp_path / "once.db") as agent:
            learn(agent, demo())
            expected = everything(agent)
        with opened(tmp_path / "pieces.db") as agent:
            for _ in range(2):
                for transcript in demo().transcripts:
                    learn(agent, History(name="ana", transcripts=[transcript]))
            assert everything(agent) == expected
            assert everything(agent) == expected

    def test_killed_while_remembering_it_goes_on(
        self, method: str, server: ScriptedServer, tmp_path: Path
    ) -> None:
        """A process that is killed loses nothing, and hardly a call is paid twice."""
        with theanine.open(**self.options(tmp_path / "whole.db", method, server)) as agent:
            learn(agent, demo())
            smooth = len(server.calls)
            expected = everything(agent)
        options = self.options(tmp_path / "killed.db", method, server)
        with theanine.open(**options) as agent:
            agent.user("ana").log(demo())
        begun = len(server.calls)
        child = Child(**options)
        answer, asked = writer(self.script), iter(range(smooth))

        def murderous(request: Mapping[str, Any]) -> Any:
            if next(asked, 0) == smooth // 2:
                child.kill()
            return answer(request)

        server.script(murderous)
        lived = child.watch(lambda: None if smooth else child.kill())
        assert not (lived and smooth)
        server.script(self.script)
        with theanine.open(**options) as agent:
            settle(agent)
            assert len(server.calls) - begun <= smooth + IN_FLIGHT
            assert everything(agent) == expected

    def test_killed_without_a_model_it_goes_on(self, method: str, tmp_path: Path) -> None:
        """The same for the local versions, killed between or within sessions."""
        with theanine.open(**self.options(tmp_path / "whole.db", method)) as agent:
            learn(agent, demo())
            expected = everything(agent)
        options = self.options(tmp_path / "killed.db", method)
        with theanine.open(**options) as agent:
            agent.user("ana").log(demo())
        child = Child(**options)
        child.watch(child.kill)
        with theanine.open(**options) as agent:
            settle(agent)
            assert everything(agent) == expected

    def test_a_model_that_fails_half_way_costs_nothing_but_time(
        self, method: str, server: ScriptedServer, tmp_path: Path
    ) -> None:
        """What a failing model leaves undone is done later, as if it had never failed."""
        with theanine.open(**self.options(tmp_path / "smooth.db", method, server)) as agent:
            learn(agent, demo())
            expected = everything(agent)
        smooth = len(server.calls)
        failing, answer = iter([True, False, False, True, False, True]), writer(self.script)

        def sometimes(request: Mapping[str, Any]) -> Any:
            return status(400) if next(failing, False) else answer(request)

        server.script(sometimes)
        with theanine.open(**self.options(tmp_path / "rough.db", method, server)) as agent:
            agent.user("ana").log(demo())
            for _ in range(8):
                if not agent.pending():
                    break
                agent.user("ana").remember()
            assert agent.pending() == []
            list(failing)  # what remembering left of the failures would meet the recalls
            assert everything(agent) == expected
            calls = server.calls[smooth:]
            refused = sum(call.outcome == "status 400" for call in calls)
            assert len(calls) - refused == smooth
            assert sum(line.calls + line.failed for line in agent.costs()) >= len(calls)

    # where it comes from

    def test_every_part_is_traced_to_turns_of_the_user(
        self, opened: Opened, tmp_path: Path
    ) -> None:
        """What is remembered and what comes back rests on turns that were said."""
        with opened(tmp_path / "m.db") as agent:
            learn(agent, demo())
            known = {turn.id: turn for turn in agent.user("ana").turns()}
            memories = {memory.id: memory for memory in agent.user("ana").memories()}
            for memory in memories.values():
                assert source_turn_ids(memory, memories)
                assert source_turn_ids(memory, memories) <= set(known)
            for question in ASKED:
                for part in agent.user("ana").recall(question).parts:
                    assert part.text
                    assert part.source_turns
                    assert all(known[turn.id] == turn for turn in part.source_turns)
                    assert all(memories[memory.id] == memory for memory in part.memories)

    def test_what_no_model_made_says_so(self, method: str, tmp_path: Path) -> None:
        """Local versions are labelled, and the reply says that there is no model."""
        with theanine.open(**self.options(tmp_path / "m.db", method)) as agent:
            learn(agent, demo())
            assert {memory.made_by for memory in agent.user("ana").memories()} <= {"local"}
            assert {part.made_by for part in agent.user("ana").recall(ASKED[0]).parts} <= {"local"}
            talk = agent.user("ana").session()
            talk.hear(ASKED[0])
            assert "No language model" in talk.reply().text
            talk.end()

    # walls, and forgetting

    def test_scopes_never_mix(self, opened: Opened, tmp_path: Path) -> None:
        """Nothing of one user reaches another."""
        with opened(tmp_path / "m.db") as agent:
            learn(agent, single("I keep my money under the red boat, and I love rowing."), "ana")
            learn(agent, single(f"I keep my {SECRET} under the red boat, and I love it."), "bo")
            found = agent.user("ana").recall("What is under the red boat?")
            assert SECRET not in found.text
            assert all(SECRET not in turn.text for turn in found.source_turns)
            assert SECRET not in str(agent.user("ana").memories())
            assert not agent.user("nobody").recall("What is under the red boat?")

    @pytest.mark.parametrize("what", ["user", "session", "memory"])
    def test_forgetting_is_complete(self, opened: Opened, tmp_path: Path, what: str) -> None:
        """What is forgotten is in no file any more, and later sessions don't bring it back."""
        path = tmp_path / "m.db"
        with opened(path) as agent:
            learn(agent, single("I sold the boat because the engine died.", key="a"))
            learn(agent, single(f"I moved the {SECRET} of the boat to the attic.", key="b", day=3))
            learn(agent, single("I love the attic of the house by the sea.", key="c", day=6))
            agent.user("ana").recall("Where is the boat?")
            chosen: dict[str, Any] = {}
            if what == "session":
                chosen = {"session": agent.user("ana").sessions()[1].id}
            if what == "memory":
                holding = [
                    memory for memory in agent.user("ana").memories() if SECRET in memory.text
                ]
                if not holding:
                    pytest.skip("this method keeps no memory of its own of these words")
                chosen = {"memory": holding[0].id}
            assert agent.user("ana").forget(**chosen).verified
            assert not in_files(path, SECRET)
            if what != "user":
                assert SECRET not in agent.user("ana").recall("Where is the boat?").text
                settle(agent)  # what rested on the forgotten is made anew
                learn(agent, single("I bought another boat with a new engine.", key="d", day=9))
                assert SECRET not in agent.user("ana").recall("Where is the boat?").text
        assert not in_files(path, SECRET)

    def test_forgetting_reaches_what_the_agent_quoted(self, opened: Opened, tmp_path: Path) -> None:
        """What the agent repeats is said in its own session: forgetting both leaves nothing.

        Forgetting the session in which it was said first leaves it only where it was said again,
        and the receipt names that turn.
        """
        path = tmp_path / "m.db"
        with opened(path) as agent:
            learn(agent, single("I sold the boat because the engine died.", key="a"))
            learn(agent, single(f"I moved the {SECRET} of the boat to the attic.", key="b", day=3))
            talk = agent.user("ana").session()
            talk.hear(f"Where is the {SECRET} of the boat?")
            assert talk.reply().text
            again = talk.id
            talk.end()
            learn(agent, single("I bought another boat with a new engine.", key="c", day=9))
            first = next(one.id for one in agent.user("ana").sessions() if one.key == "b")
            receipt = agent.user("ana").forget(session=first)
            assert receipt.verified
            for turn in agent.user("ana").turns(session=again):
                if SECRET in turn.text and turn.recalled:
                    assert any(f"turn {turn.id} of" in kept for kept in receipt.kept)
            for record in records_of(agent, SECRET):
                assert again in (record.get("session"), *record.get("touches", ())), record
                assert first not in record.get("touches", ())
            settle(agent)
            assert agent.user("ana").forget(session=again).verified
            assert not in_files(path, SECRET)
            settle(agent)
            assert SECRET not in agent.user("ana").recall("Where is the boat?").text
        assert not in_files(path, SECRET)

    # what it takes

    def test_costs_are_what_the_server_counted(
        self, method: str, server: ScriptedServer, tmp_path: Path
    ) -> None:
        """Every call is in the accounts, once."""
        with theanine.open(**self.options(tmp_path / "m.db", method, server)) as agent:
            learn(agent, demo())
            agent.user("ana").recall("Why does Ana fear ships?")
            talk = agent.user("ana").session()
            talk.hear("Are ships fine?")
            talk.reply()
            talk.end()
            costs = agent.costs()
            assert sum(line.calls for line in costs) == len(server.calls)
            tokens = sum(line.input_tokens for line in costs)
            assert (tokens > 0) == (len(server.calls) > 0)

    def test_the_estimate_is_near_what_it_takes(
        self, method: str, server: ScriptedServer, tmp_path: Path
    ) -> None:
        """What remembering is said to take beforehand is of the size of what it takes."""
        with theanine.open(**self.options(tmp_path / "m.db", method, server)) as agent:
            agent.user("ana").log(demo())
            forecast = agent.user("ana").estimate()
            assert len(server.calls) == 0
            settle(agent)
            costs = agent.costs()
            calls, tokens = len(server.calls), sum(line.input_tokens for line in costs)
        assert (forecast.calls > 0) == (calls > 0)
        assert calls / 3 <= forecast.calls <= calls * 3
        assert tokens / 3 <= forecast.input_tokens <= tokens * 3

    def test_a_budget_is_never_passed(self, opened: Opened, tmp_path: Path) -> None:
        """What comes back has no more tokens than were allowed."""
        with opened(tmp_path / "m.db") as agent:
            learn(agent, demo())
            for question in ASKED:
                for budget in (0, 40, 400):
                    found = agent.user("ana").recall(question, budget=budget)
                    assert count_tokens(found.text) <= budget
