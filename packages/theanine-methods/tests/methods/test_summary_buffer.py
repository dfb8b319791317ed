"""Summary buffer: the last turns verbatim, all before them in the summary, nothing in neither."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import theanine
from support.answering import turn
from theanine.demo import HARBOUR
from theanine.errors import SettingsError
from theanine.importers import read_histories
from theanine.testing import ScriptedServer, answer, by_step
from theanine.tokenizer import count_tokens
from theanine.types import STATEMENT, History, ImportedMemory, Transcript, Utterance
from theanine_methods.shared.excerpts import UTTERANCE
from theanine_methods.summary_buffer.config import SummaryBufferConfig
from theanine_methods.summary_buffer.method import SummaryBuffer

METHOD = "summary-buffer"
START = datetime(2024, 5, 8, 12, tzinfo=UTC)
SECRET = "cormorant-4417"
NOUNS = "boat house garden trumpet ladder kitchen bicycle letter window market".split()


def talk(day: int, texts: Sequence[str], *, dated: bool = True) -> Transcript:
    """One session of Ana's."""
    at = START + timedelta(days=day)
    turns = [
        Utterance(text=text, speaker="Ana", at=at + timedelta(minutes=i), key=f"{day}-{i}")
        for i, text in enumerate(texts)
    ]
    return Transcript(key=str(day), turns=turns, at=at, dated=dated)


def facts(day: int, count: int = 3) -> list[str]:
    """Things that Ana says on a day; no two alike."""
    return [f"I bought {noun}{day} from shop{day}{noun}." for noun in NOUNS[:count]]


def learn(agent: theanine.Client, *talks: Transcript) -> None:
    """Log and remember; nothing may fail."""
    agent.user("ana").log(History(name="ana", transcripts=talks))
    assert [report.failure for report in agent.user("ana").remember() if report.failure] == []


def live(agent: theanine.Client, kind: str) -> list[theanine.Memory]:
    marked = {mark.memory for mark in agent.user("ana").marks()}
    return [m for m in agent.user("ana").memories() if m.kind == kind and m.id not in marked]


def opened(path: Path, server: ScriptedServer | None, **config: Any) -> theanine.Client:
    model: dict[str, Any] = {}
    if server:
        model = {"model": "openai:scripted", "base_url": server.base_url}
    return theanine.open(str(path / "m.db"), method=METHOD, config=config or None, **model)


def test_every_turn_is_in_the_buffer_or_in_the_summary(tmp_path: Path) -> None:
    with ScriptedServer() as server, opened(tmp_path, server, buffer=4) as agent:
        for day in range(3):
            learn(agent, talk(day, facts(day)))
            turns = [turn.id for turn in agent.user("ana").turns()]
            held = [n for memory in live(agent, UTTERANCE) for n in memory.source_turns]
            ids = [n for memory in live(agent, STATEMENT) for n in memory.source_turns]
            assert held == turns[-4:]
            assert ids == turns[:-4]
        assert len(server.calls) == 2  # nothing left the buffer on the first day
        marks = [mark for mark in agent.user("ana").marks() if mark.reason == "it left the buffer"]
        sentences = {memory.id: memory for memory in live(agent, STATEMENT)}
        assert [sentences[mark.by or 0].source_turns for mark in marks] == [
            (1,),
            (2,),
            (3,),
            (4,),
            (5,),
        ]


def test_a_careless_reply_removes_nothing(tmp_path: Path) -> None:
    replies = iter([answer])
    careless = by_step({"update-summary": '{"sentences": []}'})
    with (
        ScriptedServer(lambda request: next(replies, careless)(request)) as server,
        opened(tmp_path, server, buffer=0) as agent,
    ):
        learn(agent, talk(0, facts(0, 10)))
        before = live(agent, STATEMENT)
        learn(agent, talk(1, ["Good morning"]))
        assert len(before) == 10
        assert live(agent, STATEMENT) == before


@pytest.mark.parametrize(("unit", "buffer"), [("turns", 0), ("turns", 5), ("tokens", 60)])
def test_the_buffer_has_the_configured_length(tmp_path: Path, unit: str, buffer: int) -> None:
    with opened(tmp_path, None, buffer=str(buffer), unit=unit) as agent:
        learn(agent, *(talk(day, facts(day)) for day in range(3)))
        held = live(agent, UTTERANCE)
        if unit == "turns":
            assert len(held) == buffer
        else:
            assert 30 < count_tokens("\n".join(memory.text for memory in held)) <= 60
        assert [memory.source_turns[0] for memory in held] == list(range(10 - len(held), 10))


@pytest.mark.slow
@pytest.mark.parametrize("scripted", [False, True])
def test_summary_and_buffer_are_recalled_in_time_order(tmp_path: Path, scripted: bool) -> None:
    with ScriptedServer() as server, opened(tmp_path, server if scripted else None) as agent:
        agent.user(read_histories(HARBOUR).histories[0].name).log(
            read_histories(HARBOUR).histories[0]
        )
        agent.user("ana").remember()
        recollection = agent.user("ana").recall("Who goes on the cruise with Ana?")
        kinds = [part.memories[0].kind for part in recollection.parts]
        assert kinds == [STATEMENT] * (len(kinds) - 2) + [UTTERANCE] * 2
        verbatim = [turn for part in recollection.parts[-2:] for turn in part.source_turns]
        assert verbatim == agent.user("ana").turns()[-20:]
        assert "-- 8 February 2025\nAna: I booked a cruise" in recollection.parts[-1].text
        times = [part.memories[0].order for part in recollection.parts[:-2]]
        assert times == sorted(times)
        assert recollection.parts[-3].source_turns[-1].at < verbatim[0].at


@pytest.mark.slow
@pytest.mark.parametrize("budget", [150, 300, 700])
def test_a_budget_leaves_room_for_both(tmp_path: Path, budget: int) -> None:
    with opened(tmp_path, None) as agent:
        agent.user(read_histories(HARBOUR).histories[0].name).log(
            read_histories(HARBOUR).histories[0]
        )
        agent.user("ana").remember()
        recollection = agent.user("ana").recall("Who goes on the cruise with Ana?", budget=budget)
        assert count_tokens(recollection.text) <= budget
        kinds = {part.memories[0].kind for part in recollection.parts}
        assert kinds == {STATEMENT, UTTERANCE}
        held = [
            turn.id
            for part in recollection.parts
            for turn in part.source_turns
            if part.memories[0].kind == UTTERANCE
        ]
        assert held == list(range(131 - len(held), 131))


@pytest.mark.slow
@pytest.mark.parametrize("scripted", [False, True], ids=["local", "scripted"])
@pytest.mark.parametrize("forgotten", [0, 1, 2])
def test_forgetting_a_session_leaves_the_rest_complete(
    tmp_path: Path, scripted: bool, forgotten: int
) -> None:
    said = [facts(day) for day in range(3)]
    said[forgotten][0] = f"I hid the {SECRET} in my garden shed."
    with ScriptedServer() as server:
        path = tmp_path / "m.db"
        with opened(tmp_path, server if scripted else None, buffer=4) as agent:
            learn(agent, *(talk(day, texts) for day, texts in enumerate(said)))
            assert SECRET in agent.user("ana").recall("Where is it hidden?").text
            number = agent.user("ana").sessions()[forgotten].id
            assert agent.user("ana").forget(session=number).verified
            assert SECRET.encode() not in _files(path)
            assert [r.failure for r in agent.user("ana").remember() if r.failure] == []
            turns = [turn.id for turn in agent.user("ana").turns()]
            kept = [*live(agent, STATEMENT), *live(agent, UTTERANCE)]
            assert [n for memory in kept for n in memory.source_turns] == turns
            assert SECRET not in agent.user("ana").recall("Where is it hidden?").text
        assert SECRET.encode() not in _files(path)


def _files(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))


@pytest.mark.slow
@pytest.mark.parametrize("scripted", [False, True])
def test_dated_and_undated_sessions_are_kept_apart(tmp_path: Path, scripted: bool) -> None:
    with (
        ScriptedServer() as server,
        opened(tmp_path, server if scripted else None, buffer=2) as agent,
    ):
        learn(agent, talk(0, facts(0), dated=False), talk(1, facts(1)), talk(2, facts(2)))
        recollection = agent.user("ana").recall("What did Ana buy?")
        dated = {part.source_turns[0].session: "2024" in part.text for part in recollection.parts}
        assert dated == {1: False, 2: True, 3: True}


def test_an_older_session_imported_late_enters_the_summary(tmp_path: Path) -> None:
    with opened(tmp_path, None, buffer=3) as agent:
        learn(agent, talk(5, facts(5)))
        learn(agent, talk(1, facts(1)))
        assert [memory.session for memory in live(agent, UTTERANCE)] == [1, 1, 1]
        assert [memory.session for memory in live(agent, STATEMENT)] == [2, 2, 2]
        assert agent.user("ana").recall("What did Ana buy?").parts[0].source_turns[0].session == 2


def test_imported_memories_become_sentences(tmp_path: Path) -> None:
    given = [ImportedMemory(text="Ana keeps bees.", speakers=("Ana",))]
    at = START + timedelta(days=9)
    with opened(tmp_path, None) as agent:
        learn(agent, talk(0, facts(0)), Transcript(key="z", turns=[], at=at, memories=given))
        assert [memory.text for memory in live(agent, STATEMENT)] == ["Ana keeps bees."]
        assert len(live(agent, UTTERANCE)) == 3


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"buffer": -1}, "buffer must be 0 or more turns"),
        ({"sentences": 0}, "sentences must be at least 1"),
        ({"query_turns": 0}, "query_turns"),
        ({"budget": -1}, "budget"),
    ],
)
def test_invalid_settings_are_named(config: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        SummaryBufferConfig(**config)


def test_the_estimate_is_one_call_a_session() -> None:
    spoken = [turn(n, "I moved to Lisbon last Friday.") for n in range(1, 21)]
    assert SummaryBuffer().estimate(spoken).calls == 1
    assert SummaryBuffer(SummaryBufferConfig.paper()).config.buffer == 0
