"""An in-memory index of one scope's memories for retrieval, extended as the store grows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from sys import maxsize
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from theanine.clock import micros
from theanine.embeddings.base import Embedder, Vectors
from theanine.embeddings.static import bundled_embedder
from theanine.filters import Filter
from theanine.graph import Graph, Pair
from theanine.quotes import without_attribution
from theanine.retrieval.candidates import CandidateIndex
from theanine.retrieval.dense import DenseScorer
from theanine.retrieval.growing_array import GrowingArray
from theanine.retrieval.log_index import LogIndex
from theanine.retrieval.metadata_column import MetadataColumn
from theanine.retrieval.okapi import OkapiBM25
from theanine.retrieval.query import Query
from theanine.retrieval.ranking import Ranking, RankingConfig, Unit
from theanine.retrieval.scoring import Scores, inner_products, top_k
from theanine.retrieval.snapshot import SnapshotWriter
from theanine.retrieval.word_rows import WordRows
from theanine.store.base import Store
from theanine.store.values import ScopeVersion
from theanine.store.vectors import stored_vectors
from theanine.types import (
    LIVE_KINDS,
    LOCAL_MODEL,
    PIN_KINDS,
    SPOKEN,
    STATE,
    Link,
    Mark,
    Memory,
    NewLink,
    NewMemory,
    Relation,
    Scope,
    Session,
    Turn,
)

RetrievalMode = Literal["hybrid", "dense", "lexical", "okapi"]
"""All evidence of :mod:`theanine.retrieval.ranking`, cosine alone, BM25 alone, or BM25 as other
programs have it (:mod:`theanine.retrieval.okapi`)."""

Mask = NDArray[np.bool_]

BASE_SIZE = 10
"""Size of an empty index, in memories: some 16 KB, where a memory takes 1.5 to 2."""
BATCH = 1_000
"""Memories read at once: enough to be fast, few enough not to fragment the heap."""


class ScopeIndex:
    """One scope and method: memories, vectors, postings and links as of ``state``.

    A memory has an id, its number in the scope, and a position in the index. Arrays and masks are
    in order of position, like ``memories``.

    Attributes:
        state: the version of the scope that was read.
        memories: in order of id.
        graph: the links between them.
        sessions: by number.
        marks: the latest mark of each memory that is no longer live, by memory id.
        pins: the mark of each pinned memory, by memory id, in the order of pinning.
        turn_metadata: metadata of the turns that :meth:`read_turn_metadata` has read.
    """

    def __init__(
        self,
        store: Store,
        scope: Scope,
        method: str,
        state: ScopeVersion,
        ranking: RankingConfig | None = None,
        snapshots: SnapshotWriter | None = None,
        on_growth: Callable[[ScopeIndex], None] | None = None,
    ) -> None:
        self.scope, self.method, self.state = scope, method, state
        self._on_growth = on_growth
        self.memories: list[Memory] = []
        self.graph = Graph()
        self.sessions: dict[int, Session] = {}
        self.marks: dict[int, Mark] = {}
        self.pins: dict[int, Mark] = {}
        self._store = store
        self._lazy_ranking = Ranking(ranking)
        self._words = WordRows(lambda at: self.memories[at].text)
        self._lacks_vectors = False
        self._log = LogIndex(store, scope, method, ranking, snapshots)
        self._okapi: tuple[NDArray[np.int64], OkapiBM25] | None = None
        self._positions: dict[int, int] = {}
        self._ids: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._session_ids: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._session_starts: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._times: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._kind_codes: dict[str, int] = {}
        self._kinds: GrowingArray[np.int16] = GrowingArray(np.int16)
        self._turns: dict[int, Turn] = {}
        self._recall_times: dict[int, list[datetime]] = {}
        self._known_at: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._metadata = MetadataColumn()
        self.turn_metadata = MetadataColumn()
        # What was read from the store so far: the highest id or the count of each.
        self._read_memories = self._read_sessions = self._read_marks = self._read_recalls = 0

    # Reading from the store

    @classmethod
    async def newest(
        cls, store: Store, scope: Scope, method: str, state: ScopeVersion, turns: int
    ) -> ScopeIndex:
        """Return an index whose log has only the newest turns and memories; it reads no others."""
        index = cls(store, scope, method, state)
        index._log.skip(max(state.turns - turns, 0), max(state.memories - turns, 0))
        await index.read_marks(state)
        return index

    async def extend(self, state: ScopeVersion) -> None:
        """Read what was committed up to ``state``, which must have the same epoch and embedder."""
        # add_sessions may have added later sessions already: read from the last one read here.
        sessions = await self._store.sessions(self.scope, self.method, after=self._read_sessions)
        self.add_sessions(sessions)
        self._read_sessions = max([self._read_sessions, *(session.id for session in sessions)])
        if not self._lacks_vectors:
            vectors = self._lazy_ranking.vectors
            vectors.reserve(len(self.memories) + state.memories - self._read_memories)
        for after in range(self._read_memories, state.memories, BATCH):
            await self._read_batch(after, min(after + BATCH, state.memories))
        self._read_memories = state.memories
        self.state = state

    def add_committed(
        self, memories: Sequence[Memory], vectors: Vectors, links: Iterable[NewLink]
    ) -> None:
        """Add what was just committed to the store, if it follows what was read before.

        Otherwise, :meth:`extend` will read all of it.
        """
        if not memories or memories[0].id != self._read_memories + 1:
            return
        self._add(memories, stored_vectors(vectors))
        self._read_memories = memories[-1].id
        added = [
            Link(
                older=memories[link.older].id if link.within_batch else link.older,
                newer=memories[link.newer].id,
                relation=link.relation,
                explanation=link.explanation,
                similarity=link.similarity,
                made_by=link.made_by,
                prompt=link.prompt,
            )
            for link in links
        ]
        for link in sorted(added, key=lambda link: (link.newer, link.older)):  # as stored ones
            self.graph.add(link)

    async def read_marks(self, state: ScopeVersion) -> None:
        """Read the marks up to ``state``."""
        if state.marks <= self._read_marks:
            return
        marks = await self._store.marks(self.scope, method=self.method, after=self._read_marks)
        for mark in marks:
            if mark.kind in PIN_KINDS:
                self.pins.pop(mark.memory, None)
            if mark.kind == "pinned":
                self.pins[mark.memory] = mark
            elif mark.kind not in LIVE_KINDS:
                self.marks[mark.memory] = mark
        self._read_marks = state.marks

    def has_read(self, state: ScopeVersion) -> bool:
        """Whether all memories of a state were read."""
        return self._read_memories == state.memories

    def add_sessions(self, sessions: Iterable[Session]) -> None:
        """Add sessions or replace known ones by their new state."""
        self.sessions.update({session.id: session for session in sessions})

    async def _read_batch(self, after: int, upto: int) -> None:
        """Read memories with ids in ``(after, upto]``, their vectors and links."""
        store, scope, method = self._store, self.scope, self.method
        memories = await store.memories(scope, method=method, after=after, upto=upto)
        ids, vectors = await store.vectors(scope, method=method, after=after, upto=upto)
        links = await store.links(scope, method=method, after=after, upto=upto)
        # Another task may have added some of them during these reads.
        last = self.memories[-1].id if self.memories else 0
        added = [memory for memory in memories if memory.id > last]
        rows = {memory: row for row, memory in enumerate(ids)}
        if added:
            have = [rows[memory.id] for memory in added if memory.id in rows]
            self._add(added, np.asarray(vectors)[have])
        for link in links:
            if link.older in self and link.newer in self:
                self.graph.add(link)

    async def make_vectors(self, embedder: Embedder) -> None:
        """Make the vectors that memories were committed without, and store them.

        Before it, a search by vectors fails.
        """
        while self._lacks_vectors:
            memories = [*self.memories]
            ids, vectors = await self._store.vectors(self.scope, method=self.method)
            rows = dict(zip(ids, np.asarray(vectors, np.float32), strict=True))
            lacking = [memory for memory in memories if memory.id not in rows]
            for start in range(0, len(lacking), BATCH):
                some = lacking[start : start + BATCH]
                made = await embedder.embed([without_attribution(memory.text) for memory in some])
                owners = [(self.scope, memory.id) for memory in some]
                await self._store.add_vectors(embedder.name, owners, made)
                rows.update(zip([memory.id for memory in some], stored_vectors(made), strict=True))
            if len(memories) == len(self.memories):  # none were added meanwhile
                dense = DenseScorer()
                dense.extend(np.array([rows[memory.id] for memory in memories], np.float32))
                self._lazy_ranking.dense, self._lacks_vectors = dense, False

    def _add(self, memories: Sequence[Memory], vectors: Vectors) -> None:
        for memory in memories:
            self._positions[memory.id] = len(self.memories)
            self.memories.append(memory)
        if len(vectors) < len(memories):
            self._lacks_vectors = True
        if not self._lacks_vectors:
            self._lazy_ranking.dense.extend(np.asarray(vectors, np.float32))
        self._ids.extend([memory.id for memory in memories])
        self._session_ids.extend([memory.session for memory in memories])
        sessions = [self.sessions.get(memory.session) for memory in memories]
        self._session_starts.extend([
            micros(session.started_at) if session else maxsize for session in sessions
        ])  # fmt: skip
        self._times.extend([micros(memory.at) for memory in memories])
        metadata = [(memory.id, memory.metadata) for memory in memories]
        self._metadata.extend(metadata, memories[-1].id)
        codes = self._kind_codes
        self._kinds.extend([codes.setdefault(memory.kind, len(codes)) for memory in memories])

    @property
    def _ranking(self) -> Ranking:
        """The ranking of all memories; their texts are indexed when they are first searched."""
        self.index_texts()
        return self._lazy_ranking

    def index_texts(self) -> None:
        """Index the texts of the memories that were added since the last search."""
        known = len(self._lazy_ranking)
        if known < len(self.memories):
            self._lazy_ranking.extend_units([_unit(memory) for memory in self.memories[known:]])

    # Memories

    def __len__(self) -> int:
        return len(self.memories)

    def __contains__(self, memory: int) -> bool:
        return memory in self._positions

    def __getitem__(self, memory: int) -> Memory:
        return self.memories[self._positions[memory]]

    def position(self, memory: int) -> int:
        """Return the position of a memory."""
        return self._positions[memory]

    @property
    def whole(self) -> ScopeIndex:
        """The index without bounds."""
        return self

    def includes(self, memory: int) -> bool:
        """Whether a memory is within the bounds, if there are any."""
        return memory in self

    def relations(self, memories: Collection[int]) -> Mapping[Pair, Relation | None]:
        """Return the relations of some memories to each other, by older and newer memory."""
        return self.graph.among(memories)

    def order(self, memory: int) -> tuple[datetime, int]:
        """Sort key of memory ids by time."""
        return self[memory].order

    def before(self, session: Session) -> Mask:
        """Return the mask of the memories of earlier sessions, without states of others of them."""
        started, number = micros(session.started_at), self._session_ids.values
        starts: NDArray[np.int64] = self._session_starts.values
        earlier = (starts < started) | ((starts == started) & (number < session.id))
        return earlier & ~self.kind_mask(STATE)

    def cosine(self, memory: int, vector: NDArray[np.float32]) -> float:
        """Return the cosine of a memory's vector and another one of unit norm."""
        row = self._lazy_ranking.vectors.values[[self._positions[memory]]]
        return float(inner_products(row, vector)[0])

    @property
    def times(self) -> NDArray[np.int64]:
        """Time of each memory, in microseconds since 1970."""
        return self._times.values

    @property
    def known_at(self) -> NDArray[np.int64]:
        """Time by which all that each memory may tell was said, in microseconds since 1970.

        That is the time of its last source turn, unless it was made from more: a model had the
        whole session in its prompt, and a digest was made from other memories as well.
        """
        first = len(self._known_at)
        if first == len(self):
            return self._known_at.values
        known: list[int] = self._known_at.values.tolist()
        for memory in self.memories[first:]:
            times = [micros(memory.at)]
            if memory.derived_from or memory.made_by != LOCAL_MODEL:
                times.append(micros(memory.session_ended_at))
            times += [known[self._positions[id]] for id in memory.derived_from if id in self]
            known.append(max(times))
        self._known_at.extend(known[first:])
        return self._known_at.values

    @property
    def live(self) -> Mask:
        """Mask of the memories without a mark."""
        mask = np.ones(len(self), bool)
        mask[[self._positions[memory] for memory in self.marks if memory in self]] = False
        return mask

    def metadata_mask(self, where: Filter) -> Mask:
        """Return the mask of the memories whose metadata matches a filter."""
        return self._metadata.mask(self._ids.values, where)

    @property
    def corrected(self) -> dict[int, int | None]:
        """The memories that the caller corrected, and those that replace them."""
        return {m: mark.by for m, mark in self.marks.items() if mark.kind == "corrected"}

    def _without_corrected(self, among: Mask | None) -> Mask | None:
        """Return a mask without the memories that the caller corrected."""
        corrected = [self._positions[memory] for memory in self.corrected if memory in self]
        if corrected:
            among = np.ones(len(self), bool) if among is None else among.copy()
            among[corrected] = False
        return among

    async def read_memories(self, ids: Iterable[int]) -> list[Memory]:
        """Return memories by id, in order of id, also where the index has read none."""
        wanted = set(ids)
        missing = [memory for memory in wanted if memory not in self]
        stored = await self._store.memories(self.scope, ids=missing) if missing else []
        memories = [self[memory] for memory in wanted.difference(missing)] + stored
        return sorted(memories, key=lambda memory: memory.id)

    def kind_mask(self, *kinds: str) -> Mask:
        """Return the mask of the memories of any of these kinds."""
        codes = [self._kind_codes[kind] for kind in kinds if kind in self._kind_codes]
        return np.isin(self._kinds.values, codes)

    def live_mask(self, *kinds: str) -> Mask:
        """Return the mask of the live memories of any of these kinds, or of any kind at all."""
        return self.live & self.kind_mask(*kinds) if kinds else self.live

    def live_memories(self, *kinds: str) -> list[Memory]:
        """Return the live memories of any of these kinds or, without any, all, as committed."""
        mask = self.live_mask(*kinds)
        return [memory for memory, live in zip(self.memories, mask, strict=True) if live]

    # Search

    @property
    def ranking_config(self) -> RankingConfig:
        """The weights of ``hybrid`` search."""
        return self._lazy_ranking.config

    def without_speakers(self, text: str) -> str:
        """Remove speaker names from the text of a ``hybrid`` query before it is embedded."""
        return self._ranking.without_speakers(text)

    def search(
        self,
        query: Query,
        k: int,
        mode: RetrievalMode = "hybrid",
        *,
        among: Mask | None = None,
    ) -> list[tuple[Memory, float]]:
        """Return the ``k`` best memories with their scores, best first.

        What the caller corrected is not found.

        Args:
            among: mask of the memories to search, ``(memories,)``.
        """
        self._check_mask(among)
        among = self._without_corrected(among)
        if not self.memories:
            return []
        if mode == "dense":
            masks = None if among is None else among[None]
            return self.nearest(query.vector[None], k, among=masks)[0]
        if mode == "okapi":
            return self._search_okapi(query.text, k, among)
        if mode == "lexical":
            scores = self._ranking.lexical.scores(query.text)
        else:
            scores = self._ranking.scores(query)
        if among is not None:
            scores = np.where(among, scores, -np.inf)
        return self._top(scores, k)

    def _search_okapi(self, query: str, k: int, among: Mask | None) -> list[tuple[Memory, float]]:
        """Search some memories, which alone are the documents; the last ones stay indexed."""
        mask = np.ones(len(self), bool) if among is None else among
        positions = np.flatnonzero(mask)
        ids = self._ids.values[positions]
        if self._okapi is None or not np.array_equal(self._okapi[0], ids):
            self._okapi = ids, OkapiBM25([self.memories[at].text for at in positions])
        scores = np.full(len(self), -np.inf, np.float32)
        scores[positions] = self._okapi[1].scores(query)
        return self._top(scores, k)

    def nearest(
        self, vectors: Vectors, k: int, *, among: Mask | None = None
    ) -> list[list[tuple[Memory, float]]]:
        """Return the ``k`` memories of highest cosine to each vector, best first.

        Args:
            vectors: ``(n, d)``, unit norm.
            among: mask of the memories to search for each vector, ``(n, memories)``.
        """
        self._check_mask(among)
        if not self.memories:
            return [[] for _ in vectors]
        results: list[list[tuple[Memory, float]]] = []
        rows = self._lazy_ranking.vectors.values
        for row, vector in enumerate(np.asarray(vectors, np.float32)):
            cosines = inner_products(rows, vector)
            if among is not None:
                cosines[~among[row]] = -np.inf
            results.append(self._top(cosines, k))
        return results

    async def matter_cosines(
        self, texts: Sequence[str], others: Sequence[str]
    ) -> NDArray[np.float32]:
        """Return the cosines of texts by word vectors, ``(texts, others)``.

        The speakers' names are left out: most texts of a scope share some.
        """
        ones, twos = [
            await bundled_embedder().embed([self.without_speakers(text) for text in some])
            for some in (texts, others)
        ]
        return ones @ twos.T

    def associates(
        self, new: Sequence[NewMemory], k: int, *, among: Sequence[Mask]
    ) -> list[list[tuple[Memory, float]]]:
        """Return the ``k`` memories most likely about the matter of each new one, best first.

        Each with the cosine of their word vectors.

        Args:
            among: mask of the memories to search for each new one.
        """
        texts, speakers = [memory.text for memory in new], [memory.speakers for memory in new]
        results: list[list[tuple[Memory, float]]] = []
        for (positions, scores), vector, mask in zip(
            self._ranking.associations(texts, speakers, self._words),
            self._words.vectors(texts),
            among,
            strict=True,
        ):
            self._check_mask(mask)
            allowed = mask[positions]
            positions, scores = positions[allowed], scores[allowed]
            best = positions[top_k(scores, positions, k)]
            cosines: list[float] = inner_products(self._words.rows(best), vector).tolist()
            places: list[int] = best.tolist()
            memories = [self.memories[at] for at in places]
            results.append(list(zip(memories, cosines, strict=True)))
        return results

    def _check_mask(self, mask: Mask | None) -> None:
        if mask is not None and mask.shape[-1] != len(self):
            raise ValueError(
                f"the mask covers {mask.shape[-1]} memories, but the index has {len(self)}: create "
                "it right before use, without an await between"
            )

    def _top(self, scores: Scores, k: int) -> list[tuple[Memory, float]]:
        """Return the best memories with their scores, without those masked by -inf."""
        best = top_k(scores, self._ids.values, k)
        return [(self.memories[at], float(scores[at])) for at in best if np.isfinite(scores[at])]

    def candidate_mask(self, candidates: CandidateIndex) -> Mask | None:
        """Return which candidates of the log are within the bounds; None for all.

        Memories among them are looked up by :meth:`includes`.
        """
        return None

    async def log(self, embedder: Embedder | None, *, wait: bool = True) -> LogIndex:
        """Return the index of the log: all turns so far, and a model's statements.

        Unless ``wait``, see :meth:`LogIndex.searchable`. Without an embedder it may lack any of
        them: only turns and memories by id can be read.
        """
        if embedder is None:
            return self._log
        size = self._log.size
        log = self._log
        if wait:
            await log.read_all(self.state, embedder)
        else:
            log = await log.searchable(self.state, embedder)
        if self._on_growth and self._log.size != size:
            self._on_growth(self)
        return log

    async def prepare_log(self, embedder: Embedder) -> None:
        """Index the log by words, if a recall would have to while its vectors are made."""
        await self._log.prepare(self.state, embedder)

    def cancel_reading(self) -> None:
        """Ask what reads the log in the background to stop: nobody will use it."""
        self._log.cancel_reading()

    async def stop_reading(self) -> None:
        """Stop what reads the log in the background."""
        await self._log.stop_reading()

    # Turns

    async def turns(self, ids: Collection[int]) -> list[Turn]:
        """Return turns by id, in order of id; cached, since turns never change."""
        missing = [turn for turn in ids if turn not in self._turns]
        if missing:
            turns = await self._store.turns(self.scope, ids=missing)
            self._turns.update({turn.id: turn for turn in turns})
        return [self._turns[turn] for turn in sorted(set(ids)) if turn in self._turns]

    async def read_turn_metadata(self) -> None:
        """Read the metadata of the turns so far, for :attr:`turn_metadata`."""
        column, upto = self.turn_metadata, self.state.turns
        if column.last < upto:
            rows = await self._store.turn_metadata(self.scope, after=column.last, upto=upto)
            # Another task may have added some of them during this read.
            column.extend([row for row in rows if row[0] > column.last], max(upto, column.last))

    async def all_turns(self) -> list[Turn]:
        """Return every turn of the user and the assistant in the scope, in order of id."""
        return [turn for turn in await self._store.turns(self.scope) if turn.role in SPOKEN]

    async def session_turns(self, session: int) -> list[Turn]:
        """Return all turns of the user and the assistant in a session, in order of time."""
        turns = await self._store.turns(self.scope, session=session)
        spoken = [turn for turn in turns if turn.role in SPOKEN]
        return sorted(spoken, key=lambda turn: (turn.at, turn.id))

    # Recalls

    async def recall_times(self) -> Mapping[int, Sequence[datetime]]:
        """Return when each memory was in the prompt of a reply, ascending, by memory id."""
        after = self._read_recalls
        if self.state.turns > after:
            turns = await self._store.turns_with_recalls(self.scope, after=after)
            if turns and after == self._read_recalls:  # else another task has added them
                self._read_recalls = turns[-1].id
                for turn in turns:
                    for memory in turn.recalled:
                        self._recall_times.setdefault(memory, []).append(turn.at)
        return self._recall_times

    async def recalled_texts(self, turns: Sequence[Turn]) -> dict[int, str]:
        """Return the texts of the memories recalled for these turns, by memory id.

        Of all methods, since the session may have been held with another one. Erased memories are
        left out.
        """
        ids = {memory for turn in turns for memory in turn.recalled}
        texts = {memory: self[memory].text for memory in ids if memory in self}
        if missing := sorted(ids - set(texts)):
            others = await self._store.memories(self.scope, ids=missing)
            texts.update({memory.id: memory.text for memory in others})
        return texts

    @property
    def read_entries(self) -> int:
        """Turns and memories that recalls from the log have read and keep in main memory."""
        return self._log.read_entries

    def drop_read(self) -> None:
        """Drop these turns and memories."""
        self._log.drop_read()

    @property
    def size(self) -> int:
        """Approximate use of main memory, in memories."""
        return BASE_SIZE + len(self.memories) + len(self._turns) + self._log.size


def _unit(memory: Memory) -> Unit:
    return Unit(
        text=memory.text,
        session=memory.session,
        at=memory.at if memory.dated else None,
        speakers=memory.speakers,
        turn=memory.source_turns[0] if memory.source_turns else 0,
    )
