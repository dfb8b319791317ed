from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC

import pytest

from support.answering import Answering, memory, turn
from theanine.errors import UnusableReply
from theanine.methods.shared.pairs import PAIRS_PER_CALL, Pair
from theanine.methods.theanine.judgement import Judgement
from theanine.methods.theanine.local_relate import local_relate
from theanine.methods.theanine.relate import Relating, Scene, relate
from theanine.types import NewMemory, Relation, Turn

pytestmark = pytest.mark.anyio

EARLIER = [
    turn(1, "How was the sail?", "Bo"),
    turn(2, "A storm broke our mast."),
    turn(3, "Oh no!", "Bo"),
]
NOW = [turn(11, "I'm terrified of ships.", session=2), turn(12, "Me too!", "Bo", session=2)]
STORM = memory(5, "Ana's mast broke in a storm.", sources=(2,))
PIANO = memory(6, "Ana plays the piano.", sources=())


def _new(text: str, *sources: int, speakers: tuple[str, ...] = ("Ana",)) -> NewMemory:
    at = NOW[0].at.astimezone(UTC)
    return NewMemory(text=text, at=at, source_turns=sources or (11,), speakers=speakers)


FEAR = _new("Ana is terrified of ships.")
BO = _new("Bo fears ships too.", 12, speakers=("Bo",))
PAIRS = [Pair(STORM, 0, FEAR, 0.6), Pair(PIANO, 0, FEAR, 0.4), Pair(STORM, 1, BO, 0.5)]


async def _dialogue(session: int) -> Sequence[Turn]:
    return EARLIER if session == 1 else []


async def _load(ids: Collection[int]) -> Sequence[Turn]:
    return [turn for turn in EARLIER if turn.id in ids]


SCENE = Scene(session=2, turns=NOW, dialogue=_dialogue, load=_load)


def _answer(*relations: str) -> dict[str, object]:
    return {
        "judgements": [
            {"pair": number, "explanation": f"because {number}", "relation": relation}
            for number, relation in enumerate(relations, 1)
        ]
    }


def _numbered(*pairs: int) -> dict[str, object]:
    return {"judgements": [{"pair": n, "explanation": "", "relation": "None"} for n in pairs]}


async def test_a_session_is_related_in_one_call() -> None:
    caller = Answering([_answer("React", "None", "SameTopic")])
    judgements = await relate(PAIRS, SCENE, mode="session", chat=caller)
    assert [judgement.relation for judgement in judgements] == [
        Relation.REACT,
        None,
        Relation.SAME_TOPIC,
    ]
    assert judgements[0] == Judgement(
        relation=Relation.REACT,
        explanation="because 1",
        made_by="scripted:test",
        prompt="relate@2",
    )
    (asked,) = caller.asked
    assert asked.touches == {1, 2}
    assert asked.prompt.count("A storm broke our mast.") == 1
    assert "1: M1 N1\n2: M2 N1\n3: M1 N2" in asked.prompt


async def test_a_call_for_each_memory() -> None:
    def by_count(prompt: str) -> object:
        return _answer("Cause", "None") if "2: M2 N1" in prompt else _answer("React")

    caller = Answering([by_count, by_count])
    judgements = await relate(PAIRS, SCENE, mode="memory", chat=caller)
    assert [judgement.relation for judgement in judgements] == [
        Relation.CAUSE,
        None,
        Relation.REACT,
    ]
    assert len(caller.asked) == 2


async def test_a_call_for_each_pair_shows_both_whole_sessions() -> None:
    answers = [{"explanation": "e", "relation": name} for name in ("React", "none", "Same Topic")]
    caller = Answering(answers)
    judgements = await relate(PAIRS, SCENE, mode="pairs", chat=caller)
    assert [judgement.relation for judgement in judgements] == [
        Relation.REACT,
        None,
        Relation.SAME_TOPIC,
    ]
    assert [call.step for call in caller.asked] == ["relate-pair@1"] * 3
    for call in caller.asked:
        assert "Bo: How was the sail?" in call.prompt
        assert "Bo: Me too!" in call.prompt


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (_answer("React"), "no judgement for pairs [2, 3]"),
        (_answer("React", "None", "None", "Cause"), "no pairs [4], only 1 to 3"),
        (_numbered(1, 2, 3, 3, 1), "more than one judgement for pairs [1, 3]"),
    ],
)
async def test_every_pair_is_answered_once(answer: dict[str, object], fault: str) -> None:
    caller = Answering([answer, _answer("React", "None", "None")])
    judgements = await relate(PAIRS, SCENE, mode="session", chat=caller)
    assert len(judgements) == 3
    assert fault in caller.faults[0]


async def test_many_pairs_take_several_calls_and_keep_their_order() -> None:
    pairs = [Pair(memory(i, f"Ana saw ship {i}."), 0, FEAR, 0.5) for i in range(1, 51)]

    def count(prompt: str) -> object:
        shown = prompt.split("<<<pairs\n")[1].count(": M")
        relation = "Cause" if "ship 49." in prompt else "None"
        return _answer(*[relation] * shown)

    caller = Answering([count] * 3)
    judgements = await relate(pairs, SCENE, mode="session", chat=caller)
    assert len(caller.asked) == 3
    assert [judgement.relation for judgement in judgements] == [None] * 2 * PAIRS_PER_CALL + [
        Relation.CAUSE
    ] * 2


async def test_a_failing_call_raises_its_own_error() -> None:
    with pytest.raises(UnusableReply):
        await relate(PAIRS, SCENE, mode="pairs", chat=Answering([]))


@pytest.mark.parametrize("mode", ["pairs", "memory", "session"])
async def test_no_pairs_take_no_call(mode: Relating) -> None:
    caller = Answering([])
    assert await relate([], SCENE, mode=mode, chat=caller) == []
    assert caller.asked == []


async def test_statements_are_shown_with_the_turns_that_support_them() -> None:
    turns = [turn(i, f"filler {i} " + "word " * 60, session=2) for i in range(1, 300)]
    scene = Scene(session=2, turns=turns, dialogue=_dialogue, load=_load)
    caller = Answering([_answer("None")])
    await relate([Pair(STORM, 0, _new("x", 150), 0.5)], scene, mode="session", chat=caller)
    prompt = caller.asked[0].prompt
    assert "\nM1 Ana's mast broke in a storm.\n  Ana: A storm broke our mast.\n" in prompt
    assert "\nN1 x\n  Ana: filler 150 word" in prompt
    assert not {"filler 149 ", "filler 151 ", "How was the sail?"} & {*prompt.split("\n")}
    assert len(prompt) < 2_500


@pytest.mark.parametrize(
    ("mode", "answer"),
    [("session", _answer("None")), ("pairs", {"explanation": "", "relation": None})],
)
async def test_imported_memories_need_no_turns_and_show_no_invented_date(
    mode: Relating, answer: object
) -> None:
    async def undated(_: object) -> Sequence[Turn]:
        return [replace(turn, dated=False) for turn in EARLIER]

    scene = Scene(session=2, dated=False, turns=[], dialogue=undated, load=undated)
    older = replace(PIANO, dated=False)
    caller = Answering([answer])
    (found,) = await relate([Pair(older, 0, FEAR, 0.5)], scene, mode=mode, chat=caller)
    assert found.relation is None
    assert "2023" not in caller.asked[0].prompt
    assert ("(not kept)" in caller.asked[0].prompt) == (mode == "pairs")


LOCAL = [
    (Relation.CHANGED, "I drink coffee every morning.", "I no longer drink coffee, only tea."),
    (Relation.CHANGED, "The wedding is in May.", "We moved the wedding from May to June."),
    (
        Relation.SAME_TOPIC,
        "My sister Lucija is getting married on 14 September on the island of Cres.",
        "Lucija's wedding on Cres was beautiful, and my speech made her laugh and then cry.",
    ),
    (None, "The storm broke our mast.", "I'm terrified of the sea since I was a child."),
    (None, "I met the baker in Porto.", "We watched a film in Faro."),
]


@pytest.mark.parametrize(("relation", "older", "newer"), LOCAL)
async def test_local_cues(relation: Relation | None, older: str, newer: str) -> None:
    a = memory(1, f"Ana said on 8 May 2023: “{older}”", made_by="local")
    b = _new(f"Ana said on 15 May 2023: “{newer}”")
    (found,) = await relate([Pair(a, 0, b, 0.6)], SCENE, mode="session", chat=None)
    assert found.relation == relation
    assert (found.made_by, found.prompt) == ("local", "")
    assert found.explanation


@pytest.mark.parametrize(
    "text",
    [
        "I left the choir because of my knee.",
        "I'm sad because the storm broke our mast.",
        "My boss got me to sell the old boat, so I'm relieved.",
    ],
)
def test_statements_that_say_the_same_are_never_cause_and_effect(text: str) -> None:
    older = memory(1, f"Ana said on 8 May 2023: “{text}”", made_by="local")
    (found,) = local_relate([Pair(older, 0, _new(f"Ana said on 15 May 2023: “{text}”"), 1.0)])
    assert found.relation in (Relation.SAME_TOPIC, None)


def test_statements_without_a_rare_word_in_common_are_not_linked() -> None:
    thanks = memory(1, "Ana said on 8 May 2023: “Thanks, that's great, I had a good time!”")
    newer = _new("Ana said on 15 May 2023: “Thanks, it was a great time, you're so good!”")
    assert local_relate([Pair(thanks, 0, newer, 0.9)])[0].relation is None
    assert local_relate([]) == []


def test_a_part_of_an_earlier_statement_changes_nothing() -> None:
    older = memory(5, "Ana said: “I met Carla in Porto, who no longer sells boats. I was sad.”")
    newer = _new("Ana said: “I met Carla in Porto, who no longer sells boats.”")
    (judgement,) = local_relate([Pair(older, 0, newer, 0.9)])
    assert judgement.relation in (Relation.SAME_TOPIC, None)


def test_a_moved_appointment_is_a_change() -> None:
    older = memory(5, "Ana said: “I have an appointment with Dr. Weber on 12 May.”")
    newer = _new("Ana said: “The appointment with Dr. Weber was moved from 12 May to 3 June.”")
    (judgement,) = local_relate([Pair(older, 0, newer, 0.8)])
    assert judgement.relation is Relation.CHANGED
