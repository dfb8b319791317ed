"""Rerank candidates with a model that reads question and text together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from theanine.embeddings.base import Reranker
from theanine.errors import SettingsError

T = TypeVar("T")

DEFAULT_RERANK_DEPTH = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankConfig:
    """A reranker and its depth.

    Attributes:
        top: number of candidates that it reads; those below keep their order.
    """

    reranker: Reranker
    top: int = DEFAULT_RERANK_DEPTH

    def __post_init__(self) -> None:
        if self.top < 1:
            raise SettingsError(f"the reranker must read at least 1 memory, not {self.top}")

    async def rerank(
        self,
        question: str,
        candidates: Sequence[tuple[T, float]],
        text_of: Callable[[T], str],
    ) -> list[tuple[T, float]]:
        """Return the candidates, best first, with the reranker's scores; ties keep their order.

        Unread candidates follow all read ones, with scores below the lowest by the same distance as
        they had before.
        """
        read, unread = candidates[: self.top], candidates[self.top :]
        texts = [text_of(item) for item, _ in read]
        scores = [float(score) for score in await self.reranker.score(question, texts)]
        order = sorted(range(len(read)), key=lambda i: -scores[i])
        best = [(read[i][0], scores[i]) for i in order]
        if not unread:
            return best
        lowest = best[-1][1]
        shift = lowest - read[-1][1]
        return [*best, *((memory, min(score + shift, lowest)) for memory, score in unread)]
