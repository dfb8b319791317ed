"""Conditional memory through the public face: what is decided, kept, found again, and asked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.demo import HARBOUR
from theanine.errors import SettingsError
from theanine.importers import read_histories
from theanine.testing import ScriptedServer, by_step, step_of
from theanine.types import History, ImportedMemory, Role, Transcript, Utterance
from theanine_methods.conditional.config import ConditionalConfig
from theanine_methods.conditional.method import Conditional

START = datetime(2024, 5, 8, 12, tzinfo=UTC)
Said = tuple[Role, str]
TALK: list[Said] = [
    ("user", "Hello!"),
    ("assistant", "Hello Ana."),
    ("user", "Capitalize this title for me: sea and storm."),
    ("assistant", "Sea And Storm"),
    ("user", "No, I mean every letter has to be a capital."),
    ("assistant", "SEA AND STORM"),
    ("user", "What is the capital of Norway?"),
    ("assistant", "Oslo."),
]
FEEDBACK = TALK[4][1]


def session(*said: Said, key: str = "one", day: int = 0) -> History:
    """One imported session."""
    at = START + timedelta(days=day)
    turns = [
        Utterance(
            text=text,
            speaker="Ana" if role == "user" else "Tea",
            role=role,
            at=at + timedelta(minutes=i),
        )
        for i, (role, text) in enumerate(said)
    ]
    return History(name="ana", transcripts=[Transcript(key=key, turns=turns, at=at)])


def opened(path: Path, server: ScriptedServer | None = None, **config: object) -> theanine.Client:
    """A store with the method, with the server's model or without any."""
    model: dict[str, Any] = {}
    if server:
        model = {"model": "openai:scripted", "base_url": server.base_url}
    return theanine.open(str(path / "m.db"), method="conditional", config=config, **model)


def learn(agent: theanine.Client, history: History) -> None:
    """Log and remember; nothing may fail."""
    agent.user("ana").log(history)
    assert [report.failure for report in agent.user("ana").remember() if report.failure] == []


def asked(server: ScriptedServer) -> list[str]:
    """The steps of all calls, without the method's name."""
    return [(step_of(body) or "").removeprefix("conditional-") for body in server.requests]


def prompt(body: Mapping[str, Any]) -> str:
    """The whole prompt of a call."""
    return str(body["messages"][0]["content"])


# deciding


def test_the_reply_and_the_decision_are_one_call(tmp_path: Path) -> None:
    with ScriptedServer() as server, opened(tmp_path, server) as agent:
        talk = agent.user("ana").session()
        talk.hear("I moved to Lisbon last Friday.")
        reply = talk.reply()
        assert reply.text == "Tell me more."
        assert reply.notes["worth"] == "yes"
        talk.hear("Where is it?")
        assert talk.reply().notes["worth"] == "no"
        assert asked(server) == ["reply", "reply"]
        talk.end()
        assert asked(server)[2:] == ["record"]  # nothing was left to decide
        (record,) = agent.user("ana").memories()
        assert record.source_turns == (1,)
        assert [turn.notes.get("worth") for turn in agent.user("ana").turns()] == [
            None,
            "yes",
            None,
            "no",
        ]


def test_turns_without_a_decision_take_one_call(tmp_path: Path) -> None:
    with ScriptedServer() as server, opened(tmp_path, server) as agent:
        talk = agent.user("ana").session()
        talk.hear("My brother Bo sails every summer.")
        talk.hear("And he has a red boat now.", speaker="Bo")
        talk.reply()
        talk.hear("I keep the red boat clean.", speaker="Bo")
        talk.end()
        assert asked(server) == ["reply", "decide", "record"]
        assert "<<<asked\n1, 4\n>>>" in prompt(server.requests[1])
        assert {memory.source_turns[-1] for memory in agent.user("ana").memories()} == {1, 2, 4}
        assert {memory.speakers for memory in agent.user("ana").memories()} == {("ana",), ("Bo",)}


def test_an_imported_session_takes_one_call_to_decide_and_one_to_record(tmp_path: Path) -> None:
    with ScriptedServer() as server, opened(tmp_path, server) as agent:
        learn(agent, session(*TALK))
        assert asked(server) == ["decide", "record"]
        learn(agent, session(*TALK))
        assert len(server.requests) == 2


@pytest.mark.parametrize("worth", ["yes", "no"])
def test_a_models_decision_is_final(tmp_path: Path, worth: str) -> None:
    answer = json.dumps({"response": "Fine.", "worth": worth})
    with (
        ScriptedServer(by_step({"conditional-reply": answer})) as server,
        opened(tmp_path, server) as agent,
    ):
        with agent.user("ana").session() as talk:
            talk.hear("Hello there.")
            talk.reply()
        assert asked(server) == ["reply", "record"][: 1 + (worth == "yes")]
        assert len(agent.user("ana").memories()) == (worth == "yes")


def test_a_local_decision_is_repeated_by_a_model(tmp_path: Path) -> None:
    with opened(tmp_path) as agent:
        talk = agent.user("ana").session()
        talk.hear("I moved to Lisbon last Friday.")
        assert talk.reply().notes == {
            "worth": "yes",
            "of": agent.user("ana").turns()[0].at.isoformat(),
            "by": "local",
        }
        talk.hear("Hello!")
        assert talk.reply().notes["worth"] == "no"
        talk.end(remember=False)
    with ScriptedServer() as server, opened(tmp_path, server) as agent:
        agent.user("ana").remember()
        assert asked(server) == ["decide", "record"]


def test_no_selection_decides_nothing_and_records_every_turn(tmp_path: Path) -> None:
    with ScriptedServer() as server, opened(tmp_path, server, selection=False) as agent:
        with agent.user("ana").session() as talk:
            talk.hear("Hello!")
            assert "worth" not in talk.reply().notes
        learn(agent, session(*TALK))
        assert asked(server) == ["respond", "record", "record"]
        users = [turn.id for turn in agent.user("ana").turns() if turn.role == "user"]
        kept = [max(memory.source_turns) for memory in agent.user("ana").memories()]
        assert kept == users


@pytest.mark.slow
def test_a_reply_to_the_assistants_own_turn_decides_nothing(tmp_path: Path) -> None:
    with ScriptedServer() as server, opened(tmp_path, server) as agent:
        talk = agent.user("ana").session()
        talk.hear("I moved to Lisbon last Friday.")
        talk.reply()
        assert not talk.reply().notes
        talk.end()
        assert asked(server) == ["reply", "respond", "record"]


# recording


def test_a_record_has_its_context_and_its_source_turns(tmp_path: Path) -> None:
    with opened(tmp_path) as agent:
        learn(agent, session(*TALK))
        (record,) = agent.user("ana").memories()
        assert record.kind == "conditional"
        assert record.text == (
            "Context: Tea: “Sea And Storm” "
            "Knowledge (Ana): “No, I mean every letter has to be a capital.”"
        )
        assert record.source_turns == (4, 5)
        assert (record.speakers, record.made_by) == (("Ana",), "local")
        recollection = agent.user("ana").recall("Capitalize another title: the harbour.")
        assert [turn.text for turn in recollection.source_turns] == ["Sea And Storm", FEEDBACK]
        assert recollection.text == f"(8 May 2024) {record.text}"
        talk = agent.user("ana").session()
        talk.hear("Capitalize another title: sea and sky and storm.")
        assert f"I remember: Ana said on 8 May 2024: “{FEEDBACK}”" in talk.reply().text


@pytest.mark.parametrize("with_model", [True, False], ids=["scripted", "local"])
@pytest.mark.parametrize(
    ("off", "text", "sources"),
    [
        ("context", "Knowledge (Ana): {knowledge}", (5,)),
        ("knowledge", "Context (Ana): {context}", (4, 5)),
    ],
)
def test_each_part_of_a_record_can_be_left_out(
    tmp_path: Path, off: str, text: str, sources: tuple[int, ...], with_model: bool
) -> None:
    texts = {"context": "Tea: “Sea And Storm”", "knowledge": f"“{FEEDBACK}”"}
    if with_model:
        texts = {"context": "Tea: Sea And Storm", "knowledge": f"Ana: {FEEDBACK}"}
    script = by_step({"conditional-decide": json.dumps({"worth": [5]})})
    with ScriptedServer(script) as server:
        chosen = server if with_model else None
        part_off: dict[str, Any] = {off: False}
        with opened(tmp_path, chosen, **part_off) as agent:
            learn(agent, session(*TALK))
            (record,) = agent.user("ana").memories()
            assert record.text == text.format(**texts)
            assert record.source_turns == sources


def test_one_call_for_each_record_shows_the_session_so_far(tmp_path: Path) -> None:
    with ScriptedServer() as server, opened(tmp_path, server, recording="turn") as agent:
        learn(agent, session(*TALK))
        assert asked(server) == [*["decide"] * 4, "record", "record"]
        decisions = sorted((prompt(body) for body in server.requests[:4]), key=len)
        for text, number in zip(decisions, (1, 3, 5, 7), strict=True):
            assert f"<<<asked\n{number}\n>>>" in text
            assert f"[{number}] " in text and f"[{number + 1}] " not in text
        first, second = sorted((prompt(body) for body in server.requests[4:]), key=len)
        assert "<<<asked\n3\n>>>" in first
        assert "every letter" not in first
        assert "<<<asked\n5\n>>>" in second
        assert "every letter" in second
        assert "Norway" not in second
        in_turn = [memory.text for memory in agent.user("ana").memories()]
    (tmp_path / "m.db").rename(tmp_path / "turn.db")
    with ScriptedServer() as server, opened(tmp_path, server) as agent:
        learn(agent, session(*TALK))
        assert [memory.text for memory in agent.user("ana").memories()] == in_turn


def test_later_turns_of_a_session_are_recorded_with_its_beginning_shown(tmp_path: Path) -> None:
    with ScriptedServer() as server, opened(tmp_path, server) as agent:
        learn(agent, session(*TALK[:4]))
        learn(agent, session(*TALK))
        assert asked(server) == ["decide", "record"] * 2
        last = prompt(server.requests[-1])
        assert "Capitalize this title" in last
        assert "<<<asked\n5\n>>>" in last
        assert [memory.source_turns for memory in agent.user("ana").memories()] == [(2, 3), (4, 5)]


def test_imported_memories_are_unchanged(tmp_path: Path) -> None:
    whole = session(*TALK).transcripts[0]
    given = replace(whole, memories=[ImportedMemory(text="Ana fears ships.", speakers=("Ana",))])
    with ScriptedServer() as server, opened(tmp_path, server, rounds=0) as agent:
        learn(agent, History(name="ana", transcripts=[given]))
        assert server.requests == []
        assert [memory.text for memory in agent.user("ana").memories()] == ["Ana fears ships."]
        assert "Ana fears ships." in agent.user("ana").recall("Which ships?").text


# views


def test_kinds_are_kept_together_and_each_has_its_k(tmp_path: Path) -> None:
    history = read_histories(HARBOUR).histories[0]
    kinds = "conditional, history,summary"
    with opened(tmp_path, kinds=kinds, retrieved=2, summaries=1) as agent:
        agent.user("ana").log(history)
        agent.user("ana").remember()
        kept = Counter(memory.kind for memory in agent.user("ana").memories())
        assert kept["history"] == len(agent.user("ana").turns()) == 130
        assert kept["summary"] == len(agent.user("ana").sessions()) == 10
        assert 40 < kept["conditional"] < 70
        recollection = agent.user("ana").recall("What is Ana allergic to?")
        assert Counter(memory.kind for memory in recollection.memories) == {
            "history": 2,
            "summary": 1,
            "conditional": 2,
        }
        times = [part.memories[0].order for part in recollection.parts]
        assert times == sorted(times)
    with opened(tmp_path, kinds="history") as agent:  # what else was kept stays, and is left alone
        recollection = agent.user("ana").recall("What is Ana allergic to?")
        assert [memory.kind for memory in recollection.memories] == ["history"] * 3


def test_a_summary_takes_one_call_and_has_the_whole_session_as_source(tmp_path: Path) -> None:
    with ScriptedServer() as server, opened(tmp_path, server, kinds="summary") as agent:
        learn(agent, session(*TALK))
        assert asked(server) == ["summary"]
        (kept,) = agent.user("ana").memories()
        assert kept.source_turns == tuple(range(1, 9))
        assert kept.prompt == "conditional-summary@1"
        with agent.user("ana").session() as talk:
            talk.hear("Capitalize another title.")
            assert not talk.reply().notes
        assert asked(server)[1:] == ["reflect", "respond", "summary"]


@pytest.mark.parametrize("with_model", [True, False], ids=["scripted", "local"])
def test_turns_that_only_repeat_memories_are_not_kept(tmp_path: Path, with_model: bool) -> None:
    script = by_step({"respond": "The silver spoons of your grandmother? Under the red boat."})
    with (
        ScriptedServer(script) as server,
        opened(tmp_path, server if with_model else None, kinds="history") as agent,
    ):
        with agent.user("ana").session() as talk:
            talk.hear("I keep my grandmother's silver spoons under the red boat.")
        with agent.user("ana").session() as talk:
            talk.hear("Where are the spoons now?")
            assert "silver spoons" in talk.reply().text
        assert [memory.source_turns for memory in agent.user("ana").memories()] == [(1,), (2,)]


# forgetting


@pytest.mark.slow
def test_forgetting_a_session_erases_the_calls_that_quoted_it(tmp_path: Path) -> None:
    secret = "cormorant-4417"
    steps: dict[str, str] = {
        "conditional-reply": json.dumps({"response": "Fine.", "worth": "no"}),
        "conditional-reflect": json.dumps({"enough": True, "relevant": [1], "keywords": []}),
    }
    with (
        ScriptedServer(by_step(steps)) as server,
        opened(tmp_path, server, kinds="history,summary,conditional") as agent,
    ):
        learn(agent, session(("user", f"I hid the {secret} of my boat."), ("assistant", "Good.")))
        with agent.user("ana").session() as talk:
            talk.hear("What of my boat?")
            talk.reply()
        shown = [step_of(body) for body in server.requests if secret in prompt(body)]
        assert "conditional-reply" in shown
        assert "conditional-reflect" in shown
        assert agent.user("ana").forget(session=1).verified
    held = b"".join(file.read_bytes() for file in tmp_path.glob("m.db*"))
    assert secret.encode() not in held


# settings and costs


@pytest.mark.slow
def test_a_hundred_turns_cost_at_most_15000_prompt_tokens(tmp_path: Path) -> None:
    whole = read_histories(HARBOUR).histories[0]
    with ScriptedServer() as server, opened(tmp_path, server) as agent:
        agent.user("ana").log(whole)
        agent.user("ana").remember()
        assert len(server.calls) == 2 * len(whole.transcripts) == 20
        spent = sum(line.input_tokens for line in agent.costs())
        assert spent / len(agent.user("ana").turns()) <= 150


def test_a_reply_is_two_calls_and_a_first_one_is_one(tmp_path: Path) -> None:
    with ScriptedServer() as server, opened(tmp_path, server) as agent:
        with agent.user("ana").session() as talk:
            talk.hear("My brother Bo sails every summer.")
            talk.reply()
            assert asked(server) == ["reply"]
        with agent.user("ana").session() as talk:
            talk.hear("Where does my brother sail?")
            talk.reply()
        assert asked(server) == ["reply", "record", "reflect", "reply"]


def test_the_papers_values() -> None:
    paper = ConditionalConfig.paper()
    assert (paper.kinds, paper.retrieved, paper.summaries, paper.rounds) == ("conditional", 3, 1, 1)
    assert (paper.retrieval, paper.query_turns, paper.recording) == ("dense", 1, "turn")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"kinds": "history,dreams"}, "kinds must be one or more of history, summary"),
        ({"kinds": " , "}, "kinds must be one or more"),
        ({"context": False, "knowledge": "no"}, "can't both be off"),
        ({"rounds": -1}, "rounds must be at least 0"),
        ({"retrieved": 0}, "retrieved must be at least 1"),
        ({"query_turns": 0}, "query_turns must be at least 1"),
        ({"budget": -1}, "budget must be at least 0"),
    ],
)
def test_invalid_settings_are_rejected(tmp_path: Path, config: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        opened(tmp_path, **config)


def test_kinds_are_named_in_any_order(tmp_path: Path) -> None:
    assert ConditionalConfig(kinds="conditional, history").kept_kinds == ("history", "conditional")
    with opened(tmp_path, kinds="summary,history,conditional", paper="true", rounds="2") as agent:
        assert agent.method_name == "conditional"


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        ConditionalConfig(),
        ConditionalConfig.paper(),
        ConditionalConfig(kinds="summary,conditional"),
        ConditionalConfig(kinds="history"),
        ConditionalConfig(selection=False),
    ],
    ids=["default", "paper", "two views", "history", "no selection"],
)
def test_the_estimate_is_close_to_the_usage(tmp_path: Path, config: ConditionalConfig) -> None:
    whole = read_histories(HARBOUR).histories[0]
    history = replace(whole, transcripts=whole.transcripts[:2])
    with (
        ScriptedServer() as server,
        theanine.open(
            str(tmp_path / "m.db"),
            method="conditional",
            config=config,
            model="openai:x",
            base_url=server.base_url,
        ) as agent,
    ):
        learn(agent, history)
        method = Conditional(config)
        each = [
            method.estimate(agent.user("ana").turns(session=s.id))
            for s in agent.user("ana").sessions()
        ]
        costs = agent.costs()
        spent = [sum(getattr(c, n) for c in costs) for n in ("calls", "input_tokens")]
        assert abs(sum(one.calls for one in each) - spent[0]) <= 0.3 * spent[0]
        assert abs(sum(one.input_tokens for one in each) - spent[1]) <= 0.3 * spent[1]
        assert len(server.calls) == spent[0]
