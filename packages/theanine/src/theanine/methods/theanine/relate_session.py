"""Relate the statements of a session to all earlier ones and to each other, by one question.

Beyond the paper, which asks about pairs. The model is shown what was remembered before, as far as
it fits, and names what belongs together; for a change it also says what holds now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, Field, field_validator

from theanine.clock import micros
from theanine.embeddings.base import Vectors
from theanine.llm.bounds import ReplyBounds, one_of
from theanine.llm.gather import gather
from theanine.llm.itemized import ItemizedReply
from theanine.llm.prompt import load_prompt
from theanine.methods.shared.pairs import format_labeled
from theanine.methods.theanine.relate import SOURCE_LIMIT, with_sources
from theanine.retrieval.scope_index import ScopeIndex
from theanine.text.formatting import estimate_tokens, one_line
from theanine.text.words import without_dates
from theanine.types import (
    REPLACED,
    STATE,
    Memory,
    NewLink,
    NewMemory,
    Relation,
    Session,
    Turn,
)

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

EARLIER_TOKENS = 12_000
"""Most tokens of earlier statements in a prompt, by an upper estimate."""
NEW_TOKENS = 6_000
"""Most tokens of new statements with their turns in a prompt, by an upper estimate."""
LINKS_PER_STATEMENT = 3
"""Most links of a reply, for each new statement."""
LINK_TOKENS = 110
"""Tokens that bound a link with its sentence, in indented JSON."""
SENTENCE_LIMIT = 400
"""Most characters of the sentence of what holds now."""
_COMPARED = 500
"""Earlier statements that are compared with each new one without names and dates."""
_LABEL_TOKENS = 8

RelationName = Literal[
    "Changed", "Fulfilled", "Corrected", "Cause", "HinderedBy", "React", "Want", "SameTopic"
]
_NAMES = {str(relation).casefold(): str(relation) for relation in Relation}


class NamedLink(BaseModel):
    """Two statements that belong together."""

    a: str = Field(description="label of the earlier one; of Cause, of what brought b about")
    b: str = Field(description="label of the later one")
    relation: RelationName
    why: str = ""
    now: str = Field("", description="what holds now; only of a change")

    @field_validator("relation", mode="before")
    @classmethod
    def _spelled(cls, value: object) -> object:
        """Accept ``Same Topic`` and ``hindered_by`` for the names."""
        plain = "".join(ch for ch in str(value) if ch.isalpha()).casefold()
        return _NAMES.get(plain, value)

    @field_validator("a", "b", mode="before")
    @classmethod
    def _labeled(cls, value: object) -> object:
        """Accept ``[n 2]`` for the label ``N2``."""
        if not isinstance(value, str):
            return value
        return "".join(ch for ch in value if ch.isalnum()).upper()

    @field_validator("why", "now", mode="before")
    @classmethod
    def _said(cls, value: object) -> object:
        return "" if value is None else value


class SessionLinks(ItemizedReply):
    """The model's reply for one session."""

    links: list[NamedLink]


RELATE_SESSION = load_prompt("theanine.methods.theanine", "relate", 3, SessionLinks)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedSession:
    """What the model named.

    Attributes:
        links: links to new memories.
        states: what holds now, for each change that has a sentence.
        pairs: number of pairs of statements that the model could choose from.
        notes: what could not be used of the replies.
    """

    links: Sequence[NewLink] = ()
    states: Sequence[NewMemory] = ()
    pairs: int = 0
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _New:
    """A new memory and its index in the batch."""

    index: int
    memory: NewMemory


async def relate_session(
    memories: Sequence[NewMemory],
    vectors: Vectors,
    session: Session,
    turns: Sequence[Turn],
    index: ScopeIndex,
    chat: ScopedChat,
) -> RelatedSession:
    """Return the links of a session's memories to earlier ones and to each other.

    An item of a reply that names what was not shown, one statement twice, or a pair that has been
    named already is left out. Raises ModelError when the model fails.
    """
    new = [_New(number, memory) for number, memory in enumerate(memories)]
    earlier = await offer_earlier(memories, vectors, session, index)
    if not new or len(earlier) + len(new) < 2:
        return RelatedSession()
    groups = list(_groups(new, turns))
    replies = await gather(
        [
            partial(ask_session, earlier, [each.memory for each in group], session, turns, chat)
            for group in groups
        ]
    )
    links: list[NewLink] = []
    states: list[NewMemory] = []
    notes: list[str] = []
    pairs = 0
    for group, reply in zip(groups, replies, strict=True):
        pairs += len(earlier) * len(group) + len(group) * (len(group) - 1) // 2
        reader = _Reader(earlier, group, vectors, index, chat.model)
        read = [reader.read(item) for item in reply.links]
        links += [link for link, _ in filter(None, read)]
        states += [state for _, state in filter(None, read) if state]
        unusable = [*reply.unusable, *reader.faults]
        if unusable:
            count = len(reply.links) + len(reply.unusable)
            notes.append(
                f"{RELATE_SESSION.label}: {len(unusable)} of {count} links could not be used: "
                + "; ".join(unusable)
            )
    return RelatedSession(links=links, states=states, pairs=pairs, notes=notes)


async def offer_earlier(
    memories: Sequence[NewMemory],
    vectors: Vectors,
    session: Session,
    index: ScopeIndex,
    limit: int = EARLIER_TOKENS,
) -> list[Memory]:
    """Return the statements of earlier sessions that a prompt has room for, in order of time.

    If not all of them fit, those are taken that are most similar to a new one, names and dates
    aside: most statements of a history name the same people. What a mark says not to hold, or is
    later than all new ones, is left out.
    """
    if not memories:
        return []
    latest = max(micros(memory.at) for memory in memories)
    mask = index.before(session) & index.live & (index.times <= latest)
    positions = np.flatnonzero(mask).tolist()
    earlier = [index.memories[position] for position in positions]
    if sum(map(_tokens, earlier)) > limit:
        masks = np.broadcast_to(mask, (len(memories), len(mask)))
        nearest = index.nearest(vectors, _COMPARED, among=masks)
        earlier = list({memory.id: memory for row in nearest for memory, _ in row}.values())
        texts = [
            [without_dates(each.text) for each in statements] for statements in (earlier, memories)
        ]
        scores = (await index.matter_cosines(*texts)).max(axis=1)
        order: list[int] = np.argsort(-scores, kind="stable").tolist()
        earlier = list(_fitting([earlier[at] for at in order], limit))
    return sorted(earlier, key=lambda memory: memory.order)


def _fitting(memories: Sequence[Memory], limit: int) -> Iterator[Memory]:
    """Yield the first memories, as long as they fit."""
    for memory in memories:
        limit -= _tokens(memory)
        if limit < 0:
            return
        yield memory


def _tokens(memory: Memory | NewMemory) -> int:
    return estimate_tokens(one_line(memory.text)) + _LABEL_TOKENS


def _groups(new: Sequence[_New], turns: Sequence[Turn]) -> Iterator[list[_New]]:
    """Yield new memories in order, as many at once as fit a prompt with their turns."""
    lengths = {turn.id: estimate_tokens(turn.full_text[:SOURCE_LIMIT]) for turn in turns}
    group: list[_New] = []
    used = 0
    for each in new:
        cost = _tokens(each.memory) + sum(lengths.get(id, 0) for id in each.memory.source_turns)
        if group and used + cost > NEW_TOKENS:
            yield group
            group, used = [], 0
        group.append(each)
        used += cost
    yield group


async def ask_session(
    earlier: Sequence[Memory],
    group: Sequence[NewMemory],
    session: Session,
    turns: Sequence[Turn],
    chat: ScopedChat,
) -> SessionLinks:
    """Ask which of some new statements belong to earlier ones and to each other.

    Raises ModelError.
    """
    labels = [f"M{number}" for number in range(1, len(earlier) + 1)]
    own = [f"N{number}" for number in range(1, len(group) + 1)]
    most = LINKS_PER_STATEMENT * len(group)
    new = [(memory, session.dated) for memory in group]
    return await chat.ask(
        RELATE_SESSION,
        source_sessions={session.id, *(memory.session for memory in earlier)},
        bounds=ReplyBounds(
            50 + LINK_TOKENS * most,
            {
                "links": {"maxItems": most},
                "links[].a": one_of([*labels, *own]),
                "links[].b": one_of([*labels, *own]),
                "links[].why": {"maxLength": 120},
                "links[].now": {"maxLength": SENTENCE_LIMIT},
            },
        ),
        earlier=format_labeled("M", ((memory, memory.dated, "") for memory in earlier))
        or "(nothing)",
        new=with_sources("N", new, turns),
    )


class _Reader:
    """Reads the links of one reply.

    Attributes:
        faults: what is wrong with the items that could not be used.
    """

    def __init__(
        self,
        earlier: Sequence[Memory],
        group: Sequence[_New],
        vectors: Vectors,
        index: ScopeIndex,
        model: str,
    ) -> None:
        self._by_label: dict[str, Memory | _New] = {
            f"{letter}{number}": each
            for letter, statements in (("M", earlier), ("N", group))
            for number, each in enumerate(statements, 1)
        }
        self._vectors, self._index, self._model = vectors, index, model
        self._linked = set[frozenset[str]]()
        self.faults: list[str] = []

    def read(self, item: NamedLink) -> tuple[NewLink, NewMemory | None] | None:
        """Return an item as a link and, of a change, what holds now; None if it has a fault."""
        a, b = self._by_label.get(item.a), self._by_label.get(item.b)
        fault = self._fault(item, a, b)
        if fault or a is None or b is None:
            self.faults.append(f"{item.a} {item.relation} {item.b}: {fault}")
            return None
        self._linked.add(frozenset((item.a, item.b)))
        older, newer = (a, b) if _order(a) < _order(b) else (b, a)
        assert isinstance(newer, _New)
        relation = Relation(item.relation)
        if relation is Relation.CAUSE and a is newer:
            relation = Relation.REASON  # the older one is due to the newer
        link = NewLink(
            older=older.index if isinstance(older, _New) else older.id,
            newer=newer.index,
            within_batch=isinstance(older, _New),
            relation=relation,
            explanation=" ".join(item.why.split()),
            similarity=self._similarity(older, newer),
            made_by=self._model,
            prompt=RELATE_SESSION.label,
        )
        now = " ".join(item.now.split())[:SENTENCE_LIMIT]
        is_state = relation in REPLACED and bool(now)
        return link, self._state(now, older, newer) if is_state else None

    def _fault(self, item: NamedLink, a: Memory | _New | None, b: Memory | _New | None) -> str:
        if a is None or b is None:
            return f"{item.a if a is None else item.b} was not shown"
        if a is b:
            return "it is one statement"
        if isinstance(a, Memory) and isinstance(b, Memory):
            return "both are earlier ones"
        if frozenset((item.a, item.b)) in self._linked:
            return "the two are linked already"
        _, newer = sorted((a, b), key=_order)
        return "" if isinstance(newer, _New) else "the one from before was said later"

    def _similarity(self, older: Memory | _New, newer: _New) -> float:
        vector = self._vectors[newer.index]
        if isinstance(older, Memory):
            return self._index.cosine(older.id, vector)
        return float(self._vectors[older.index] @ vector)

    def _state(self, now: str, older: Memory | _New, newer: _New) -> NewMemory:
        """Return the memory that tells what holds now, which rests on both statements."""
        before = older if isinstance(older, Memory) else older.memory
        after = newer.memory
        own = [newer.index]
        if isinstance(older, _New):
            own.insert(0, older.index)
        return NewMemory(
            text=now,
            at=after.at,
            source_turns=tuple(sorted({*before.source_turns, *after.source_turns})),
            speakers=tuple(dict.fromkeys((*after.speakers, *before.speakers))),
            derived_from=(older.id,) if isinstance(older, Memory) else (),
            derived_from_new=tuple(own),
            kind=STATE,
            made_by=self._model,
            prompt=RELATE_SESSION.label,
        )


def _order(statement: Memory | _New) -> tuple[int, bool, int]:
    """Sort key by time; at one time, stored memories come before new ones."""
    if isinstance(statement, Memory):
        return micros(statement.at), False, statement.id
    return micros(statement.memory.at), True, statement.index
