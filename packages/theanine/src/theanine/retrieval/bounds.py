"""A scope's index within bounds: what was said when and where, and what was known on a day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from theanine.clock import micros
from theanine.embeddings.base import Embedder
from theanine.filters import NO_FILTER, Filter
from theanine.graph import Graph
from theanine.retrieval.candidates import CandidateIndex
from theanine.retrieval.log_index import LogIndex
from theanine.retrieval.query import Query
from theanine.retrieval.scope_index import Mask, RetrievalMode, ScopeIndex
from theanine.store.values import NOTHING_HIDDEN, Hidden
from theanine.types import Mark, Memory, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What was said when and where, and what was known when.

    Attributes:
        since, until: only what was said at or after, and at or before; aware.
        as_of: only what was known then: nothing said later, and no change made later; aware.
        where: only turns and memories whose metadata matches.
        hidden: what is left out because it is about to be erased.
    """

    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    where: Filter = NO_FILTER
    hidden: Hidden = NOTHING_HIDDEN

    def __bool__(self) -> bool:
        """Whether anything is left out."""
        dated = self.since is not None or self.latest is not None
        return dated or bool(self.where) or bool(self.hidden)

    @property
    def latest(self) -> datetime | None:
        """The last moment that is searched; None for no bound."""
        return min((at for at in (self.until, self.as_of) if at is not None), default=None)

    def includes(self, turn: Turn) -> bool:
        """Whether a turn is within the bounds."""
        since, latest = self.since, self.latest
        return (
            (since is None or turn.at >= since)
            and (latest is None or turn.at <= latest)
            and self.where.matches(turn.metadata)
            and not self.hidden.has_turn(turn.id, turn.session)
        )

    def time_mask(self, times: NDArray[np.int64]) -> Mask:
        """Return which of some times, in microseconds since 1970, are within the bounds."""
        mask = np.ones(len(times), bool)
        if self.since is not None:
            mask &= times >= micros(self.since)
        if self.latest is not None:
            mask &= times <= micros(self.latest)
        return mask


async def bound_index(index: ScopeIndex, bounds: Bounds) -> ScopeIndex:
    """Return a view of an index in which nothing outside the bounds exists.

    A memory is in it if nothing that it may tell was said before ``since`` or after ``until`` and
    ``as_of``, and if its metadata matches ``where``; a link, if both of its memories are. With
    ``as_of``, a mark that was made later does not hold yet.
    """
    since, latest = bounds.since, bounds.latest
    if bounds.where:
        await index.read_turn_metadata()
    known_at = index.known_at
    mask = np.ones(len(known_at), bool)
    if latest is not None:
        mask &= known_at <= micros(latest)
    if since is not None:
        mask &= index.times[: len(mask)] >= micros(since)
        candidates = [index.memories[position] for position in np.flatnonzero(mask).tolist()]
        early = await _begun_before(since, candidates, index)
        mask &= ~np.isin(np.arange(len(mask)), early)
    if bounds.where:
        mask &= index.metadata_mask(bounds.where)[: len(mask)]
    if hidden := bounds.hidden:
        memories = index.memories[: len(mask)]
        shown = [not hidden.has_memory(memory.id, memory.session) for memory in memories]
        mask &= np.array(shown, bool)  # an empty list would be one of floats
    return _BoundedIndex(index, mask, bounds)


async def _begun_before(since: datetime, memories: list[Memory], index: ScopeIndex) -> list[int]:
    """Return the positions of the memories that rest on turns from before a time."""
    # A memory of one turn has that turn's time.
    sources = {m.id: _sources(m, index) for m in memories if len(m.source_turns) != 1}
    turns = await index.turns([turn for ids in sources.values() for turn in ids])
    early = {turn.id for turn in turns if turn.at < since}
    return [index.position(memory) for memory, ids in sources.items() if not early.isdisjoint(ids)]


def _sources(memory: Memory, index: ScopeIndex) -> set[int]:
    """Return a memory's source turns or, if it names none, those of what it was made from."""
    if memory.source_turns:
        return set(memory.source_turns)
    ancestors = [index[id] for id in memory.derived_from if id in index]
    return {turn for ancestor in ancestors for turn in _sources(ancestor, index)}


class _BoundedIndex(ScopeIndex):
    """A view that shares everything with the whole index except what the bounds leave out.

    It can be read, not extended. Memories that come after it are not in it.
    """

    def __init__(self, whole: ScopeIndex, mask: Mask, bounds: Bounds) -> None:
        self.__dict__.update(whole.__dict__)
        self._whole, self._mask, self._bounds = whole, mask, bounds
        links = whole.graph.links.values()
        self.graph = Graph(
            link for link in links if self.includes(link.older) and self.includes(link.newer)
        )
        if (as_of := bounds.as_of) is not None:
            marks = whole.marks.items()
            self.marks = {memory: mark for memory, mark in marks if self._held(mark, as_of)}

    def _held(self, mark: Mark, as_of: datetime) -> bool:
        """Whether a mark was made by a time: when what replaced the memory was known."""
        if mark.by is not None and mark.by in self:
            return bool(self.known_at[self.position(mark.by)] <= micros(as_of))
        session = self.sessions.get(mark.session)
        return session is None or session.ended_at is None or session.ended_at <= as_of

    @property
    def whole(self) -> ScopeIndex:
        return self._whole

    def candidate_mask(self, candidates: CandidateIndex) -> Mask:
        mask = self._bounds.time_mask(candidates.times)
        if where := self._bounds.where:
            # A turn has its own metadata; a memory, which has turn 0, is looked up by `includes`.
            mask &= self.turn_metadata.mask(candidates.turns, where) | (candidates.turns == 0)
        if hidden := self._bounds.hidden:
            mask &= not hidden.everything
            mask &= ~np.isin(candidates.turns, [*hidden.turns])
            # Their turns are not all in `turns`: something may have been heard since.
            mask &= ~np.isin(candidates.sessions, [*hidden.sessions])
        return mask

    def includes(self, memory: int) -> bool:
        if memory not in self:  # of an index that was not read in full
            return False
        position = self.position(memory)
        return position < len(self._mask) and bool(self._mask[position])

    async def log(self, embedder: Embedder | None, *, wait: bool = True) -> LogIndex:
        return (await super().log(embedder, wait=wait)).within(self.includes)

    @property
    def live(self) -> Mask:
        return super().live & self._padded_mask

    @property
    def _padded_mask(self) -> Mask:
        """The mask, extended to the memories that came since."""
        return np.pad(self._mask, (0, len(self) - len(self._mask)))

    def search(
        self,
        query: Query,
        k: int,
        mode: RetrievalMode = "hybrid",
        *,
        among: Mask | None = None,
    ) -> list[tuple[Memory, float]]:
        mask = self._padded_mask
        self._check_mask(among)
        return super().search(query, k, mode, among=mask if among is None else mask & among)

    async def all_turns(self) -> list[Turn]:
        return [turn for turn in await super().all_turns() if self._bounds.includes(turn)]

    async def session_turns(self, session: int) -> list[Turn]:
        turns = await super().session_turns(session)
        return [turn for turn in turns if self._bounds.includes(turn)]

    async def recall_times(self) -> dict[int, list[datetime]]:
        recalls = await self._whole.recall_times()
        as_of = self._bounds.as_of
        return {
            memory: [at for at in times if as_of is None or at <= as_of]
            for memory, times in recalls.items()
        }
