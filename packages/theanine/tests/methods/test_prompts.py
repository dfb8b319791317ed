"""What the model is shown: each prompt whole, what it costs, and that quoted words stay quoted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC
from typing import Any, cast

import pytest

from support.answering import Answering, memory, turn
from support.prompting import ATTACK, check_fences, check_length, check_snapshot, tokens
from theanine.llm.prompt import PromptTemplate
from theanine.methods.shared.pairs import Pair
from theanine.methods.shared.respond import RESPOND, RESPOND_REASONED, respond
from theanine.methods.theanine.choose import CHOOSE, choose
from theanine.methods.theanine.refine import REFINE, REFINE_WHOLE, refine
from theanine.methods.theanine.relate import RELATE, RELATE_PAIR, Scene, relate
from theanine.methods.theanine.relate_session import RELATE_SESSION, ask_session
from theanine.recall.select import Line
from theanine.retrieval.candidates import Candidate
from theanine.retrieval.contents import Content
from theanine.retrieval.scope_index import ScopeIndex
from theanine.summarization import (
    SUMMARIZE,
    SUMMARIZE_KNOWN,
    Known,
    summarize,
    summarize_known,
)
from theanine.types import (
    Link,
    Memory,
    NewMemory,
    Part,
    Recollection,
    Relation,
    Session,
    Timeline,
    Turn,
)

pytestmark = pytest.mark.anyio

STEPS = [
    SUMMARIZE,
    SUMMARIZE_KNOWN,
    RELATE,
    RELATE_SESSION,
    RELATE_PAIR,
    REFINE,
    REFINE_WHOLE,
    RESPOND,
    RESPOND_REASONED,
    CHOOSE,
]
LATER = {REFINE_WHOLE.label, RELATE_SESSION.label, SUMMARIZE_KNOWN.label}
"""Later versions of steps of which an earlier one is asked as well."""
EARLIER = [
    turn(1, "How was the sail?", "Bo"),
    turn(2, "A storm broke our mast near Faro.", shared="a boat without a mast"),
    turn(3, "Oh no!", "Bo"),
]
NOW = [
    turn(4, "I'm terrified of ships now.", session=2),
    turn(5, "You told me about the storm.", "Tea", session=2, role="assistant", recalled=(1,)),
    replace(turn(6, "Next week I take the train.", session=2), at=turn(6, "", session=3).at),
]
STORM = memory(1, "A storm broke the mast of Ana's boat near Faro.", sources=(2,))
NEW = [
    NewMemory(text="Ana is terrified of ships.", at=NOW[0].at.astimezone(UTC), source_turns=(4,)),
    NewMemory(text="Ana plans to take the train.", at=NOW[2].at.astimezone(UTC), source_turns=(6,)),
]
PATH = Timeline(
    memories=(STORM, memory(2, NEW[0].text, session=2, sources=(4,))),
    links=(Link(older=1, newer=2, relation=Relation.REACT),),
    retrieved=2,
)
DIALOGUE = [turn(9, "Shall we book that cruise?", session=4)]
JUDGED = {"pair": 1, "explanation": "fear after the storm", "relation": "React"}


def _name(step: PromptTemplate[Any]) -> str:
    """The step's name, with the version where there are two."""
    return f"{step.name}.v{step.version}" if step.label in LATER else step.name


def _scene(now: Sequence[Turn], earlier: Sequence[Turn]) -> Scene:
    async def dialogue(session: int) -> Sequence[Turn]:
        return earlier if session == 1 else []

    async def load(ids: Collection[int]) -> Sequence[Turn]:
        return [turn for turn in earlier if turn.id in ids]

    return Scene(session=2, turns=now, dialogue=dialogue, load=load)


def _told(earlier: Sequence[Turn]) -> Memory:
    """A statement that says what a turn says, so that it may attack, too."""
    return replace(STORM, text=f"{STORM.text} {earlier[2].text}")


def _line(said: Turn) -> Line:
    """A line of a recollection that is a whole turn."""
    return Line(
        owner=said,
        day="8 May 2023",
        passages=[Candidate(said, (0, len(said.full_text)))],
        content=cast("Content", None),
        tokens=9,
        score=0.0,
        relevance=0.5,
        repetitions=[],
        memories=[],
        note="",
    )


async def _prompt(name: str, earlier: Sequence[Turn], now: Sequence[Turn]) -> str:
    """The prompt of a step over these sessions."""
    answers: dict[str, object] = {
        "summarize": {"statements": []},
        "summarize.v2": {"statements": []},
        "relate.v3": {"links": []},
        "relate": {"judgements": [JUDGED, {**JUDGED, "pair": 2}]},
        "relate-pair": JUDGED,
        "choose": {"lines": []},
        "respond-reasoned": {"rationale": "r", "response": "r"},
    }
    caller = Answering([answers.get(name, "fine")])
    pairs = [Pair(STORM, i, new, 0.5) for i, new in enumerate(NEW)]
    scene = _scene(now, earlier)
    if name == "summarize":
        await summarize(now, caller)
    elif name == "summarize.v2":
        known = Known(people={"Ana": 1, now[0].speaker: 1}, statements=[_told(earlier)])
        await summarize_known(now, caller, known)
    elif name == "relate.v3":
        session = Session(id=2, key="s2", started_at=now[0].at, ended_at=now[-1].at)
        await ask_session([_told(earlier)], NEW, session, now, caller)
    elif name == "relate":
        await relate(pairs, scene, mode="session", chat=caller)
    elif name == "relate-pair":
        await relate(pairs[:1], scene, mode="pairs", chat=caller)
    elif name == "choose":
        lines = [_line(each) for each in earlier]
        await choose(lines, now, "3 June 2023", cast("ScopeIndex", None), caller)
    elif name.startswith("refine"):
        await refine(PATH, now, caller, whole=name == "refine.v2")
    else:
        part = Part(text=f"Ana fears ships. {now[0].text}", memories=PATH.memories, source_turns=())
        recollection = Recollection(query="", parts=(part,))
        await respond(now, recollection, "Tea", caller, rationale=name == "respond-reasoned")
    return caller.asked[0].prompt


@pytest.mark.parametrize("step", STEPS, ids=lambda step: _name(step))
async def test_each_prompt_matches_its_snapshot(step: PromptTemplate[Any]) -> None:
    check_snapshot(_name(step), await _prompt(_name(step), EARLIER, NOW))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: _name(step))
async def test_quoted_text_cannot_leave_its_fence(step: PromptTemplate[Any]) -> None:
    attacked = [replace(turn, text=ATTACK, speaker=f"Ana\n{ATTACK}") for turn in NOW]
    earlier = [replace(turn, text=ATTACK) for turn in EARLIER]
    calm = await _prompt(_name(step), EARLIER, NOW)
    check_fences(calm, await _prompt(_name(step), earlier, attacked))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: _name(step))
def test_instructions_are_short(step: PromptTemplate[Any]) -> None:
    check_length(step)


WORDS = (
    "we finally painted the small kitchen door blue after my sister came over on Sunday"
    " the garden needs rain and our old dog sleeps near the warm oven all day"
).split()


def _said(number: int) -> str:
    """Fifteen words that differ from turn to turn."""
    return " ".join(WORDS[(number * 7 + i * 3) % len(WORDS)] for i in range(15)).capitalize() + "."


async def test_a_session_of_twenty_turns_costs_at_most_4000_prompt_tokens() -> None:
    earlier = [turn(i, _said(i), "Ana" if i % 2 else "Bo") for i in range(1, 61)]
    now = [turn(i, _said(i), "Ana" if i % 2 else "Tea", session=2) for i in range(61, 81)]
    older = [memory(i, f"Ana {_said(i)[:55]}", sources=(7 * i % 59 + 1,)) for i in range(1, 25)]
    new = [
        replace(NEW[0], text=f"Ana {_said(i)[:55]}", source_turns=(60 + i,)) for i in range(1, 9)
    ]
    pairs = [Pair(older[(3 * n + k) % 24], n, new[n], 0.5) for n in range(8) for k in range(3)]
    answer = {"judgements": [{**JUDGED, "pair": n} for n in range(1, 25)]}
    caller = Answering([{"statements": []}, answer])
    await summarize(now, caller)
    await relate(pairs, _scene(now, earlier), mode="session", chat=caller)
    spent = [tokens(call.prompt) for call in caller.asked]
    assert len(spent) == 2
    assert sum(spent) <= 4_000, spent
