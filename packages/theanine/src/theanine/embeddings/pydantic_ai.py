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

from theanine.embeddings.base import Vectors, normalize_rows
from theanine.errors import ModelRejected
from theanine.llm.limits import Limits
from theanine.llm.provider import (
    call_provider_factory,
    openai_name,
    openai_provider,
    redact_secrets,
    translate_errors,
)
from theanine.llm.retry import call_with_retries
from theanine.tokenizer import sanitize

BATCH_TEXTS = 256
BATCH_CHARACTERS = 200_000
MAX_CHARACTERS = 8_000
"""Characters of a text that are sent; within 8,192 tokens in any script."""


class PydanticAIEmbedder:
    """An embedding model by name, such as ``openai:text-embedding-3-small``.

    Texts are cut at ``MAX_CHARACTERS`` and sent in batches; blank ones give a row of zeros.
    Calls are retried within ``limits``; its budgets do not apply.

    Raises SettingsError for a wrong or missing name, key or package.
    """

    def __init__(
        self, name: str, base_url: str | None = None, *, limits: Limits | None = None
    ) -> None:
        model_name = openai_name(name, base_url)
        self._model, self._provider = _embedding_model(name, model_name, base_url)
        self._name = name if model_name is None else f"openai:{model_name}"
        self._address = redact_secrets(self._model.base_url or "")
        self._limits = limits or Limits()
        self._limiter = anyio.CapacityLimiter(self._limits.concurrency)
        self._rng = Random()
        self._dimension = 0

    @property
    def name(self) -> str:
        """The full name, always with its provider."""
        return self._name

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts. The dimension is learned from the first call."""
        return await self._embed(texts, "document")

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed queries; some providers' models treat these differently."""
        return await self._embed(texts, "query")

    async def _embed(self, texts: Sequence[str], kind: EmbedInputType) -> Vectors:
        texts = [sanitize(text[:MAX_CHARACTERS]) for text in texts]
        nonblank = [row for row, text in enumerate(texts) if text.strip()]
        if not nonblank and not self._dimension:
            await self._embed_batch(["dimension"], kind)
        batches = [
            await self._embed_batch([texts[row] for row in rows], kind)
            for rows in _batches(nonblank, texts)
        ]
        vectors = np.zeros((len(texts), self._dimension), np.float32)
        if batches:
            vectors[nonblank] = np.concatenate(batches)
        return vectors

    async def close(self) -> None:
        """Close the HTTP connections."""
        if self._provider is not None:
            async with self._provider:
                pass  # leaving the context closes them

    async def _embed_batch(self, texts: Sequence[str], kind: EmbedInputType) -> Vectors:
        rows = await call_with_retries(
            partial(self._call, texts, kind),
            self._name,
            limits=self._limits,
            limiter=self._limiter,
            rng=self._rng,
        )
        self._dimension = self._dimension or rows.shape[1]
        if rows.shape != (len(texts), self._dimension) or not np.isfinite(rows).all():
            raise ModelRejected(
                f"{self._name} returned vectors of shape {rows.shape} for {len(texts)} texts, or "
                f"non-finite numbers; expected {self._dimension} numbers each. Is it an embedder?"
            )
        return rows

    async def _call(self, texts: Sequence[str], kind: EmbedInputType) -> Vectors:
        with translate_errors(self._name, self._address):
            result = await self._model.embed(list(texts), input_type=kind)
        try:
            return normalize_rows(np.atleast_2d(np.asarray(result.embeddings, np.float64)))
        except ValueError as error:
            raise ModelRejected(f"{self._name} returned vectors of unequal length") from error


def _embedding_model(
    name: str, openai_model: str | None, base_url: str | None
) -> tuple[EmbeddingModel, Provider[Any] | None]:
    """Return the model and the provider whose connections must be closed."""
    if openai_model is not None:
        openai = openai_provider(base_url)
        return OpenAIEmbeddingModel(openai_model, provider=openai), openai
    providers: list[Provider[Any]] = []

    def make_provider(kind: str) -> Provider[Any]:
        providers.append(infer_provider(kind))
        return providers[-1]

    model = call_provider_factory(
        lambda: infer_embedding_model(name, provider_factory=make_provider), name
    )
    return model, providers[-1] if providers else None


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
