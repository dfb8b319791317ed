"""Embedders of any provider, through pydantic-ai. Imported only when configured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random
from typing import Any

import anyio
import numpy as np
from pydantic_ai.embeddings import EmbeddingModel, infer_embedding_model
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.embeddings.result import EmbedInputType
from pydantic_ai.providers import Provider, infer_provider

from theanine.embeddings.base import Vectors
from theanine.embeddings.normalize import normalize_rows
from theanine.embeddings.wordllama import sanitize
from theanine.errors import ModelError, ModelRejected
from theanine.llm.limits import Limits
from theanine.llm.provider import (
    call_provider_factory,
    openai_name,
    openai_provider,
    redact_secrets,
    translate_errors,
)
from theanine.llm.retry import retrying

BATCH_TEXTS = 256
BATCH_CHARACTERS = 200_000
LONGEST = 8_000
"""Characters of a text that a remote embedder is sent; within 8,192 tokens in any script."""


class PydanticAIEmbedder:
    """One embedding model by its name, such as ``openai:text-embedding-3-small``.

    Texts are cut at ``LONGEST`` characters and sent in batches; blank ones give a row of zeros.
    Calls are retried within ``limits``; its budgets are not used.

    Raises SettingsError for a name, key or package that is wrong or missing.
    """

    def __init__(
        self, name: str, base_url: str | None = None, *, limits: Limits | None = None
    ) -> None:
        bare = openai_name(name, base_url)
        self._model, self._provider = _embedding_model(name, bare, base_url)
        self._name = name if bare is None else f"openai:{bare}"
        self._address = redact_secrets(self._model.base_url or "")
        self._limits = limits or Limits()
        self._gate = anyio.CapacityLimiter(self._limits.concurrency)
        self._rng = Random()
        self._dimension = 0

    @property
    def name(self) -> str:
        """The full name, always with its provider."""
        return self._name

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in order. The dimension is asked for once, with the first words sent."""
        return await self._embed(texts, "document")

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same, of questions; some providers' models take these otherwise."""
        return await self._embed(texts, "query")

    async def _embed(self, texts: Sequence[str], kind: EmbedInputType) -> Vectors:
        sent = [sanitize(text[:LONGEST]) for text in texts]
        filled = [row for row, text in enumerate(sent) if text.strip()]
        if not filled and not self._dimension:
            await self._batch(["dimension"], kind)
        found = [
            await self._batch([sent[row] for row in rows], kind) for rows in _batches(filled, sent)
        ]
        vectors = np.zeros((len(texts), self._dimension), np.float32)
        if found:
            vectors[filled] = np.concatenate(found)
        return vectors

    async def close(self) -> None:
        """Let go of the HTTP connections."""
        if self._provider is not None:
            async with self._provider:
                pass  # leaving is what closes them

    async def _batch(self, texts: Sequence[str], kind: EmbedInputType) -> Vectors:
        rows = await retrying(
            partial(self._call, texts, kind),
            self._name,
            limits=self._limits,
            gate=self._gate,
            rng=self._rng,
            failed=_unrecorded,
        )
        self._dimension = self._dimension or rows.shape[1]
        if rows.shape != (len(texts), self._dimension) or not np.isfinite(rows).all():
            raise ModelRejected(
                f"{self._name} gave vectors of shape {rows.shape} for {len(texts)} texts, or some "
                f"that are no numbers; expected {self._dimension} numbers each. Is it an embedder?"
            )
        return rows

    async def _call(self, texts: Sequence[str], kind: EmbedInputType) -> Vectors:
        with translate_errors(self._name, self._address):
            result = await self._model.embed(list(texts), input_type=kind)
        try:
            return normalize_rows(np.atleast_2d(np.asarray(result.embeddings, np.float64)))
        except ValueError as error:
            raise ModelRejected(f"{self._name} gave vectors of unequal length") from error


def _embedding_model(
    name: str, bare: str | None, base_url: str | None
) -> tuple[EmbeddingModel, Provider[Any] | None]:
    if bare is not None:
        own = openai_provider(base_url)
        return OpenAIEmbeddingModel(bare, provider=own), own
    made: list[Provider[Any]] = []

    def provider(kind: str) -> Provider[Any]:
        made.append(infer_provider(kind))
        return made[-1]

    model = call_provider_factory(
        lambda: infer_embedding_model(name, provider_factory=provider), name
    )
    return model, made[-1] if made else None


def _batches(rows: Sequence[int], texts: Sequence[str]) -> Iterator[list[int]]:
    batch: list[int] = []
    size = 0
    for row in rows:
        if len(batch) == BATCH_TEXTS or (batch and size + len(texts[row]) > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += len(texts[row])
    if batch:
        yield batch


async def _unrecorded(_error: ModelError, _seconds: float) -> None:
    """Embedders keep no journal: their last error alone reaches the caller."""
