"""Phase I, step 3: judge the relation of each new memory to the older memories it resembles.

The model is called once for each pair with both dialogues (the paper), once for each new memory
with all its candidates, or once for all pairs of the session. The default method has a question of
its own (:mod:`theanine.methods.theanine.relate_session`), but for what the journal has from before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import BaseModel, Field, field_validator

from theanine.llm.bounds import ReplyBounds
from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.llm.published import labeled
from theanine.methods.shared.pairs import (
    PAIRS_PER_CALL,
    Pair,
    format_labeled,
    format_pairs,
    format_statement,
    pairs_bounds,
    pairs_fault,
    split_pairs,
)
from theanine.methods.theanine.config import Relating
from theanine.methods.theanine.judgement import Judgement
from theanine.methods.theanine.local_relate import local_relate
from theanine.text.formatting import (
    format_dated_turns,
    format_turn,
    one_line,
)
from theanine.types import Memory, NewMemory, Relation, Turn

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

Dialogue = Callable[[int], Awaitable[Sequence[Turn]]]
"""Loads the turns of a session by its number."""
Load = Callable[[Collection[int]], Awaitable[Sequence[Turn]]]
"""Loads turns by id, once each, in order."""

NOT_KEPT = "(not kept)"
SOURCE_LIMIT = 240
"""Characters shown of a turn that supports a statement."""

RelationName = Literal[
    "Changed", "Cause", "Reason", "HinderedBy", "React", "Want", "SameTopic", "None"
]
_NAMES = {name.casefold(): name for name in get_args(RelationName)}


class _Related(BaseModel):
    explanation: str = Field(description="the evidence, in a few words")
    relation: RelationName

    @field_validator("relation", mode="before")
    @classmethod
    def _spelled(cls, value: object) -> object:
        """Accept ``Same Topic`` and ``hindered_by`` for the names, and null for ``None``."""
        if value is None:
            return "None"
        plain = "".join(ch for ch in str(value) if ch.isalpha()).casefold()
        return _NAMES.get(plain, value)

    def judgement(self, model: str, prompt: str) -> Judgement:
        relation = None if self.relation == "None" else Relation(self.relation)
        return Judgement(
            relation=relation,
            explanation=" ".join(self.explanation.split()),
            made_by=model,
            prompt=prompt,
        )


class PairJudgement(_Related):
    """The model's reply for one pair."""


class NumberedJudgement(_Related):
    """The model's reply for one of several pairs."""

    pair: int = Field(description="the pair's number")


class Judgements(BaseModel):
    """The model's reply for several pairs."""

    judgements: list[NumberedJudgement]


RELATE = load_prompt("theanine.methods.theanine", "relate", 2, Judgements)
RELATE_PAIR = load_prompt(
    "theanine.methods.theanine",
    "relate-pair",
    1,
    PairJudgement,
    ReplyBounds(250, {"explanation": {"maxLength": 400}}),
    published=labeled(explanation="Explanation", relation="Relation"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The context that the model may be shown with the pairs.

    Attributes:
        session: number of the session that the new memories come from.
        dated: whether that session's times are real.
        turns: that session's turns; empty when it has imported memories only.
        dialogue: loads an earlier session's turns.
        load: loads turns by id.
        earlier: number of memories among which the older ones were found.
    """

    session: int
    dated: bool = True
    earlier: int = 0
    turns: Sequence[Turn]
    dialogue: Dialogue
    load: Load


async def relate(
    pairs: Sequence[Pair], scene: Scene, *, mode: Relating, chat: ScopedChat | None
) -> list[Judgement]:
    """Return one judgement for each pair, in order.

    Every ``older`` comes from an earlier session. Without a model, :func:`local_relate` judges and
    ``mode`` is ignored. Raises ModelError when the model fails or no reply is usable.
    """
    if chat is None:
        return local_relate(pairs, scene.earlier)
    if mode == "pairs":
        return await gather([partial(_ask_pair, pair, scene, chat) for pair in pairs])
    batches = [partial(_ask_batch, batch, scene, chat) for batch in _batches(pairs, mode)]
    return [judgement for batch in await gather(batches) for judgement in batch]


def _batches(pairs: Sequence[Pair], mode: Relating) -> list[list[Pair]]:
    """Return batches of at most ``PAIRS_PER_CALL``; in mode ``memory``, of one new memory each."""
    if mode == "session":
        groups = [list(pairs)]
    else:
        groups = [list(group) for _, group in groupby(pairs, key=lambda pair: pair.newer_index)]
    step = PAIRS_PER_CALL
    return [group[i : i + step] for group in groups for i in range(0, len(group), step)]


async def _ask_pair(pair: Pair, scene: Scene, chat: ScopedChat) -> Judgement:
    earlier = await scene.dialogue(pair.older.session)
    reply = await chat.ask(
        RELATE_PAIR,
        source_sessions={pair.older.session, scene.session},
        older_session=format_dated_turns(earlier) or NOT_KEPT,
        newer_session=format_dated_turns(scene.turns) or NOT_KEPT,
        older=format_statement(pair.older, pair.older.dated),
        newer=format_statement(pair.newer, scene.dated),
    )
    return reply.judgement(chat.model, RELATE_PAIR.label)


async def is_journalled(pairs: Sequence[Pair], scene: Scene, chat: ScopedChat) -> bool:
    """Whether the journal has the replies about all pairs of a session, of which there are some.

    So it does of a session that was remembered before the default method asked otherwise.
    """
    for batch in _batches(pairs, "session"):
        values, _ = await _values(batch, scene)
        if not await chat.is_journalled(RELATE, **values):
            return False
    return bool(pairs)


async def _values(pairs: Sequence[Pair], scene: Scene) -> tuple[dict[str, Any], set[int]]:
    """Return the values of the prompt for some pairs, and the sessions that they quote."""
    older, newer = split_pairs(pairs)
    sources = await scene.load({turn for memory in older for turn in memory.source_turns})
    values = {
        "earlier": with_sources("M", ((memory, memory.dated) for memory in older), sources),
        "new": with_sources("N", ((memory, scene.dated) for memory in newer), scene.turns),
        "pairs": format_pairs(pairs),
    }
    shown = {memory.session for memory in older} | {turn.session for turn in sources}
    return values, shown | {scene.session}


async def _ask_batch(pairs: Sequence[Pair], scene: Scene, chat: ScopedChat) -> list[Judgement]:
    values, shown = await _values(pairs, scene)
    reply = await chat.ask(
        RELATE,
        source_sessions=shown,
        check=partial(_fault, len(pairs)),
        bounds=pairs_bounds("judgements", len(pairs)),
        **values,
    )
    by_pair = {judgement.pair: judgement for judgement in reply.judgements}
    return [by_pair[n].judgement(chat.model, RELATE.label) for n in range(1, len(pairs) + 1)]


def with_sources(
    letter: str, memories: Iterable[tuple[Memory | NewMemory, bool]], turns: Sequence[Turn]
) -> str:
    """List labeled memories, each turn once, under the first memory that it supports."""
    texts = {turn.id: one_line(format_turn(turn), SOURCE_LIMIT) for turn in turns}
    labeled: list[tuple[Memory | NewMemory, bool, str]] = []
    for memory, dated in memories:
        own = [texts.pop(source) for source in memory.source_turns if source in texts]
        labeled.append((memory, dated, "".join(f"\n  {text}" for text in own)))
    return format_labeled(letter, labeled)


def _fault(count: int, reply: Judgements) -> str | None:
    return pairs_fault([judgement.pair for judgement in reply.judgements], count, "judgement")
