"""Memos tile a session, the model picks among them, and what is picked comes with its turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theanine
from support.answering import MONDAY, Answering, memory, turn
from support.prompting import ATTACK, check_fences, check_length, check_snapshot
from theanine.demo import HARBOUR
from theanine.errors import SettingsError, UnusableReply
from theanine.importers import read_histories
from theanine.testing import ScriptedServer, answer, by_step
from theanine.tokenizer import count_tokens
from theanine.types import History, ImportedMemory, Memory, Transcript, Turn, Utterance
from theanine_methods.memochat.config import MemoChatConfig
from theanine_methods.memochat.memos import (
    MEMOS,
    Memo,
    local_write_memos,
    uncovered_turns,
    write_memos,
)
from theanine_methods.memochat.method import MEMO, OTHERS, MemoChat
from theanine_methods.memochat.pick import PICK_MEMOS, pick_memos
from theanine_methods.segmentation.segments import spans_between

pytestmark = pytest.mark.anyio

ASKED = "Why did Ana leave the shipyard?"
TURNS = [
    turn(1, "Hi there!", "Tea", role="assistant"),
    turn(2, "A storm broke our mast near Faro.", shared="a boat without a mast"),
    turn(3, "You told me about the boat.", "Tea", role="assistant", recalled=(1,)),
    turn(4, "Yes. The yard asks 900 euros for a new one."),
    turn(5, "My sister Bea marries in June."),
    turn(6, "Bye!", "Tea", role="assistant"),
]
MAST = {"topic": "the broken mast", "summary": "A storm broke it.", "first": 2, "last": 4}
BEA = {"topic": "Bea's wedding", "summary": "Bea marries in June.", "first": 5, "last": 5}


def memo(id: int, text: str, **more: Any) -> Memory:
    return replace(memory(id, text, **more), kind=MEMO, method="memochat")


MEMOS_KEPT = [
    memo(1, "the broken mast: A storm broke it near Faro.", sources=(2, 3, 4)),
    memo(2, "Bea's wedding: Bea marries in June.", session=2, sources=(9,)),
]


def opened(path: Path, **settings: Any) -> theanine.Client:
    """An agent that remembers the bundled conversation."""
    agent = theanine.open(str(path / "m.db"), method="memochat", **settings)
    agent.user("ana").log(read_histories(HARBOUR).histories[0])
    assert [report.failure for report in agent.user("ana").remember() if report.failure] == []
    return agent


# what the model is asked for, and held to


async def _memos_prompt(turns: Sequence[Turn]) -> str:
    caller = Answering([{"memos": []}])
    await write_memos(turns, caller)
    assert caller.asked[0].touches == {1}
    return caller.asked[0].prompt


async def _pick_prompt(memos: Sequence[Memory], turns: Sequence[Turn]) -> str:
    caller = Answering([{"memos": []}])
    await pick_memos(memos, turns, caller, limit=3)
    assert caller.asked[0].touches == {1, 2}
    return caller.asked[0].prompt


async def test_each_prompt_matches_its_snapshot() -> None:
    check_snapshot("memos", await _memos_prompt(TURNS))
    check_snapshot("pick-memos", await _pick_prompt(MEMOS_KEPT, TURNS[3:4]))


async def test_quoted_text_stays_in_its_fence() -> None:
    attacked = [replace(turn, text=ATTACK, speaker=f"Ana\n{ATTACK}") for turn in TURNS]
    check_fences(await _memos_prompt(TURNS), await _memos_prompt(attacked))
    kept = [replace(memory, text=ATTACK) for memory in MEMOS_KEPT]
    calm = await _pick_prompt(MEMOS_KEPT, TURNS)
    check_fences(calm, await _pick_prompt(kept, attacked))


@pytest.mark.parametrize("step", [MEMOS, PICK_MEMOS], ids=lambda step: step.name)
def test_instructions_are_short(step: Any) -> None:
    check_length(step)


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ([{**MAST, "first": 4, "last": 2}], "ends before it begins"),
        ([{**MAST, "last": 7}], "passes the turns shown, 1 to 6"),
        ([{**MAST, "first": 0}], "passes the turns shown"),
        ([MAST, {**BEA, "first": 4}], "turn 4 is in two memos"),
        ([{**MAST, "topic": " "}], "an empty topic"),
        ([{**MAST, "summary": "long " * 200}], "is too long"),
    ],
)
async def test_memos_that_fit_no_turns_are_sent_back(wrong: list[Any], fault: str) -> None:
    caller = Answering([{"memos": wrong}, {"memos": [BEA, MAST]}])
    memos = await write_memos(TURNS, caller)
    assert fault in caller.faults[0]
    assert [(memo.first, memo.last) for memo in memos] == [(1, 3), (4, 4)]
    with pytest.raises(UnusableReply):
        await write_memos(TURNS, Answering([{"memos": wrong}]))


async def test_a_long_session_is_asked_about_in_windows_with_its_own_numbers() -> None:
    turns = [turn(i, "we sail and sail again " * 400) for i in range(1, 11)]

    def first_shown(prompt: str) -> object:
        number = int(prompt.split("<<<turns")[-1].split("[", 1)[1].split("]")[0])
        return {"memos": [{**MAST, "first": number, "last": number}]}

    caller = Answering([first_shown] * 9)
    memos = await write_memos(turns, caller)
    assert len(caller.asked) == len(memos) > 1
    assert [memo.first for memo in memos] == sorted({memo.first for memo in memos})


SPANS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=4)


@given(SPANS)
def test_every_turn_with_words_is_in_a_memo_or_among_the_others(spans: list[Any]) -> None:
    turns = [turn(i, "words" if i % 4 else " ") for i in range(1, 11)]
    memos = [Memo(topic="t", summary="s", first=a, last=min(9, a + n)) for a, n in spans]
    inside = {turns[i].id for memo in memos for i in range(memo.first, memo.last + 1)}
    outside = {turn.id for turn in uncovered_turns(turns, memos)}
    assert not inside & outside
    assert {turn.id for turn in turns if turn.full_text.strip()} <= inside | outside


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ([3], "there are no notes [3], only 1 to 2"),
        ([1, 1], "notes [1] are picked more than once"),
        ([2, 1], "2 notes are too many: pick the 1 most useful"),
    ],
)
async def test_a_choice_of_what_is_not_there_is_sent_back(wrong: list[int], fault: str) -> None:
    caller = Answering([{"memos": wrong}, {"memos": [2]}])
    assert await pick_memos(MEMOS_KEPT, TURNS, caller, limit=1) == [MEMOS_KEPT[1]]
    assert caller.faults == [fault]


def test_without_a_usable_pick_the_best_memos_are_returned(tmp_path: Path) -> None:
    with (
        ScriptedServer(by_step({"pick-memos": '{"memos": [999]}'}, answer)) as server,
        theanine.open(
            str(tmp_path / "m.db"), method="memochat", model="openai:x", base_url=server.base_url
        ) as client,
    ):
        with client.user("ana").session() as talk:
            talk.hear("I'm terrified of ships since the storm.")
        recollection = client.user("ana").recall("Are ships fine?")
        assert "terrified" in recollection.text
        (note,) = recollection.notes
        assert note.startswith("no memo was picked, so these are the best by retrieval: ")


# locally


def _local(turns: Sequence[Turn], *starts: int) -> list[Memo]:
    return local_write_memos(turns, spans_between(starts, len(turns)))


def test_a_local_memo_has_telling_words_for_a_topic_and_quotes_for_a_summary() -> None:
    mast, bea = _local(TURNS, 4)
    assert (mast.first, mast.last, bea.first, bea.last) == (0, 3, 4, 5)
    assert {"storm", "mast", "Faro"} & set(mast.topic.split(" · "))
    assert "Tea" not in mast.topic
    assert mast.summary.startswith("Ana said on 8 May 2023: “A storm broke our mast near Faro.”")
    assert bea.summary == "Ana said on 8 May 2023: “My sister Bea marries in June.”"


def test_a_local_memo_never_repeats_what_an_agent_recalled() -> None:
    text = "Your sister Bea marries in the old harbour church."
    only = [turn(1, text, "Tea", role="assistant", recalled=(4,))]
    assert _local(only) == []
    (both,) = _local([turn(1, "What was it?"), *[replace(one, id=2) for one in only]])
    assert "harbour" not in f"{both.topic} {both.summary}"


WORDS = st.text(alphabet="ab .!?船が🛶\n", max_size=30) | st.sampled_from(
    ["I moved to Porto.", "…"]
)


@settings(max_examples=80, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=6), st.sets(st.integers(1, 5)))
def test_local_memos_use_only_words_that_were_said(texts: list[str], cuts: set[int]) -> None:
    turns = [turn(i, text) for i, text in enumerate(texts, 1)]
    starts = sorted(cut for cut in cuts if cut < len(turns))
    memos = local_write_memos(turns, spans_between(starts, len(turns)))
    assert memos == local_write_memos(turns, spans_between(starts, len(turns)))
    assert len(memos) <= len(starts) + 1
    for memo in memos:
        said = " ".join(" ".join(turns[i].text.split()) for i in range(memo.first, memo.last + 1))
        assert memo.topic.strip()
        assert all(word.rstrip("…") in said for word in memo.topic.split(" · "))
        assert "Ana said on 8 May 2023: “" in memo.summary


@pytest.mark.slow
def test_locally_memos_tile_every_session_and_are_found_with_their_turns(tmp_path: Path) -> None:
    with opened(tmp_path) as agent:
        memos = agent.user("ana").memories()
        assert {memo.kind for memo in memos} == {MEMO}
        covered = [n for memo in memos for n in memo.source_turns]
        assert covered == [turn.id for turn in agent.user("ana").turns()]
        recollection = agent.user("ana").recall("What is Ana allergic to?")
        assert 1 <= len(recollection.parts) <= 6
        assert "hazelnut" in recollection.text
        assert [p.memories[0].order for p in recollection.parts] == sorted(
            p.memories[0].order for p in recollection.parts
        )


# together


@pytest.mark.slow
def test_the_model_picks_and_replies_from_the_turns_of_its_choice(tmp_path: Path) -> None:
    with (
        ScriptedServer() as server,
        opened(tmp_path, model="openai:x", base_url=server.base_url) as agent,
    ):
        calls_before = len(server.calls)
        talk = agent.user("ana").session()
        talk.hear(ASKED)
        answer = talk.reply()
        assert len(server.calls) == calls_before + 2
        (part,) = answer.recollection.parts
        assert len(part.source_turns) >= len(part.memories[0].source_turns) > 0
        assert all(turn.full_text in part.text for turn in part.source_turns)
        assert part.text.startswith("(")
        assert "shipyard" in answer.text
        made = {memory.kind: memory for memory in agent.user("ana").memories()}
        assert made[MEMO].made_by == "openai:x"
        assert made[MEMO].prompt == "memos@1"


@pytest.mark.slow
def test_turns_that_the_model_leaves_out_are_kept_as_other_talk(tmp_path: Path) -> None:
    with ScriptedServer({"memos": '{"memos": []}', "pick-memos": '{"memos": [1]}'}) as server:
        model = {"model": "openai:x", "base_url": server.base_url}
        with opened(tmp_path, **model) as agent:
            kept = agent.user("ana").memories()
            assert {(note.kind, note.made_by) for note in kept} == {(OTHERS, "local")}
            assert len(kept) == len(agent.user("ana").sessions())
            assert [n for note in kept for n in note.source_turns] == [
                t.id for t in agent.user("ana").turns()
            ]
            assert agent.user("ana").recall(ASKED).parts[0].memories == (kept[0],)


@pytest.mark.slow
def test_many_memos_are_found_first_and_few_are_all_shown(tmp_path: Path) -> None:
    with ScriptedServer({"pick-memos": '{"memos": [2, 1]}'}) as server:
        model = {"model": "openai:x", "base_url": server.base_url}
        opened(tmp_path, **model).close()
        shown: list[int] = []
        for most in (2, 5, None):
            config = {"retrieved": 2, "shown": most}
            with opened(tmp_path, **model, config=config) as agent:
                recollection = agent.user("ana").recall(ASKED)
                assert len(recollection.parts) == 2
                scores = [part.score for part in recollection.parts]
                assert scores == [0.5, 1.0], "the second is the better, the first the older"
                kept = len(agent.user("ana").memories())
            prompt = server.requests[-1]["messages"][0]["content"]
            listed = prompt.split("<<<memos\n")[1].split("\n>>>")[0]
            shown.append(len(listed.splitlines()))
        assert shown == [2, 5, kept]
        assert kept > 5


@pytest.mark.slow
@pytest.mark.parametrize("config", [{"picking": "retrieval"}, {"evidence": False}])
def test_the_ablations_do_without(tmp_path: Path, config: dict[str, Any]) -> None:
    with ScriptedServer() as server:
        model = {"model": "openai:x", "base_url": server.base_url}
        with opened(tmp_path, config=config, **model) as agent:
            before = len(server.calls)
            recollection = agent.user("ana").recall(ASKED)
            picked = len(server.calls) - before
            assert picked == (0 if "picking" in config else 1)
            text = recollection.parts[0].text
            assert ("\n" in text) == config.get("evidence", True)
            assert recollection.parts[0].source_turns


@pytest.mark.slow
def test_where_the_turns_do_not_fit_the_memo_alone_is_given(tmp_path: Path) -> None:
    with opened(tmp_path) as agent:
        sizes: list[int] = []
        for budget in (0, 60, 200, 800):
            recollection = agent.user("ana").recall(ASKED, budget=budget)
            assert count_tokens(recollection.text) <= budget
            sizes.append(len(recollection.parts))
        assert sizes[0] == 0
        assert sizes == sorted(sizes)
        small = agent.user("ana").recall(ASKED, budget=90)
        assert small.parts
        assert all("\n" not in part.text for part in small.parts)


def test_ready_made_memories_are_memos(tmp_path: Path) -> None:
    utterance = Utterance(text="I sail.", speaker="Ana", at=MONDAY, key="a")
    given = ImportedMemory(text="Ana sails.", speakers=("Ana",), source_keys=("a",))
    once = Transcript(key="s", turns=[utterance], at=MONDAY, memories=[given])
    with theanine.open(str(tmp_path / "m.db"), method="memochat") as agent:
        agent.user("ana").log(History(name="ana", transcripts=[once]))
        agent.user("ana").remember()
        (one,) = agent.user("ana").memories()
        assert (one.text, one.kind, one.made_by) == ("Ana sails.", MEMO, "given")
        assert (
            agent.user("ana").recall("Who sails?").text == "(8 May 2023) Ana sails.\nAna: I sail."
        )


@pytest.mark.slow
def test_the_estimate_is_close_to_the_usage(tmp_path: Path) -> None:
    with (
        ScriptedServer() as server,
        opened(tmp_path, model="openai:x", base_url=server.base_url) as agent,
    ):
        turns = agent.user("ana").turns()
        sessions = [session.id for session in agent.user("ana").sessions()]
        guess = [MemoChat().estimate([t for t in turns if t.session == s]) for s in sessions]
        spent = sum(line.input_tokens for line in agent.costs())
        assert sum(estimate.calls for estimate in guess) == len(server.calls)
        assert 0.7 < sum(estimate.input_tokens for estimate in guess) / spent < 1.4


def test_invalid_settings_are_rejected() -> None:
    refused: list[dict[str, Any]] = [
        {"retrieved": 0},
        {"shown": 3},
        {"query_turns": 0},
        {"budget": -1},
    ]
    for wrong in refused:
        with pytest.raises(SettingsError):
            MemoChatConfig(**wrong)
    paper = MemoChatConfig.paper()
    assert (paper.shown, paper.query_turns, paper.picking) == (None, None, "model")
