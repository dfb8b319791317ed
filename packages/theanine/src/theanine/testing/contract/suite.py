"""The contract of every method, tested through the public interface alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import pytest

import theanine
from theanine.errors import SettingsError
from theanine.methods.registry import current_method, method_class, open_method
from theanine.testing.contract.histories import (
    IN_FLIGHT,
    QUESTIONS,
    SECRET,
    SMALL,
    Child,
    demo,
    in_files,
    log_and_remember,
    one_session,
    records_with,
    remember_pending,
    snapshot,
    source_turn_ids,
)
from theanine.testing.faults import status
from theanine.testing.script import Script, by_step, writer
from theanine.testing.server import ScriptedServer
from theanine.tokenizer import count_tokens
from theanine.types import History

OpenStore = Callable[[Path], theanine.Client]
BOAT = "Where is the boat?"
STAYED = (
    "a forgotten text is still stored. A prompt must name all sessions that it quotes, as "
    "source_sessions of context.chat.ask: dialogue_sessions(dialogue) for the turns of a dialogue, "
    "source_sessions(memories, context.index) for memories, both of theanine.methods.shared; a "
    "memory names its source_turns and what it is derived_from. See docs/own-method.md"
)


class MethodContract:
    """Subclass it in a test module as ``class TestMine(MethodContract)`` and set ``name``.

    Attributes:
        name: the method's id, as in its package's entry point.
        settings: its settings by name, if not the defaults.
        answers: the scripted model's answers to the method's own steps, by the step's name;
            theanine's own steps have answers.
    """

    name: ClassVar[str] = ""
    settings: ClassVar[Mapping[str, object]] = {}
    answers: ClassVar[Mapping[str, Any]] = {}

    # Fixtures; override `method` to test several methods

    @pytest.fixture
    def method(self) -> str:
        """The id of the method under test."""
        return self.name

    @pytest.fixture
    def server(self) -> Iterator[ScriptedServer]:
        """A scripted model, over real HTTP on loopback."""
        if find_spec("pydantic_ai") is None:
            pytest.skip("tests that call a model need the extra theanine[models]")
        with ScriptedServer(self.script) as server:
            yield server

    @pytest.fixture(params=["local", "scripted"])
    def open_store(self, request: pytest.FixtureRequest, method: str) -> OpenStore:
        """Open a store with the method, without a model and with a scripted one."""
        server: ScriptedServer | None = None
        if request.param == "scripted":
            server = request.getfixturevalue("server")
        return lambda path: theanine.open(**self.options(path, method, server))

    @property
    def script(self) -> Script:
        """The scripted model's answers."""
        return by_step(self.answers)

    def options(
        self, path: Path, method: str, server: ScriptedServer | None = None
    ) -> dict[str, Any]:
        """Return the arguments of ``theanine.open``."""
        options: dict[str, Any] = {"location": str(path), "method": method, "seed": 7}
        if self.settings:
            options["config"] = dict(self.settings)
        if server is not None:
            options |= {"model": "openai:scripted", "base_url": server.base_url}
        return options

    def test_settings_are_frozen_and_have_defaults(self, method: str) -> None:
        """The config is a frozen dataclass, also from paper(); unknown settings are errors."""
        config: Any = method_class(method).Config()
        assert config.__dataclass_params__.frozen
        assert hash(config) == hash(type(config)())
        if hasattr(config, "paper"):
            name, paper = current_method(method, config.paper())
            assert isinstance(paper, method_class(name).Config)
        with pytest.raises(SettingsError, match="no_such_setting"):
            open_method(method, {"no_such_setting": 1})

    # Nothing is lost

    def test_every_turn_is_logged_and_every_session_remembered(
        self, open_store: OpenStore, tmp_path: Path
    ) -> None:
        with open_store(tmp_path / "m.db") as client:
            log_and_remember(client, demo())
            texts = [turn.text for transcript in demo().transcripts for turn in transcript.turns]
            assert [turn.text for turn in client.user("ana").turns()] == texts
            assert client.pending() == []

    @pytest.mark.parametrize("small", SMALL)
    def test_tiny_histories_work(self, open_store: OpenStore, tmp_path: Path, small: str) -> None:
        """A history may have no session, or one of hardly a word."""
        with open_store(tmp_path / "m.db") as client:
            log_and_remember(client, SMALL[small])
            client.user("ana").recall("What about ships?", budget=50)
            with client.user("ana").session() as session:
                session.hear("Are ships fine?")
                assert session.reply().text
            assert client.pending() == []

    # Results are reproducible

    def test_importing_at_once_in_steps_or_twice_gives_the_same(
        self, open_store: OpenStore, tmp_path: Path
    ) -> None:
        with open_store(tmp_path / "once.db") as client:
            log_and_remember(client, demo())
            expected = snapshot(client)
        with open_store(tmp_path / "steps.db") as client:
            for _ in range(2):
                for transcript in demo().transcripts:
                    log_and_remember(client, History(name="ana", transcripts=[transcript]))
            assert snapshot(client) == expected
            assert snapshot(client) == expected

    def test_remembering_resumes_after_a_kill(
        self, method: str, server: ScriptedServer, tmp_path: Path
    ) -> None:
        """A killed process loses nothing; at most the calls in flight are paid for twice."""
        with theanine.open(**self.options(tmp_path / "whole.db", method, server)) as client:
            log_and_remember(client, demo())
            calls_needed = len(server.calls)
            expected = snapshot(client)
        options = self.options(tmp_path / "killed.db", method, server)
        with theanine.open(**options) as client:
            client.user("ana").log(demo())
        calls_before = len(server.calls)
        child = Child(**options)
        answer, requests = writer(self.script), iter(range(calls_needed))

        def kill_halfway(request: Mapping[str, Any]) -> Any:
            if next(requests, 0) == calls_needed // 2:
                child.kill()
            return answer(request)

        server.script(kill_halfway)
        finished = child.watch(lambda: None if calls_needed else child.kill())
        assert not (finished and calls_needed)
        server.script(self.script)
        with theanine.open(**options) as client:
            remember_pending(client)
            assert len(server.calls) - calls_before <= calls_needed + IN_FLIGHT
            assert snapshot(client) == expected

    def test_remembering_without_a_model_resumes_after_a_kill(
        self, method: str, tmp_path: Path
    ) -> None:
        """The process is killed after its first session."""
        with theanine.open(**self.options(tmp_path / "whole.db", method)) as client:
            log_and_remember(client, demo())
            expected = snapshot(client)
        options = self.options(tmp_path / "killed.db", method)
        with theanine.open(**options) as client:
            client.user("ana").log(demo())
        child = Child(**options)
        child.watch(child.kill)
        with theanine.open(**options) as client:
            remember_pending(client)
            assert snapshot(client) == expected

    def test_failures_of_the_model_change_no_result(
        self, method: str, server: ScriptedServer, tmp_path: Path
    ) -> None:
        """Sessions that a failing model left pending are remembered later, with the same calls."""
        with theanine.open(**self.options(tmp_path / "reliable.db", method, server)) as client:
            log_and_remember(client, demo())
            expected = snapshot(client)
        calls_needed = len(server.calls)
        failures, answer = iter([True, False, False, True, False, True]), writer(self.script)

        def fail_sometimes(request: Mapping[str, Any]) -> Any:
            return status(400) if next(failures, False) else answer(request)

        server.script(fail_sometimes)
        with theanine.open(**self.options(tmp_path / "failing.db", method, server)) as client:
            client.user("ana").log(demo())
            for _ in range(8):
                if not client.pending():
                    break
                client.user("ana").remember()
            assert client.pending() == []
            list(failures)  # so that none is left for the recalls
            assert snapshot(client) == expected
            calls = server.calls[calls_needed:]
            rejected = sum(call.outcome == "status 400" for call in calls)
            assert len(calls) - rejected == calls_needed
            assert sum(line.calls + line.failed for line in client.costs()) >= len(calls)

    def test_a_recall_stays_within_its_bounds(self, open_store: OpenStore, tmp_path: Path) -> None:
        """Nothing said outside of the bounds of time is told; ``limit`` counts parts."""
        with open_store(tmp_path / "m.db") as client:
            log_and_remember(client, demo())
            user = client.user("ana")
            turns = user.turns()
            memories = {memory.id: memory for memory in user.memories()}
            at = [turns[len(turns) * share // 6].at for share in range(6)]
            bounds: list[dict[str, Any]] = [
                {"as_of": at[1]},
                {"as_of": at[3]},
                {"until": at[4]},
                {"since": at[2]},
                {"since": at[1], "until": at[4]},
                {"since": at[2], "as_of": at[5]},
            ]
            for question in QUESTIONS:
                for times in bounds:
                    first = times.get("since", turns[0].at)
                    last = times.get("until", times.get("as_of", turns[-1].at))
                    recollection = user.recall(question, **times)
                    told = [turn for turn in turns if turn in recollection.source_turns]
                    for memory in recollection.memories:
                        sources = source_turn_ids(memory, {**memories, memory.id: memory})
                        told += [turn for turn in turns if turn.id in memory.source_turns]
                        told += [turn for turn in turns if turn.id in sources and turn.at > last]
                    assert all(first <= turn.at <= last for turn in told)
                    for turn in turns:
                        if not first <= turn.at <= last:
                            assert turn.text not in recollection.text
                assert len(user.recall(question, limit=1).parts) <= 1
            later = turns[-1].at + timedelta(days=1)
            assert not user.recall(QUESTIONS[0], since=later)
            assert not user.recall(QUESTIONS[0], as_of=turns[0].at - timedelta(days=1))

    # Provenance

    def test_memories_and_parts_are_traced_to_turns_of_the_user(
        self, open_store: OpenStore, tmp_path: Path
    ) -> None:
        with open_store(tmp_path / "m.db") as client:
            log_and_remember(client, demo())
            turns = {turn.id: turn for turn in client.user("ana").turns()}
            memories = {memory.id: memory for memory in client.user("ana").memories()}
            for memory in memories.values():
                assert source_turn_ids(memory, memories)
                assert source_turn_ids(memory, memories) <= set(turns)
            for question in QUESTIONS:
                for part in client.user("ana").recall(question).parts:
                    assert part.text
                    assert part.source_turns
                    assert all(turns[turn.id] == turn for turn in part.source_turns)
                    assert all(memories[memory.id] == memory for memory in part.memories)

    def test_results_without_a_model_are_labeled(self, method: str, tmp_path: Path) -> None:
        """They are ``made_by`` ``local``, and the reply says that there is no model."""
        with theanine.open(**self.options(tmp_path / "m.db", method)) as client:
            user = client.user("ana")
            log_and_remember(client, demo())
            assert {memory.made_by for memory in user.memories()} <= {"local"}
            assert {part.made_by for part in user.recall(QUESTIONS[0]).parts} <= {"local"}
            session = user.session()
            session.hear(QUESTIONS[0])
            assert "No language model" in session.reply().text
            session.end()

    # Scopes and forgetting

    def test_users_never_see_each_others_data(self, open_store: OpenStore, tmp_path: Path) -> None:
        question = "What is under the red boat?"
        with open_store(tmp_path / "m.db") as client:
            ana = one_session("I keep my money under the red boat, and I love rowing.")
            log_and_remember(client, ana, "ana")
            bo = one_session(f"I keep my {SECRET} under the red boat, and I love it.")
            log_and_remember(client, bo, "bo")
            recollection = client.user("ana").recall(question)
            assert SECRET not in recollection.text
            assert all(SECRET not in turn.text for turn in recollection.source_turns)
            assert SECRET not in str(client.user("ana").memories())
            assert not client.user("nobody").recall(question)

    @pytest.mark.parametrize("target", ["user", "session", "memory"])
    def test_forgetting_is_complete(
        self, open_store: OpenStore, tmp_path: Path, target: str
    ) -> None:
        """Forgotten text is in no file of the store, also after later sessions."""
        path = tmp_path / "m.db"
        with open_store(path) as client:
            user = client.user("ana")
            for history in (
                one_session("I sold the boat because the engine died.", key="a"),
                one_session(f"I moved the {SECRET} of the boat to the attic.", key="b", day=3),
                one_session("I love the attic of the house by the sea.", key="c", day=6),
            ):
                log_and_remember(client, history)
            user.recall(BOAT)
            selection: dict[str, Any] = {}
            if target == "session":
                selection = {"session": user.sessions()[1].id}
            if target == "memory":
                secret = [memory for memory in user.memories() if SECRET in memory.text]
                if not secret:
                    pytest.skip("this method has no memory with the forgotten text")
                selection = {"memory": secret[0].id}
            report = user.forget(**selection) if selection else user.forget_all()
            assert report.verified, STAYED
            assert not in_files(path, SECRET), STAYED
            if target != "user":
                assert SECRET not in user.recall(BOAT).text
                remember_pending(client)  # memories derived from the erased ones are made again
                history = one_session("I bought another boat with a new engine.", key="d", day=9)
                log_and_remember(client, history)
                assert SECRET not in user.recall(BOAT).text
        assert not in_files(path, SECRET), STAYED

    def test_forgetting_reports_text_that_the_assistant_repeated(
        self, open_store: OpenStore, tmp_path: Path
    ) -> None:
        """Text that the assistant repeats belongs to the session of its reply.

        Forgetting the first session leaves that reply, which the report names; forgetting the
        session of the reply as well leaves nothing.
        """
        path = tmp_path / "m.db"
        with open_store(path) as client:
            user = client.user("ana")
            for history in (
                one_session("I sold the boat because the engine died.", key="a"),
                one_session(f"I moved the {SECRET} of the boat to the attic.", key="b", day=3),
            ):
                log_and_remember(client, history)
            session = user.session()
            session.hear(f"Where is the {SECRET} of the boat?")
            assert session.reply().text
            second = session.id
            session.end()
            history = one_session("I bought another boat with a new engine.", key="c", day=9)
            log_and_remember(client, history)
            first = next(session.id for session in user.sessions() if session.key == "b")
            report = user.forget(session=first)
            assert report.verified != report.kept_repeats
            for turn in user.turns(session=second):
                if SECRET in turn.text and turn.recalled:
                    assert any(f"turn {turn.id} of" in kept for kept in report.kept)
            for record in records_with(client, SECRET):
                kept = (record.get("session"), *record.get("touches", ()))
                assert second in kept, f"{STAYED}: {record}"
                assert first not in record.get("touches", ()), f"{STAYED}: {record}"
            remember_pending(client)
            assert user.forget(session=second).verified, STAYED
            assert not in_files(path, SECRET), STAYED
            remember_pending(client)
            assert SECRET not in user.recall(BOAT).text
        assert not in_files(path, SECRET), STAYED

    # Costs and budgets

    def test_costs_count_every_call_once(
        self, method: str, server: ScriptedServer, tmp_path: Path
    ) -> None:
        with theanine.open(**self.options(tmp_path / "m.db", method, server)) as client:
            log_and_remember(client, demo())
            client.user("ana").recall("Why does Ana fear ships?")
            session = client.user("ana").session()
            session.hear("Are ships fine?")
            session.reply()
            session.end()
            costs = client.costs()
            assert sum(line.calls for line in costs) == len(server.calls)
            tokens = sum(line.input_tokens for line in costs)
            assert (tokens > 0) == (len(server.calls) > 0)

    def test_the_estimate_is_within_a_factor_of_three(
        self, method: str, server: ScriptedServer, tmp_path: Path
    ) -> None:
        with theanine.open(**self.options(tmp_path / "m.db", method, server)) as client:
            client.user("ana").log(demo())
            estimate = client.user("ana").estimate()
            assert len(server.calls) == 0
            remember_pending(client)
            costs = client.costs()
            calls, tokens = len(server.calls), sum(line.input_tokens for line in costs)
        assert (estimate.calls > 0) == (calls > 0)
        assert calls / 3 <= estimate.calls <= calls * 3
        assert tokens / 3 <= estimate.input_tokens <= tokens * 3

    def test_a_recollection_never_exceeds_its_budget(
        self, open_store: OpenStore, tmp_path: Path
    ) -> None:
        with open_store(tmp_path / "m.db") as client:
            log_and_remember(client, demo())
            for question in QUESTIONS:
                for budget in (0, 40, 400):
                    recollection = client.user("ana").recall(question, budget=budget)
                    assert count_tokens(recollection.text) <= budget
