"""A second look at what retrieval found first, by a model that reads question and text together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theanine.embeddings.base import Reranker, score_texts
from theanine.errors import SettingsError
from theanine.types import Memory

DEFAULT_RERANK_DEPTH = 50
Found = list[tuple[Memory, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankConfig:
    """Which reranker reads, and how far down.

    Attributes:
        reranker: rates texts for a question.
        top: how many of the best memories it reads; those after them keep their order.
    """

    reranker: Reranker
    top: int = DEFAULT_RERANK_DEPTH

    def __post_init__(self) -> None:
        if self.top < 1:
            raise SettingsError(f"the reranker must read at least 1 memory, not {self.top}")

    async def rerank(self, question: str, found: Sequence[tuple[Memory, float]]) -> Found:
        """The memories, best first, with the reranker's scores.

        Equal scores keep the order in which they were found. Memories that it did not read come
        after all that it did, as far below the last one as they were found below it.
        """
        read, rest = found[: self.top], found[self.top :]
        texts = [memory.text for memory, _ in read]
        ratings = [float(one) for one in await score_texts(self.reranker, question, texts)]
        order = sorted(range(len(read)), key=lambda i: -ratings[i])
        best = [(read[i][0], ratings[i]) for i in order]
        if not rest:
            return best
        lowest = best[-1][1]
        below = lowest - read[-1][1]
        return [*best, *((memory, min(score + below, lowest)) for memory, score in rest)]
