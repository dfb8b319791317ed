"""Segments as memories: denoised in the index, given back raw, whole or by their best turns."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.demo import HARBOUR
from theanine.errors import BadInput, MissingExtra, SettingsError
from theanine.importers import read_histories
from theanine.testing import ScriptedServer, by_step, status
from theanine.tokenizer import count_tokens
from theanine.types import LOCAL_MODEL, History, Memory, Transcript, Turn, Utterance
from theanine_methods.secom.config import SecomConfig
from theanine_methods.secom.guidance import Guidance, write_guidance
from theanine_methods.secom.method import FELL_BACK, Secom

ASKED = "Why did Ana leave the shipyard?"
START = datetime(2024, 5, 8, 12, tzinfo=UTC)
BROKEN = '{"segments": [{"first": 2, "last": 3}]}'
DATA = Path(os.environ.get("THEANINE_DATA") or Path(__file__).parents[3] / "shared" / "data")


def fallbacks(memories: Iterable[Memory]) -> int:
    """Return in how many sessions the local segmenter replaced the model."""
    return len({m.session for m in memories if m.prompt and m.made_by == LOCAL_MODEL})


def opened(path: Path, server: ScriptedServer | None = None, **config: Any) -> theanine.Client:
    model: dict[str, Any] = {}
    if server:
        model = {"model": "openai:scripted", "base_url": server.base_url}
    return theanine.open(str(path / "m.db"), method="secom", config=config, **model)


def learned(agent: theanine.Client, history: History | None = None) -> list[Memory]:
    """What is remembered of the bundled conversation, or of another."""
    agent.user("ana").log(history or read_histories(HARBOUR).histories[0])
    assert [report.failure for report in agent.user("ana").remember() if report.failure] == []
    return agent.user("ana").memories()


def lines_of(turns: list[Turn]) -> list[str]:
    return [f"{turn.speaker}: {' '.join(turn.full_text.split())}" for turn in turns]


def tiles(agent: theanine.Client, memories: list[Memory]) -> bool:
    """Whether the memories' sources are all turns, each once, in order."""
    kept = [source for memory in memories for source in memory.source_turns]
    return kept == [turn.id for turn in agent.user("ana").turns()]


@pytest.mark.slow
@pytest.mark.parametrize("settings", [
    {}, {"segmenter": "local"}, {"segmenter": "every:3"}, {"segment_turns": 2},
    {"granularity": "turn"}, {"granularity": "exchange"}, {"granularity": "session"},
])  # fmt: skip
def test_memories_tile_the_log_whoever_divides_it(tmp_path: Path, settings: dict[str, Any]) -> None:
    with ScriptedServer() as server, opened(tmp_path, server, **settings) as agent:
        memories = learned(agent)
        assert tiles(agent, memories)
        assert {memory.kind for memory in memories} == {settings.get("granularity", "segment")}
        by_model = {"openai:scripted"} if not settings else {"local"}
        if "segment_turns" in settings:
            by_model = {"openai:scripted"}
        assert {memory.made_by for memory in memories} == by_model
        assert len(server.calls) == (
            len(agent.user("ana").sessions()) if "local" not in by_model else 0
        )
        assert fallbacks(memories) == 0


@pytest.mark.slow
def test_finer_grain_gives_more_memories(tmp_path: Path) -> None:
    counts: list[int] = []
    for grain in ("turn", "exchange", "segment", "session"):
        (tmp_path / grain).mkdir()
        with opened(tmp_path / grain, granularity=grain) as agent:
            counts.append(len(learned(agent)))
    assert counts == sorted(counts, reverse=True)
    assert len(set(counts)) == 4


@pytest.mark.slow
def test_the_index_is_denoised_and_what_comes_back_is_raw(tmp_path: Path) -> None:
    with opened(tmp_path, rate=0.6) as agent:
        memories = learned(agent)
        turns = {turn.id: turn for turn in agent.user("ana").turns()}
        kept = said = 0
        for memory in memories:
            raw = lines_of([turns[source] for source in memory.source_turns])
            for line, whole in zip(memory.text.split("\n"), raw, strict=True):
                words = iter(whole.split())
                assert all(word in words for word in line.split())
                kept, said = kept + len(line.split()), said + len(whole.split())
        assert 0.55 < kept / said < 0.75  # the names stay
        recollection = agent.user("ana").recall(ASKED)
        for part in recollection.parts:
            assert part.source_turns == tuple(turns[n] for n in part.memories[0].source_turns)
            assert part.text.split("\n")[1:] == lines_of(list(part.source_turns))


@pytest.mark.slow
def test_without_denoising_the_index_has_every_word(tmp_path: Path) -> None:
    with opened(tmp_path, denoise="none") as agent:
        memory, turns = learned(agent)[0], agent.user("ana").turns()
        assert memory.text.split("\n") == lines_of(turns[: len(memory.source_turns)])


@pytest.mark.slow
def test_an_unusable_reply_is_a_counted_fallback_and_nothing_is_lost(tmp_path: Path) -> None:
    with ScriptedServer(by_step({"segment": BROKEN})) as server, opened(tmp_path, server) as agent:
        memories = learned(agent)
        sessions = len(agent.user("ana").sessions())
        assert tiles(agent, memories)
        assert {(memory.made_by, memory.prompt) for memory in memories} == {("local", "segment@1")}
        assert fallbacks(memories) == sessions
        assert len(server.calls) == 3 * sessions  # each asked twice more, with the fault named
        fault = server.calls[1].body["messages"][-1]["content"]
        assert "turn 1 is in no segment" in fault
    (tmp_path / "local").mkdir()
    with opened(tmp_path / "local") as agent:
        assert [memory.source_turns for memory in learned(agent)] == [
            memory.source_turns for memory in memories
        ]
        assert fallbacks(agent.user("ana").memories()) == 0


@pytest.mark.slow
def test_the_report_of_a_fallback_says_so(tmp_path: Path) -> None:
    with ScriptedServer(by_step({"segment": BROKEN})) as server, opened(tmp_path, server) as agent:
        agent.user("ana").log(read_histories(HARBOUR).histories[0])
        reports = agent.user("ana").remember()
    assert {report.notes for report in reports} == {(FELL_BACK,)}
    (tmp_path / "local").mkdir()
    with opened(tmp_path / "local") as agent:
        agent.user("ana").log(read_histories(HARBOUR).histories[0])
        assert {report.notes for report in agent.user("ana").remember()} == {()}


def test_a_model_that_fails_is_no_fallback(tmp_path: Path) -> None:
    with ScriptedServer(status(400)) as server, opened(tmp_path, server) as agent:
        agent.user("ana").log(read_histories(HARBOUR).histories[0])
        assert agent.user("ana").remember()[0].failure
        assert agent.user("ana").memories() == []
        assert agent.pending()


@pytest.mark.slow
def test_learned_guidance_is_shown_to_the_model(tmp_path: Path) -> None:
    file = tmp_path / "guidance.json"
    write_guidance(Guidance(made_by="m", prompt="p", rules=["Mind the harbour."]), file)
    with ScriptedServer() as server, opened(tmp_path, server, guidance=str(file)) as agent:
        memories = learned(agent)
        assert {memory.prompt for memory in memories} == {"segment-guided@1"}
        assert "Rule 1: Mind the harbour." in server.calls[0].body["messages"][0]["content"]


# recall


@pytest.mark.slow
@pytest.mark.parametrize("settings", [
    {}, {"whole": True}, {"close_look": 0}, {"retrieval": "dense"}, {"retrieval": "lexical"},
    {"retrieval": "lexical", "close_look": 2, "retrieved": 5},
])  # fmt: skip
def test_segments_come_back_in_time_order_within_the_budget(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    with opened(tmp_path, **settings) as agent:
        learned(agent)
        free = agent.user("ana").recall(ASKED)
        assert len(free.parts) == settings.get("retrieved", 6)
        assert "shipyard" in free.text
        for budget in (0, 30, 90, 300, 2_000):
            recollection = agent.user("ana").recall(ASKED, budget=budget)
            assert count_tokens(recollection.text) <= budget
            assert bool(recollection) == (budget > 0) or settings
            starts = [part.source_turns[0].at for part in recollection.parts]
            assert starts == sorted(starts)
            for part in recollection.parts:
                sources = [turn.id for turn in part.source_turns]
                whole = list(part.memories[0].source_turns)
                assert sources == [n for n in whole if n in sources]
                if settings.get("whole") or settings.get("close_look") == 0:
                    assert sources == whole


def chat(*topics: list[str]) -> History:
    """A session a day, two friends taking turns."""
    transcripts: list[Transcript] = []
    for day, said in enumerate(topics):
        at = START + timedelta(days=day)
        turns = [
            Utterance(text=text, speaker="Ana" if place % 2 == 0 else "Bo", at=at)
            for place, text in enumerate(said)
        ]
        transcripts.append(Transcript(key=f"s{day}", turns=turns, at=at))
    return History(name="ana", transcripts=transcripts)


FITTING = "My parrot Pixel escaped through the kitchen window on Sunday."
FILLER = [
    "The garden needs rain.", "We painted the door blue.", "Marathon training is hard.",
    "I sold the old violin.", "Work was long today.", "The oven broke again.",
]  # fmt: skip
VAGUE = ["My parrot is grey.", "Is a parrot loud?", "A parrot can be.", "What does a parrot eat?"]


def test_one_fitting_turn_brings_its_segment_up_and_comes_back_under_a_tight_budget(
    tmp_path: Path,
) -> None:
    with opened(tmp_path, granularity="session", retrieved=1) as agent:
        learned(agent, chat([*FILLER, FITTING, *FILLER[::-1]], VAGUE))
        question = "How did the parrot escape through the kitchen window?"
        assert FITTING in agent.user("ana").recall(question).text
        tight = agent.user("ana").recall(question, budget=33)
        assert [turn.text for turn in tight.source_turns] == [FITTING]
        assert not agent.user("ana").recall(question, budget=3)


def test_new_sessions_are_seen_by_the_close_look(tmp_path: Path) -> None:
    with opened(tmp_path) as agent:
        learned(agent, chat(FILLER))
        assert FITTING not in agent.user("ana").recall("Where is the parrot?").text
        learned(agent, chat(FILLER, [FITTING, "Oh no!"]))
        assert FITTING in agent.user("ana").recall("Where is the parrot?", budget=60).text
        agent.user("ana").forget(session=2)
        assert FITTING not in agent.user("ana").recall("Where is the parrot?", budget=60).text


# settings


def test_the_papers_settings_are_the_papers() -> None:
    assert asdict(SecomConfig.paper()) == {
        "granularity": "segment",
        "segmenter": "llm",
        "segment_turns": None,
        "guidance": "",
        "denoise": "llmlingua2",
        "rate": 0.75,
        "llmlingua_model": "",
        "retrieved": 1,
        "budget": None,
        "retrieval": "dense",
        "query_turns": None,
        "query_names": False,
        "temperature": None,
        "close_look": 0,
        "whole": True,
        "reply_prompt": "transcript",
    }
    locomo = SecomConfig.paper("locomo")
    assert (locomo.budget, locomo.whole, locomo.close_look) == (3_700, True, 0)
    with pytest.raises(SettingsError, match=r"must be long-mt-bench\+ or locomo, not 'msc'"):
        SecomConfig.paper("msc")


@pytest.mark.parametrize(("settings", "said"), [
    ({"segmenter": "every:0"}, "every:4, not 'every:0'"),
    ({"segmenter": "guess"}, "llm, local, trained:FOLDER or every:N"),
    ({"segment_turns": 1}, "at least 2"),
    ({"rate": 0}, "above 0 and at most 1"),
    ({"rate": 1.1}, "above 0 and at most 1"),
    ({"retrieved": 0}, "at least 1"),
    ({"budget": -1}, "at least 0 tokens"),
    ({"query_turns": 0}, "at least 1, or None"),
    ({"close_look": -1}, "close_look must be at least 0"),
    ({"granularity": "word"}, "setting granularity of the method secom"),
])  # fmt: skip
def test_invalid_settings_are_named(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        opened(tmp_path, **settings)


def test_a_missing_requirement_is_reported_before_remembering(tmp_path: Path) -> None:
    with pytest.raises((MissingExtra, SettingsError), match="llmlingua"):
        Secom(SecomConfig.paper())
    with pytest.raises(BadInput, match="not a segmenter's guidance"):
        opened(tmp_path, guidance=str(tmp_path / "nowhere.json"))


@pytest.mark.slow
def test_the_estimate_is_close_to_the_usage(tmp_path: Path) -> None:
    with ScriptedServer() as server, opened(tmp_path, server) as agent:
        learned(agent)
        sessions = [
            agent.user("ana").turns(session=session.id) for session in agent.user("ana").sessions()
        ]
        expected = [Secom().estimate(turns) for turns in sessions]
        spent = agent.user("ana").costs()
        assert sum(one.calls for one in expected) == len(server.calls)
        paid = sum(line.input_tokens for line in spent)
        assert 0.7 * paid < sum(one.input_tokens for one in expected) < 1.3 * paid
        assert Secom(SecomConfig(segmenter="local")).estimate(sessions[0]).calls == 0
        assert Secom(SecomConfig(granularity="session")).estimate(sessions[0]).calls == 0


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif(
    not (DATA / "secom_example").is_dir(), reason="no real data; set THEANINE_DATA to its folder"
)
def test_the_papers_example_is_segmented_and_recalled(tmp_path: Path) -> None:
    sessions = json.loads((DATA / "secom_example" / "example.json").read_text("utf-8"))
    transcripts: list[Transcript] = []
    for day, said in enumerate(sessions):
        at = START + timedelta(days=day)
        turns: list[Utterance] = []
        for exchange in said:
            asked, _, answered = exchange.partition("\n[bot]: ")
            words = asked.partition("[human]: ")[2]
            turns.append(Utterance(text=words, speaker="human", at=at))
            turns.append(Utterance(text=answered, speaker="bot", at=at, role="assistant"))
        transcripts.append(Transcript(key=str(day), turns=turns, at=at))
    with opened(tmp_path, retrieved=3) as agent:
        memories = learned(agent, History(name="ana", transcripts=transcripts))
        assert tiles(agent, memories)
        assert 5 < len(memories) < 69  # no exchange is parted
        roles = {turn.id: turn.role for turn in agent.user("ana").turns()}
        assert {roles[memory.source_turns[0]] for memory in memories} == {"user"}
        recollection = agent.user("ana").recall(
            "What are the stages of photosynthesis?", budget=2_000
        )
        assert "Calvin cycle" in recollection.text
