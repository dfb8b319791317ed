from __future__ import annotations

from dataclasses import replace
from datetime import UTC

import pytest

from support.answering import Answering, turn
from theanine.errors import UnusableReply
from theanine.summarization.summarize import drop_recalled, summarize
from theanine.text.numbering import WINDOW_TOKENS
from theanine.types import NewMemory

pytestmark = pytest.mark.anyio

TURNS = [
    turn(1, "I'm terrified of ships since the storm."),
    turn(2, "Oh no! What happened?", "Bo"),
    turn(3, "Last week a wave broke the mast of my brother's boat."),
]


def _statement(text: str, turns: list[int], speakers: list[str]) -> dict[str, object]:
    return {"text": text, "turns": turns, "speakers": speakers}


async def test_statements_keep_their_turns_and_the_time_of_the_last() -> None:
    caller = Answering(
        [{"statements": [_statement("Ana fears\nships since a storm.", [3, 1], ["ana"])]}]
    )
    (made,) = await summarize(TURNS, caller)
    assert made.text == "Ana fears ships since a storm."
    assert made.source_turns == (1, 3)
    assert made.at == TURNS[2].at.astimezone(UTC)
    assert made.speakers == ("Ana",)
    assert (made.made_by, made.prompt) == ("scripted:test", "summarize@1")
    assert caller.asked[0].touches == {1}


async def test_a_session_of_small_talk_gives_nothing() -> None:
    assert await summarize(TURNS, Answering([{"statements": []}])) == []


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        (_statement(" ", [1], ["Ana"]), "its text is empty"),
        (_statement("x" * 601, [1], ["Ana"]), "too long"),
        (_statement("Ana sails.", [], ["Ana"]), "names no turn"),
        (_statement("Ana sails.", [4], ["Ana"]), "[4] were not shown"),
        (_statement("Cy sails.", [1], ["Cy"]), "['Cy'] do not speak here"),
    ],
)
async def test_an_invalid_statement_is_rejected(statement: dict[str, object], fault: str) -> None:
    good = {"statements": [_statement("Ana fears ships.", [1], [])]}
    caller = Answering([{"statements": [statement]}, good])
    (made,) = await summarize(TURNS, caller)
    assert made.speakers == ("Ana",)
    assert fault in caller.faults[0]


async def test_too_many_statements_are_rejected() -> None:
    many = {"statements": [_statement("Ana sails.", [1], ["Ana"])] * 13}
    with pytest.raises(UnusableReply):
        await summarize(TURNS, Answering([many]))


async def test_a_long_session_is_split_into_windows_and_a_huge_turn_into_lines() -> None:
    turns = [turn(1, "word " * 20_000), turn(2, "I sold the boat.")]
    nothing: dict[str, object] = {"statements": []}
    caller = Answering([nothing] * 20)
    await summarize(turns, caller)
    assert 3 <= len(caller.asked) <= 8
    assert sum(call.prompt.count("word") for call in caller.asked) >= 20_000
    assert all(len(call.prompt) < 3.5 * WINDOW_TOKENS for call in caller.asked)


async def test_repeated_memories_are_dropped_but_additions_kept() -> None:
    texts = {7: "Ana said on 1 May 2023: “I'm terrified of ships since the storm.”"}
    turns = [
        turn(
            1,
            "You were terrified of ships since the storm.",
            "Tea",
            role="assistant",
            recalled=(7,),
        ),
        turn(2, "I booked a train to Lisbon instead."),
    ]
    repeats = NewMemory(text="Ana is terrified of ships since the storm.", at=turns[0].at,
                        source_turns=(1,), speakers=("Ana",))  # fmt: skip
    new = NewMemory(text="Ana booked a train to Lisbon.", at=turns[1].at, source_turns=(1, 2))
    assert drop_recalled([repeats, new], turns, texts) == [new]
    texts[8] = "Ana moved to Lisbon with her brother in May."
    joined_turn = turn(1, "Storm and Lisbon.", "Tea", role="assistant", recalled=(7, 8))
    joined = replace(repeats, text="Ana is terrified of ships since the storm and moved to Lisbon.")
    assert drop_recalled([joined], [joined_turn], texts) == []
    other = NewMemory(text="Tea promised to find a quiet train.", at=turns[0].at, source_turns=(1,))
    assert drop_recalled([other], turns, texts) == [other]
    assert drop_recalled([repeats], turns, {}) == [repeats]


async def test_the_model_is_told_which_turns_were_recalled() -> None:
    turns = [
        turn(1, "You fear ships.", "Tea", role="assistant", recalled=(7,), dated=False),
        turn(2, "I did.", dated=False),
    ]
    caller = Answering([{"statements": []}])
    await summarize(turns, caller)
    assert "[1] Tea (agent, recalled): You fear ships." in caller.asked[0].prompt
    assert "-- dates unknown" in caller.asked[0].prompt
    assert "2023" not in caller.asked[0].prompt
