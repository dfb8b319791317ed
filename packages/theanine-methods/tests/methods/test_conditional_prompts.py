"""What the model is shown by conditional memory: each prompt whole, and that words stay quoted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from support.answering import Answering, memory, turn
from support.prompting import ATTACK, check_fences, check_length, check_snapshot
from theanine.errors import SettingsError
from theanine.llm.prompt import PromptTemplate
from theanine.llm.prompt_folder import PromptFolder
from theanine.text.formatting import estimate_tokens
from theanine.types import Memory, Part, Recollection, Turn
from theanine_methods.conditional.config import ConditionalConfig
from theanine_methods.conditional.decide import DECIDE, decide
from theanine_methods.conditional.record import RECORD, record
from theanine_methods.conditional.reflect import (
    REFLECT_MEMORIES,
    REFLECT_SENTENCES,
    SearchResults,
    search_and_reflect,
)
from theanine_methods.conditional.reply import REPLY, model_reply_and_decide
from theanine_methods.conditional.summary import SUMMARIZE_SESSION, summarize_session

pytestmark = pytest.mark.anyio

STEPS: list[PromptTemplate[Any]] = [
    DECIDE,
    RECORD,
    REFLECT_MEMORIES,
    REFLECT_SENTENCES,
    REPLY,
    SUMMARIZE_SESSION,
]
NOW = [
    turn(1, "Capitalize this title for me: sea and storm."),
    turn(2, "Sea And Storm", "Tea", role="assistant", recalled=(1,)),
    replace(turn(3, "No, every letter.", shared="a title"), at=turn(3, "", session=2).at),
]
ANSWERS: dict[str, Any] = {
    DECIDE.name: {"worth": []},
    RECORD.name: {"records": [{"turn": 3, "related": [], "context": "c", "knowledge": "k"}]},
    REFLECT_MEMORIES.name: {"enough": True, "relevant": [1], "keywords": []},
    REPLY.name: {"response": "r", "worth": "yes"},
    SUMMARIZE_SESSION.name: "s",
}
FOUND = memory(1, "Context: On titles. Knowledge (Ana): Ana wants all letters as capitals.")


async def test_replies_in_the_published_form_may_copy_what_is_shown() -> None:
    folder = PromptFolder({"conditional-record.v1": "$turns", "conditional-reflect.v2": "$found"})
    now = [turn(1, "I keep gulls and terns on the roof. " * 200), turn(2, "Ring them.")]
    [recorded] = ANSWERS[RECORD.name]["records"]
    caller = Answering([{"records": [{**recorded, "turn": 2}]}], folder)
    with pytest.raises(SettingsError, match="set recording=turn"):
        await record(now[-1:], now, caller, ConditionalConfig())
    assert not caller.asked
    await record(now[-1:], now, caller, ConditionalConfig.paper())
    found = memory(1, "I keep gulls and terns on the roof. " * 200)

    async def search(_: str) -> SearchResults:
        return [(found, 1.0)]

    reflecting = Answering([ANSWERS[REFLECT_SENTENCES.name]], folder)
    await search_and_reflect(
        search,
        "gulls",
        now,
        reflecting,
        rounds=1,
        copies="sentences",
        source_sessions=lambda memories: {1},
    )
    for asked in (*caller.asked, *reflecting.asked):
        assert asked.bounds
        assert asked.bounds.tokens > estimate_tokens(asked.prompt)


async def _prompt(step: PromptTemplate[Any], now: Sequence[Turn], found: Memory) -> str:
    """The prompt of a step over these turns and this memory."""

    async def search(_: str) -> SearchResults:
        return [(found, 1.0)]

    caller = Answering([ANSWERS[step.name]])
    if step is DECIDE:
        await decide(now, now, caller)
    elif step is RECORD:
        await record(now[-1:], now, caller, ConditionalConfig())
    elif step in (REFLECT_MEMORIES, REFLECT_SENTENCES):
        await search_and_reflect(
            search,
            "title",
            now,
            caller,
            rounds=1,
            copies="memories" if step is REFLECT_MEMORIES else "sentences",
            source_sessions=lambda memories: {1},
        )
    elif step is REPLY:
        part = Part(text=found.text, memories=(found,), source_turns=())
        await model_reply_and_decide(now, Recollection(query="", parts=(part,)), "Tea", caller)
    else:
        await summarize_session(now, caller)
    return caller.asked[0].prompt


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.label)
async def test_each_prompt_matches_its_snapshot(step: PromptTemplate[Any]) -> None:
    name = step.name if step is not REFLECT_SENTENCES else "conditional-reflect.v2"
    check_snapshot(name, await _prompt(step, NOW, FOUND))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.label)
async def test_quoted_text_cannot_leave_its_fence(step: PromptTemplate[Any]) -> None:
    attacked = [replace(turn, text=ATTACK, speaker=f"Ana\n{ATTACK}") for turn in NOW]
    recollection = replace(FOUND, text=ATTACK)
    calm = await _prompt(step, NOW, FOUND)
    check_fences(calm, await _prompt(step, attacked, recollection))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.label)
def test_instructions_are_short(step: PromptTemplate[Any]) -> None:
    check_length(step)
