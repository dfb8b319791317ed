"""Phase I, step 3: how each older memory stands to the new memory that resembles it.

Three ways to ask the model, one result: a call for each pair with both whole dialogues (the paper),
a call for each new memory with all its candidates, or a call for the whole session.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field, field_validator

from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.methods.theanine.judgement import Judgement, Pair
from theanine.methods.theanine.local_relate import local_relate
from theanine.text.formatting import (
    day_label,
    estimate_tokens,
    format_dated_turns,
    format_day,
    format_turn,
    group_by_day,
    one_line,
)
from theanine.types import Memory, NewMemory, Relation, Turn

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

Relating = Literal["pairs", "memory", "session"]
"""How the model is asked: by pair, by new memory, or by session."""

Dialogue = Callable[[int], Awaitable[Sequence[Turn]]]
"""Gives the turns of a session, by its number."""
Around = Callable[[Sequence[int]], Awaitable[Sequence[Turn]]]
"""Gives turns with the turn before and after each, by their ids, once each, in order."""

NOT_KEPT = "(not kept)"
PAIRS_PER_CALL = 24
SESSION_TOKENS = 12_000
"""A new session that passes this (by a rough upper count) is shown around its memories only."""
NEIGHBOUR_LIMIT = 48
"""Characters shown of a turn that is only a neighbour of a source turn."""

RelationName = Literal[
    "Changed", "Cause", "Reason", "HinderedBy", "React", "Want", "SameTopic", "None"
]
_NAMES = {name.casefold(): name for name in [*(str(relation) for relation in Relation), "None"]}


class _Related(BaseModel):
    explanation: str = Field(description="the evidence, in a few words")
    relation: RelationName

    @field_validator("relation", mode="before")
    @classmethod
    def _spelled(cls, value: object) -> object:
        """Take ``Same Topic`` and ``hindered_by`` for what they mean, and null for None."""
        if value is None:
            return "None"
        plain = "".join(ch for ch in str(value) if ch.isalpha()).casefold()
        return _NAMES.get(plain, value)

    def judgement(self, model: str, prompt: str) -> Judgement:
        """The same as the method keeps it."""
        relation = None if self.relation == "None" else Relation(self.relation)
        return Judgement(
            relation=relation,
            explanation=" ".join(self.explanation.split()),
            made_by=model,
            prompt=prompt,
        )


class PairJudgement(_Related):
    """The model's answer for one pair."""


class NumberedJudgement(_Related):
    """The model's answer for one of several pairs."""

    pair: int = Field(description="the pair's number")


class Judgements(BaseModel):
    """The model's answer for several pairs."""

    judgements: list[NumberedJudgement]


RELATE = load_prompt("theanine.methods.theanine", "relate", 1, Judgements)
RELATE_PAIR = load_prompt("theanine.methods.theanine", "relate-pair", 1, PairJudgement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What the model may be shown beside the pairs.

    Attributes:
        session: number of the session that the new memories come from.
        turns: its turns; empty when it holds ready-made memories only.
        dialogue: gives an earlier session's turns.
        around: gives turns with their neighbours.
        undated: numbers of sessions whose times only keep their order.
    """

    session: int
    turns: Sequence[Turn]
    dialogue: Dialogue
    around: Around
    undated: Collection[int] = ()


async def relate(
    pairs: Sequence[Pair], scene: Scene, *, mode: Relating, caller: ScopedChat | None
) -> list[Judgement]:
    """One judgement for each pair, in the order of ``pairs``.

    Every ``older`` comes from an earlier session. Without a caller the local version works, which
    ignores ``mode``. Raises ModelError when the model fails or keeps answering unusably.
    """
    if caller is None:
        return local_relate(pairs)
    if mode == "pairs":
        return await gather([partial(_ask_pair, pair, scene, caller) for pair in pairs])
    batches = [partial(_ask_batch, batch, scene, caller) for batch in _batches(pairs, mode)]
    return [judgement for batch in await gather(batches) for judgement in batch]


def _batches(pairs: Sequence[Pair], mode: Relating) -> list[list[Pair]]:
    """Consecutive pairs, at most ``PAIRS_PER_CALL``; with "memory" of one new memory only."""
    if mode == "session":
        groups = [list(pairs)]
    else:
        groups = [list(group) for _, group in groupby(pairs, key=lambda pair: pair.newer_index)]
    step = PAIRS_PER_CALL
    return [group[i : i + step] for group in groups for i in range(0, len(group), step)]


async def _ask_pair(pair: Pair, scene: Scene, caller: ScopedChat) -> Judgement:
    earlier = await scene.dialogue(pair.older.session)
    answer = await caller.ask(
        RELATE_PAIR,
        source_sessions={pair.older.session, scene.session},
        older_session=format_dated_turns(earlier) or NOT_KEPT,
        newer_session=format_dated_turns(scene.turns) or NOT_KEPT,
        older=_statement(pair.older, pair.older.session, scene),
        newer=_statement(pair.newer, scene.session, scene),
    )
    return answer.judgement(caller.model, RELATE_PAIR.label)


async def _ask_batch(pairs: Sequence[Pair], scene: Scene, caller: ScopedChat) -> list[Judgement]:
    older = sorted({pair.older.id: pair.older for pair in pairs}.values(), key=lambda m: m.order)
    newer = list({pair.newer_index: pair.newer for pair in pairs}.values())
    context = await scene.around(sorted({turn for memory in older for turn in memory.source_turns}))
    touched = {memory.session for memory in older} | {turn.session for turn in context}
    answer = await caller.ask(
        RELATE,
        source_sessions=touched | {scene.session},
        check=partial(_unanswered, len(pairs)),
        earlier=_earlier(older, context, scene),
        session=format_dated_turns(_shown(scene.turns, newer)) or NOT_KEPT,
        new=_labelled("N", newer, [(scene.session, "")] * len(newer), scene),
        pairs=_pair_lines(pairs, older),
    )
    found = {one.pair: one for one in answer.judgements}
    return [found[i].judgement(caller.model, RELATE.label) for i in range(1, len(pairs) + 1)]


def _statement(memory: Memory | NewMemory, session: int, scene: Scene) -> str:
    return format_day(memory.at, session not in scene.undated) + one_line(memory.text)


def _earlier(older: Sequence[Memory], context: Sequence[Turn], scene: Scene) -> str:
    """Each older memory, then the turns behind them all, once each, in order."""
    sources = {source for memory in older for source in memory.source_turns}
    numbers = {turn.id: number for number, turn in enumerate(context, 1)}
    behind = [
        [str(numbers[source]) for source in memory.source_turns if source in numbers]
        for memory in older
    ]
    marks = [
        (memory.session, f" [{','.join(shown)}]" if shown else "")
        for memory, shown in zip(older, behind, strict=True)
    ]
    lines = [_labelled("M", older, marks, scene)]
    for turn in context:
        limit = None if turn.id in sources else NEIGHBOUR_LIMIT
        lines.append(f"[{numbers[turn.id]}] {one_line(format_turn(turn), limit)}")
    return "\n".join(lines)


def _labelled(
    letter: str,
    memories: Sequence[Memory | NewMemory],
    marks: Sequence[tuple[int, str]],
    scene: Scene,
) -> str:
    """``M1 statement [its turns]`` under its day; ``marks`` are each one's session and turns."""
    return group_by_day(
        (
            day_label(memory.at, session not in scene.undated),
            f"{letter}{label} {one_line(memory.text)}{mark}",
        )
        for label, (memory, (session, mark)) in enumerate(zip(memories, marks, strict=True), 1)
    )


def _pair_lines(pairs: Sequence[Pair], older: Sequence[Memory]) -> str:
    m = {memory.id: label for label, memory in enumerate(older, 1)}
    n: dict[int, int] = {}
    lines: list[str] = []
    for number, pair in enumerate(pairs, 1):
        label = n.setdefault(pair.newer_index, len(n) + 1)
        lines.append(f"{number}: M{m[pair.older.id]} N{label}")
    return "\n".join(lines)


def _shown(session: Sequence[Turn], newer: Sequence[NewMemory]) -> Sequence[Turn]:
    """The session, or of a very long one the turns around these memories' sources."""
    if sum(estimate_tokens(turn.full_text) + 10 for turn in session) <= SESSION_TOKENS:
        return session
    sources = {source for memory in newer for source in memory.source_turns}
    places = [place for place, turn in enumerate(session) if turn.id in sources]
    near = {place + step for place in places for step in (-1, 0, 1)}
    return [turn for place, turn in enumerate(session) if place in near]


def _unanswered(count: int, answer: Judgements) -> str | None:
    """What is wrong with the pair numbers of an answer, in words; None when nothing is."""
    given = [one.pair for one in answer.judgements]
    missing = [number for number in range(1, count + 1) if number not in given]
    if missing:
        return f"no judgement for pairs {missing}"
    if strange := sorted({number for number in given if not 1 <= number <= count}):
        return f"there are no pairs {strange}, only 1 to {count}"
    if doubled := sorted({number for number in given if given.count(number) > 1}):
        return f"more than one judgement for pairs {doubled}"
    return None
