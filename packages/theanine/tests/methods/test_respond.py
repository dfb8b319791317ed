from __future__ import annotations

from dataclasses import replace

import pytest

from support.answering import Answering, memory, turn
from theanine.methods.shared.respond import NOTHING, local_respond, respond
from theanine.types import NO_MODEL_NOTICE, Part, Recollection

pytestmark = pytest.mark.anyio

DIALOGUE = [turn(9, "Shall we book that cruise?", session=4)]
SOURCE = turn(3, "I'm terrified of ships since the storm.")
FEAR = memory(1, "Ana fears ships since a storm.", sources=(3,))
PIANO = memory(2, "Ana plays the piano.", session=2)
REMEMBERED = Recollection(
    query="cruise",
    parts=(
        Part(text="Ana plays the piano.", memories=(PIANO,), source_turns=(), score=0.1),
        Part(text="Ana fears ships.", memories=(FEAR,), source_turns=(SOURCE,), score=0.7),
    ),
)
NOT_REMEMBERED = Recollection(query="cruise")


async def test_the_model_answers_from_what_is_remembered() -> None:
    caller = Answering(["  ", " A train might be kinder to you.\n"])
    reply = await respond(DIALOGUE, REMEMBERED, "Tea", caller)
    assert reply.text == "A train might be kinder to you."
    assert (reply.made_by, reply.rationale) == ("scripted:test", "")
    assert caller.faults == ["it is empty"]
    assert caller.asked[0].touches == {1, 2, 4}
    assert "- Ana fears ships." in caller.asked[0].prompt


async def test_it_reasons_first_when_told_to() -> None:
    caller = Answering([{"rationale": "She fears ships.", "response": "Rather a train?"}])
    reply = await respond(DIALOGUE, REMEMBERED, "Tea", caller, rationale=True)
    assert (reply.text, reply.rationale) == ("Rather a train?", "She fears ships.")
    assert caller.asked[0].step == "respond-reasoned@1"


async def test_the_model_is_told_when_nothing_is_remembered() -> None:
    caller = Answering(["Hello."])
    await respond(DIALOGUE, NOT_REMEMBERED, "Tea", caller)
    assert "<<<remembered\n(nothing)\n>>>" in caller.asked[0].prompt


def test_without_a_model_the_best_memory_is_quoted_with_its_source() -> None:
    reply = local_respond(DIALOGUE, REMEMBERED)
    assert reply.text == (
        "I remember: Ana fears ships since a storm. "
        "(8 May 2023, Ana: “I'm terrified of ships since the storm.”)\n" + NO_MODEL_NOTICE
    )
    assert reply.made_by == "local"


def test_without_a_model_an_undated_memory_gets_no_date() -> None:
    part = replace(REMEMBERED.parts[1], memories=(replace(FEAR, dated=False),))
    reply = local_respond(DIALOGUE, Recollection(query="", parts=(part,)))
    assert "2023" not in reply.text


def test_without_a_model_a_local_memory_is_its_own_source() -> None:
    own = memory(1, "Ana said on 8 May 2023: “I fear ships.”", sources=(3,), made_by="local")
    part = Part(text=own.text, memories=(own,), source_turns=(SOURCE,))
    reply = local_respond(DIALOGUE, Recollection(query="", parts=(part,)))
    assert reply.text.splitlines() == [f"I remember: {own.text}", NO_MODEL_NOTICE]


def test_without_a_model_and_memories_it_says_so() -> None:
    assert local_respond([], NOT_REMEMBERED).text == f"{NOTHING} {NO_MODEL_NOTICE}"


MARCH, SEPTEMBER = (
    memory(
        number,
        f"Ana said on {day} June 2023: “The wedding is in {month}.”",
        session=number,
        sources=(number,),
        made_by="local",
    )
    for number, day, month in ((5, 5, "March"), (6, 12, "September"))
)
OCTOBER = memory(7, "The wedding is in October.", session=7)
WEDDING = Recollection(
    query="wedding",
    parts=(
        Part(text="…", memories=(MARCH, SEPTEMBER), source_turns=(), score=0.7),
        Part(text="…", memories=(OCTOBER,), source_turns=(), score=0.1),
    ),
)
ASKED = [turn(9, "Is the wedding in March?", session=9)]


def test_without_a_model_a_change_is_quoted_with_what_changed() -> None:
    reply = local_respond(ASKED, WEDDING, [(5, 6)])
    assert reply.text.splitlines()[0] == (
        f"I remember: {MARCH.text}; since 12 June 2023: “The wedding is in September.”"
    )


def test_without_a_model_a_correction_replaces_what_it_corrects() -> None:
    changed = local_respond(ASKED, WEDDING, [(5, 6), (6, 7)], {6: 7})
    assert changed.text.splitlines()[0] == (
        f"I remember: {MARCH.text}; since 12 June 2023: The wedding is in October."
    )
    corrected = local_respond(ASKED, WEDDING, [(5, 7)], {5: 7})
    assert corrected.text.startswith("I remember: The wedding is in October.")
    assert "March" not in corrected.text


def test_without_a_model_a_corrected_turn_is_not_quoted() -> None:
    said = (turn(5, "The wedding is in March."), turn(7, "The wedding is in October."))
    part = replace(WEDDING.parts[0], memories=(MARCH, OCTOBER), source_turns=said, relevance=0.5)
    reply = local_respond(ASKED, Recollection(query="", parts=(part,)), [(5, 7)], {5: 7})
    assert "March" not in reply.text
    assert "October" in reply.text
