"""Exact search: every turn of a scope that has some words, held in memory by word."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import anyio
import numpy as np
from anyio import to_thread
from numpy.typing import NDArray

from theanine.folding import fold
from theanine.retrieval.bounds import Bounds
from theanine.retrieval.growing_array import GrowingArray
from theanine.store.base import Store
from theanine.store.values import ScopeVersion, TurnText
from theanine.types import Scope

BATCH = 20_000
"""Turns read at once."""
MOST_TURNS = 1_000_000
"""Turns of all scopes that a process holds; each takes some 100 bytes."""


NO_BOUNDS = Bounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSearch:
    """What turns an exact search is for.

    Attributes:
        words: text whose words each turn has, folded, in any order; a part of a word counts.
        speaker, session: only turns of this speaker or session; None for all.
        oldest_first: whether the oldest come first, instead of the newest.
        bounds: of time, metadata, and what is hidden.
    """

    words: str
    speaker: str | None = None
    session: int | None = None
    oldest_first: bool = False
    bounds: Bounds = NO_BOUNDS


class WordIndex:
    """The words of the turns of one scope, and when and by whom each was said."""

    def __init__(self, store: Store, scope: Scope, epoch: tuple[int, int]) -> None:
        self.epoch = epoch
        self._store, self._scope = store, scope
        self._lock = anyio.Lock()
        self._last = 0
        self._words: dict[str, int] = {}
        self._speakers: dict[str, int] = {}
        self._ids: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._sessions: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._times: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._spoken_by: GrowingArray[np.int32] = GrowingArray(np.int32)
        # Pairs of a word and the row of a turn that has it.
        self._numbers: GrowingArray[np.int32] = GrowingArray(np.int32)
        self._rows: GrowingArray[np.int32] = GrowingArray(np.int32)

    def __len__(self) -> int:
        return len(self._ids)

    async def extend(self, upto: int) -> None:
        """Read the turns that were logged up to a number."""
        async with self._lock:
            for after in range(self._last, upto, BATCH):
                last = min(after + BATCH, upto)
                turns = await self._store.turn_texts(self._scope, after=after, upto=last)
                await to_thread.run_sync(self._add, turns)
                self._last = last

    def find(self, wanted: WordSearch) -> list[int]:
        """Return the ids of the turns, in order of time. The filter by metadata is left out."""
        bounds, sessions = wanted.bounds, self._sessions.values
        if bounds.hidden.everything:
            return []
        mask = bounds.time_mask(self._times.values)
        if bounds.hidden:
            mask &= ~np.isin(sessions, [*bounds.hidden.sessions])
            mask &= ~np.isin(self._ids.values, [*bounds.hidden.turns])
        if wanted.session is not None:
            mask &= sessions == wanted.session
        if wanted.speaker is not None:
            mask &= self._spoken_by.values == self._speakers.get(wanted.speaker, -1)
        for word in set(fold(wanted.words).split()):
            mask &= self._with(word)
        rows = np.flatnonzero(mask)
        ordered = rows[np.lexsort((self._ids.values[rows], self._times.values[rows]))]
        found: list[int] = self._ids.values[ordered].tolist()
        return found if wanted.oldest_first else found[::-1]

    def _with(self, part: str) -> NDArray[np.bool_]:
        """Return the mask of the turns that have a word with this part."""
        is_meant = np.fromiter((part in word for word in self._words), bool, len(self._words))
        mask = np.zeros(len(self), bool)
        mask[self._rows.values[is_meant[self._numbers.values]]] = True
        return mask

    def _add(self, turns: Sequence[TurnText]) -> None:
        words, first = self._words, len(self)
        numbers: list[int] = []
        counts: list[int] = []
        for turn in turns:
            own = set(fold(f"{turn.speaker} {turn.text} {turn.attachment}").split())
            numbers += [words.setdefault(word, len(words)) for word in own]
            counts.append(len(own))
        self._numbers.extend(numbers)
        self._rows.extend(np.repeat(np.arange(first, first + len(turns)), counts))
        speakers = self._speakers
        self._spoken_by.extend([speakers.setdefault(t.speaker, len(speakers)) for t in turns])
        self._sessions.extend([turn.session for turn in turns])
        self._times.extend([turn.at for turn in turns])
        self._ids.extend([turn.id for turn in turns])


class WordIndexes:
    """The indexes that were used last, each read anew after something was erased."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: OrderedDict[Scope, WordIndex] = OrderedDict()

    async def get(self, scope: Scope, state: ScopeVersion) -> WordIndex:
        """Return the index of a scope as of ``state``."""
        epoch = (state.scope_id, state.epoch)
        index = self._held.pop(scope, None)
        if index is None or index.epoch != epoch:
            index = WordIndex(self._store, scope, epoch)
        self._held[scope] = index
        await index.extend(state.turns)
        while sum(map(len, self._held.values())) > MOST_TURNS and len(self._held) > 1:
            self._held.popitem(last=False)
        return index
