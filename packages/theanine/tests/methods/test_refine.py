from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.answering import Answering, memory, turn
from theanine.methods.theanine.config import TheaninePaperConfig
from theanine.methods.theanine.refine import (
    CONNECTIVES,
    MAX_LOCAL_STATEMENTS,
    local_refine,
    refine,
)
from theanine.types import Link, Memory, Relation, Timeline

pytestmark = pytest.mark.anyio

DIALOGUE = [turn(9, "Shall we book that cruise?", session=4)]
SHIPS = memory(1, "Ana said on 8 May 2023: “I love ships.”", made_by="local")
FEAR = memory(2, "Ana said on 15 May 2023: “I don't love ships.”", session=2, made_by="local")
TRAIN = memory(3, "Ana booked a train", session=3)


def _timeline(memories: list[Memory], *relations: Relation | None, retrieved: int = 0) -> Timeline:
    links = [
        Link(older=a.id, newer=b.id, relation=relation)
        for a, b, relation in zip(memories, memories[1:], relations, strict=False)
    ]
    return Timeline(
        memories=tuple(memories), links=tuple(links), retrieved=retrieved or memories[-1].id
    )


PATH = _timeline([SHIPS, FEAR, TRAIN], Relation.CHANGED, Relation.WANT)


async def test_the_model_is_given_the_chain_and_the_dialogue() -> None:
    caller = Answering(["", " Ana came to fear ships and booked a train. "])
    assert await refine(PATH, DIALOGUE, caller) == "Ana came to fear ships and booked a train."
    assert caller.faults == ["it is empty"]
    assert caller.asked[0].touches == {1, 2, 3, 4}
    prompt = caller.asked[0].prompt
    assert "\n—Changed→ (15 May 2023) Ana said" in prompt
    assert "\n—Want→ (22 May 2023) Ana booked a train" in prompt
    assert "Ana: Shall we book that cruise?" in prompt


async def test_local_joins_with_a_connective_for_each_relation() -> None:
    assert await refine(PATH, DIALOGUE, None) == (
        "Ana said on 8 May 2023: “I love ships.” Changed to: "
        "Ana said on 15 May 2023: “I don't love ships.” Wanted after that: "
        "22 May 2023: Ana booked a train."
    )
    undated = _timeline([SHIPS, FEAR, replace(TRAIN, dated=False)], Relation.CHANGED, Relation.WANT)
    assert (await refine(undated, DIALOGUE, None)).endswith(": Ana booked a train.")


async def test_a_path_without_relations_is_joined_plainly() -> None:
    plain = _timeline([SHIPS, TRAIN], None)
    assert " Later: 22 May 2023: " in local_refine(plain, [])
    caller = Answering(["fine"])
    await refine(plain, [], caller)
    assert "\n—Then→ " in caller.asked[0].prompt


async def test_near_duplicates_are_dropped_but_not_changes_or_the_retrieved_memory() -> None:
    again = memory(4, "Ana loves ships.", session=2)
    assert "loves" not in local_refine(
        _timeline([SHIPS, again, TRAIN], Relation.SAME_TOPIC, None), []
    )
    kept = _timeline([SHIPS, again, TRAIN], Relation.SAME_TOPIC, None, retrieved=4)
    assert "loves" in local_refine(kept, [])
    denied = _timeline([SHIPS, FEAR, TRAIN], Relation.SAME_TOPIC, None)
    assert "don't" in local_refine(denied, [])


async def test_the_whole_timeline_is_refined_if_configured() -> None:
    again = memory(4, "Ana loves ships.", session=2)
    path = _timeline([SHIPS, again, TRAIN], Relation.SAME_TOPIC, None)
    caller = Answering(["fine", "fine"])
    await refine(path, DIALOGUE, caller)
    await refine(path, DIALOGUE, caller, whole=TheaninePaperConfig().whole)
    short, whole = (call.prompt for call in caller.asked)
    assert "Ana loves ships." not in short
    assert "\n—SameTopic→ (15 May 2023) Ana loves ships.\n—Then→ " in whole


async def test_a_single_memory_is_always_returned() -> None:
    alone = _timeline([TRAIN], retrieved=1)  # shuffled: the path is parted
    assert local_refine(alone, DIALOGUE) == "22 May 2023: Ana booked a train."


async def test_the_relevant_statements_of_a_long_path_keep_their_order() -> None:
    memories = [memory(i, f"Ana saw town {i} that day") for i in range(1, 5_001)]
    memories[2_499] = memory(2_500, "Ana fell ill on a cruise")
    path = _timeline(memories, *[Relation.CAUSE] * 4_999, retrieved=4_000)
    text = local_refine(path, DIALOGUE)
    assert text.count("Ana ") == MAX_LOCAL_STATEMENTS
    assert text.index("cruise") < text.index("town 4000")
    assert "Later:" in text  # across the gap
    assert "As a result:" in text  # and between neighbours


WORDS = st.lists(
    st.sampled_from("boat storm not never train Porto Ana fears loves sold the a".split()),
    min_size=1,
    max_size=8,
).map(" ".join)


@pytest.mark.slow
@given(st.lists(st.tuples(WORDS, st.sampled_from([*Relation, None])), min_size=1, max_size=12))
def test_local_refinement_adds_only_connectives(
    steps: list[tuple[str, Relation | None]],
) -> None:
    memories = [memory(i, text) for i, (text, _) in enumerate(steps, 1)]
    path = _timeline(memories, *(relation for _, relation in steps[1:]))
    text = local_refine(path, DIALOGUE)
    assert text == local_refine(path, DIALOGUE)
    said = set(re.findall(r"\w+", " ".join(memory.text for memory in memories)))
    fixed = set(re.findall(r"\w+", " ".join([*CONNECTIVES.values(), "8 May 2023"])))
    assert set(re.findall(r"\w+", text)) <= said | fixed
    assert memories[-1].text in text
