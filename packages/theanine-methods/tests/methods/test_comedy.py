"""Session memories are compressed into three parts, each sentence traced, nothing overwritten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theanine
from support.answering import MONDAY, Answering, turn
from support.prompting import ATTACK, check_fences, check_length, check_snapshot
from theanine.demo import HARBOUR
from theanine.errors import SettingsError, UnusableReply
from theanine.importers import read_histories
from theanine.testing import ScriptedServer
from theanine.tokenizer import count_tokens
from theanine.types import History, ImportedMemory, Transcript, Turn, Utterance
from theanine_methods.comedy.aspects import ASPECTS, Aspect, aspect_of, session_kind
from theanine_methods.comedy.compress import COMPRESS, TracedText, compress, local_compress
from theanine_methods.comedy.config import ComedyConfig
from theanine_methods.comedy.method import Comedy
from theanine_methods.comedy.session_memory import (
    SESSION_MEMORY,
    local_note_session,
    note_session,
)

pytestmark = pytest.mark.anyio

ASKED = "What is Ana allergic to?"
NOTHING: dict[str, list[Any]] = {"events": [], "portrait": [], "relation": []}
TURNS = [
    turn(1, "My name is Ana and I always carry a pen because I'm allergic to nuts."),
    turn(
        2, "I will remember it. You told me about the boat.", "Tea", role="assistant", recalled=(1,)
    ),
    turn(3, "A storm broke our mast near Faro.", shared="a boat without a mast"),
    turn(4, "Thanks for listening, Tea."),
]


def piece(number: int, aspect: Aspect, text: str, **more: Any) -> TracedText:
    """A stored session memory of session ``number``."""
    made = TracedText(
        aspect=aspect,
        text=text,
        at=MONDAY + timedelta(days=number),
        speakers=("Ana",),
        session=number,
        source_turns=frozenset({number}),
        derived_from=frozenset({number}),
        source_sessions=frozenset({number}),
        made_by="scripted:test",
    )
    return replace(made, **more)


PIECES = [
    piece(1, "portrait", "Ana is allergic to nuts."),
    piece(2, "events", "Ana sold her boat."),
    piece(
        3,
        "relation",
        "Ana thanked Tea.",
        derived_from=frozenset[int](),
        derived_from_new=frozenset({0}),
    ),
]


def opened(path: Path, *, sessions: int = 10, **settings: Any) -> theanine.Client:
    """An agent that remembers the bundled conversation's first sessions."""
    agent = theanine.open(str(path / "m.db"), method="comedy", **settings)
    history = read_histories(HARBOUR).histories[0]
    agent.user("ana").log(replace(history, transcripts=history.transcripts[:sessions]))
    assert [report.failure for report in agent.user("ana").remember() if report.failure] == []
    return agent


# what the model is asked for, and held to


async def _notes_prompt(turns: Sequence[Turn]) -> str:
    caller = Answering([NOTHING])
    await note_session(turns, caller)
    assert caller.asked[0].touches == {1}
    return caller.asked[0].prompt


async def _compress(
    pieces: Sequence[TracedText], answers: Sequence[object], **more: Any
) -> tuple[list[TracedText], Answering]:
    caller = Answering(answers)
    limits: dict[str, Any] = {"max_sentences": 2, "input_budget": None, **more}
    return await compress(pieces, [], [], caller, **limits), caller


ONE = {"text": "Ana lives on land now.", "notes": [1, 2]}


async def test_each_prompt_matches_its_snapshot() -> None:
    check_snapshot("session-memory", await _notes_prompt(TURNS))
    _, caller = await _compress(PIECES, [{**NOTHING, "events": [ONE]}])
    check_snapshot("compress", caller.asked[0].prompt)


async def test_quoted_text_stays_in_its_fence() -> None:
    attacked = [replace(turn, text=ATTACK, speaker=f"Ana\n{ATTACK}") for turn in TURNS]
    check_fences(await _notes_prompt(TURNS), await _notes_prompt(attacked))
    _, calm = await _compress(PIECES, [{**NOTHING, "events": [ONE]}])
    wild = [replace(memory, text=ATTACK) for memory in PIECES]
    _, caller = await _compress(wild, [{**NOTHING, "events": [ONE]}])
    check_fences(calm.asked[0].prompt, caller.asked[0].prompt)


@pytest.mark.parametrize("step", [SESSION_MEMORY, COMPRESS], ids=lambda step: step.name)
def test_instructions_are_short(step: Any) -> None:
    check_length(step)


@pytest.mark.parametrize(
    ("note", "fault"),
    [
        ({"text": " ", "turns": [1]}, "portrait, note 1: its text is empty"),
        ({"text": "long " * 200, "turns": [1]}, "is too long"),
        ({"text": "Ana sails.", "turns": []}, "names no turn"),
        ({"text": "Ana sails.", "turns": [1, 5]}, "turns [5] were not shown; shown are 1 to 4"),
    ],
)
async def test_notes_without_source_turns_are_rejected(note: object, fault: str) -> None:
    good = {**NOTHING, "portrait": [{"text": "Ana has an allergy.", "turns": [3, 1, 1]}]}
    caller = Answering([{**NOTHING, "portrait": [note]}, good])
    (made,) = await note_session(TURNS, caller)
    assert fault in caller.faults[0]
    assert (made.kind, made.source_turns, made.speakers) == ("session-portrait", (1, 3), ("Ana",))
    with pytest.raises(UnusableReply):
        await note_session(TURNS, Answering([{**NOTHING, "portrait": [note] * 20}]))


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (NOTHING, "all three lists are empty"),
        ({**NOTHING, "events": [ONE] * 3}, "3 sentences of events are too many"),
        ({**NOTHING, "relation": [{**ONE, "text": ""}]}, "relation, sentence 1: its text is empty"),
        ({**NOTHING, "events": [{**ONE, "notes": []}]}, "names no note"),
        ({**NOTHING, "events": [{**ONE, "notes": [4]}]}, "there are no notes [4], only 1 to 3"),
    ],
)
async def test_sentences_without_notes_are_rejected(reply: object, fault: str) -> None:
    (made,), caller = await _compress(PIECES, [reply, {**NOTHING, "portrait": [ONE]}])
    assert fault in caller.faults[0]
    assert made.aspect == "portrait"


async def test_a_sentence_has_the_sources_of_its_notes_and_derives_from_all_shown() -> None:
    (made,), caller = await _compress(PIECES, [{**NOTHING, "events": [ONE]}])
    assert made.source_turns == {2, 1}
    assert (made.derived_from, made.derived_from_new, made.source_sessions) == (
        {1, 2},
        {0},
        {1, 2, 3},
    )
    assert made.at == PIECES[1].at
    assert caller.asked[0].touches == {1, 2, 3}


def _everything(prompt: str) -> object:
    """One sentence that rests on all notes shown."""
    numbers = [int(row.split("]")[0][1:]) for row in prompt.splitlines() if row.startswith("[")]
    assert numbers == list(range(1, len(numbers) + 1))
    return {**NOTHING, "events": [{"text": f"the sum of {len(numbers)}", "notes": numbers}]}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 490), min_size=1, max_size=30), st.booleans())
async def test_notes_beyond_the_budget_are_compressed_in_further_calls(
    sizes: list[int], begun: bool
) -> None:
    pieces = [piece(i, "events", "x" * size) for i, size in enumerate(sizes, 1)]
    earlier = [piece(99, "portrait", "the sum of older notes")] if begun else []
    caller = Answering([_everything] * 40)
    (made,) = await compress(pieces, earlier, pieces, caller, max_sentences=1, input_budget=1_000)
    folded = sum(sizes) // 3 + 13 * len(sizes) > 1_000
    assert set(range(1, len(sizes) + 1)) <= made.derived_from == made.source_sessions
    assert made.source_turns == made.derived_from
    assert caller.asked[-1].touches == made.source_sessions
    assert (99 in made.derived_from) == (begun and folded)
    assert len(caller.asked) <= 1 + len(sizes) // 2
    assert all(len(call.prompt) < 3 * 1_500 + len(COMPRESS.template) for call in caller.asked)


# locally


def test_local_notes_are_quotes_classified_by_their_wording() -> None:
    found = {made.kind: made for made in local_note_session(TURNS)}
    assert set(found) == {"session-events", "session-portrait", "session-relation"}
    assert "allergic to nuts" in found["session-portrait"].text
    assert "mast" in found["session-events"].text
    thanks = found["session-relation"]
    assert thanks.text == "Ana said on 8 May 2023: “Thanks for listening, Tea.”"
    assert (thanks.source_turns, thanks.speakers) == ((4,), ("Ana", "Tea"))


def test_an_assistants_promises_show_the_relation_but_not_its_recalls() -> None:
    text = "I will remind you of the vet on Friday."
    (made,) = local_note_session([turn(1, text, "Tea", role="assistant")])
    assert made.kind == "session-relation"
    assert local_note_session([turn(1, text, "Tea", role="assistant", recalled=(2,))]) == []


WORDS = st.text(alphabet="ab .!?船が🛶\n", max_size=30) | st.sampled_from(
    ["I moved to Porto.", "Thanks for that, Tea.", "I love the sea, it makes me happy."]
)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=8), st.integers(1, 3))
def test_local_compression_keeps_the_newest_verbatim(texts: list[str], most: int) -> None:
    turns = [turn(i, text, "Tea" if i % 3 == 0 else "Ana") for i, text in enumerate(texts, 1)]
    notes = [
        piece(note.source_turns[0], aspect_of(note.kind), note.text)
        for note in local_note_session(turns)
    ]
    kept = local_compress(notes, most)
    assert kept == local_compress(notes, most)
    assert all(note in notes for note in kept)
    for aspect in ASPECTS:
        of = [note for note in kept if note.aspect == aspect]
        assert len(of) <= most
        assert [note.at for note in of] == sorted((note.at for note in of), reverse=True)
        assert bool(of) == any(note.aspect == aspect for note in notes)


def test_local_compression_drops_repeated_quotes() -> None:
    notes = [
        piece(1, "events", "Ana said: “I sold the red boat.”"),
        piece(2, "events", "Ana said: “I did not sell the boat.”"),
        piece(3, "events", "Ana said: “I sold the red boat in Porto.”"),
    ]
    assert [note.session for note in local_compress(notes, 5)] == [3, 2]


# together


def _url(server: ScriptedServer, model: str) -> str | None:
    return None if model == "local" else server.base_url


@pytest.mark.slow
@pytest.mark.parametrize("model", ["local", "openai:x"])
def test_it_is_remade_after_each_session_and_earlier_versions_stay(
    tmp_path: Path, model: str
) -> None:
    with (
        ScriptedServer() as server,
        opened(tmp_path, model=model, base_url=_url(server, model)) as agent,
    ):
        assert len(server.calls) == (0 if model == "local" else 20)
        memories = {memory.id: memory for memory in agent.user("ana").memories()}
        marks = agent.user("ana").marks()
        last = max(memory.session for memory in memories.values())
        recollection = agent.user("ana").recall(ASKED)
        assert [part.text.split(":")[0] for part in recollection.parts] == [
            "What happened",
            "About Ana",
            "Between Ana and Theo",
        ]
        now = {memory.id for memory in recollection.memories}
        assert {memories[id].session for id in now} == {last}
        assert {memories[id].kind for id in now} == set(ASPECTS)
        sentences = {id for id, memory in memories.items() if memory.kind in ASPECTS}
        assert {mark.memory for mark in marks} == sentences - now
        for mark in marks:
            assert mark.by is not None
            assert mark.by > mark.memory
        for id in sentences:
            assert memories[id].source_turns
            behind = {memories[origin].kind for origin in memories[id].derived_from}
            assert behind <= {session_kind(aspect) for aspect in ASPECTS}
        assert {memory.made_by for memory in memories.values()} == {model}


def test_a_budget_fills_the_three_parts_in_turn(tmp_path: Path) -> None:
    with opened(tmp_path) as agent:
        whole = agent.user("ana").recall(ASKED)
        for budget in (0, 60, 150, 400, 4_000):
            recollection = agent.user("ana").recall(ASKED, budget=budget)
            assert count_tokens(recollection.text) <= budget
            for part in recollection.parts:
                assert part.source_turns
        assert len(agent.user("ana").recall(ASKED, budget=150).parts) == 3
        assert agent.user("ana").recall(ASKED, budget=4_000) == whole


def test_without_compression_all_session_memories_are_recalled(tmp_path: Path) -> None:
    off = {"compress": "false"}
    with (
        ScriptedServer() as server,
        opened(
            tmp_path, sessions=3, model="openai:x", base_url=server.base_url, config=off
        ) as agent,
    ):
        assert len(server.calls) == 3
        recollection = agent.user("ana").recall(ASKED)
        assert {memory.id for memory in recollection.memories} == {
            memory.id for memory in agent.user("ana").memories()
        }
        assert recollection.parts[1].text.startswith("About Ana: (30 March 2024) Ana: ")
        days = [memory.at for memory in recollection.parts[0].memories]
        assert days == sorted(days, reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["local", "openai:x"])
def test_forgetting_a_session_erases_and_remakes_every_compression_of_it(
    tmp_path: Path, model: str
) -> None:
    with ScriptedServer() as server:
        url = _url(server, model)
        with opened(tmp_path, sessions=4, model=model, base_url=url) as agent:
            calls_before = len(server.calls)
            first = agent.user("ana").sessions()[0].id
            lost = {
                memory.text for memory in agent.user("ana").memories() if memory.session == first
            }
            assert agent.user("ana").forget(session=first).verified
            assert len(agent.user("ana").pending()) == 3
            agent.user("ana").remember()
            recollection = agent.user("ana").recall(ASKED)
            assert all(part.source_turns for part in recollection.parts)
            assert {turn.session for turn in recollection.source_turns} == {2, 3, 4}
            assert not lost & {memory.text for memory in agent.user("ana").memories()}
            if (
                model != "local"
            ):  # what was noted of each session is journalled; only the sums are asked for
                assert len(server.calls) == calls_before + 3


def test_session_memories_that_survive_forgetting_are_recalled(tmp_path: Path) -> None:
    with opened(tmp_path, sessions=1) as agent:
        notes = [
            memory
            for memory in agent.user("ana").memories()
            if memory.kind == session_kind("portrait")
        ]
        gone, kept = notes[0], notes[1]
        assert agent.user("ana").forget(memory=gone.id).verified
        recollection = agent.user("ana").recall(ASKED)
        assert gone.text not in recollection.text
        assert kept.text in recollection.text


@pytest.mark.slow
def test_a_session_without_notes_changes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, sessions=2) as agent:
        before = agent.user("ana").recall(ASKED)
        talk = agent.user("ana").session()
        talk.hear("Hi!")
        talk.end()
        assert agent.user("ana").recall(ASKED) == before


@pytest.mark.slow
def test_a_long_history_is_compressed_with_the_previous_compression(tmp_path: Path) -> None:
    small = {"input_budget": 1_000}
    with (
        ScriptedServer() as server,
        opened(tmp_path, model="openai:x", base_url=server.base_url, config=small) as agent,
    ):
        memories = {memory.id: memory for memory in agent.user("ana").memories()}
        recollection = agent.user("ana").recall(ASKED)
        made_of = {
            memories[n].kind for memory in recollection.memories for n in memory.derived_from
        }
        assert made_of > set(ASPECTS), "of sentences as well as of session memories"
        sent = [line for line in agent.costs() if line.step == "compress"]
        assert sum(line.calls for line in sent) >= 10
        first = agent.user("ana").sessions()[0].id
        assert agent.user("ana").forget(session=first).verified
        assert len(agent.user("ana").pending()) == 9


def test_imported_memories_are_session_memories(tmp_path: Path) -> None:
    utterance = Utterance(text="I sail.", speaker="Ana", at=MONDAY, key="a")
    given = [
        ImportedMemory(text="I'm allergic to nuts.", speakers=("Ana",), source_keys=("a",)),
        ImportedMemory(text="Ana sold her boat.", speakers=("Ana",)),
    ]
    once = Transcript(key="s", turns=[utterance], at=MONDAY, memories=given)
    with theanine.open(str(tmp_path / "m.db"), method="comedy") as agent:
        agent.user("ana").log(History(name="ana", transcripts=[once]))
        agent.user("ana").remember()
        kinds = {
            memory.text: memory.kind
            for memory in agent.user("ana").memories()
            if memory.derived_from == ()
        }
        assert kinds == {
            "I'm allergic to nuts.": "session-portrait",
            "Ana sold her boat.": "session-events",
        }
        text = agent.user("ana").recall("Any allergies?").text
        assert text == "What happened: Ana sold her boat.\nAbout Ana: I'm allergic to nuts."


@pytest.mark.slow
def test_the_estimate_is_close_to_the_usage(tmp_path: Path) -> None:
    with (
        ScriptedServer() as server,
        opened(tmp_path, model="openai:x", base_url=server.base_url) as agent,
    ):
        turns = agent.user("ana").turns()
        sessions = [session.id for session in agent.user("ana").sessions()]
        guess = [Comedy().estimate([t for t in turns if t.session == s]) for s in sessions]
        spent = sum(line.input_tokens for line in agent.costs())
        assert sum(estimate.calls for estimate in guess) == len(server.calls)
        assert 0.5 < sum(estimate.input_tokens for estimate in guess) / spent < 2
    alone = Comedy(ComedyConfig(compress=False)).estimate(turns)
    assert alone.calls == 1


def test_invalid_settings_are_rejected() -> None:
    refused: list[dict[str, Any]] = [{"sentences": 0}, {"input_budget": 10}, {"budget": -1}]
    for wrong in refused:
        with pytest.raises(SettingsError):
            ComedyConfig(**wrong)
    assert ComedyConfig.paper().input_budget is None
