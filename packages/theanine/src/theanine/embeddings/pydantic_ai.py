"""Embedders of any provider, through pydantic-ai. Imported only when configured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random
from typing import Any

import anyio
import numpy as np
from numpy.typing import NDArray
from pydantic_ai.embeddings import EmbeddingModel, infer_embedding_model
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.embeddings.result import EmbedInputType
from pydantic_ai.providers import Provider, infer_provider

from theanine.embeddings.nonblank import NonblankEmbedder
from theanine.errors import ModelRejected
from theanine.llm.limits import Limits
from theanine.llm.provider import (
    bound_bytes,
    call_provider_factory,
    openai_name,
    openai_provider,
    redact_secrets,
    translate_errors,
)
from theanine.llm.retry import call_with_retries
from theanine.telemetry import model_call

BATCH_TEXTS = 256
BATCH_CHARACTERS = 200_000
MAX_BATCH_BYTES = 64_000_000
"""Maximum bytes of the vectors of a batch; those of 4,096 numbers as JSON take 20 MB."""


class PydanticAIEmbedder(NonblankEmbedder):
    """An embedding model by name, such as ``openai:text-embedding-3-small``.

    Calls are retried within ``limits``; its budgets do not apply.

    Raises SettingsError for a wrong or missing name, key or package.
    """

    def __init__(
        self, name: str, base_url: str | None = None, *, limits: Limits | None = None
    ) -> None:
        super().__init__()
        model_name = openai_name(name, base_url)
        self._model, self._provider = _embedding_model(name, model_name, base_url)
        bound_bytes(self._provider, MAX_BATCH_BYTES)
        self._name = name if model_name is None else f"openai:{model_name}"
        self._address = redact_secrets(self._model.base_url or "")
        self._limits = limits or Limits()
        self._limiter = anyio.CapacityLimiter(self._limits.concurrency)
        self._rng = Random()

    @property
    def name(self) -> str:
        """The full name, always with its provider."""
        return self._name

    async def close(self) -> None:
        """Close the HTTP connections."""
        if self._provider is not None:
            async with self._provider:
                pass  # leaving the context closes them

    def batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Split texts by ``BATCH_TEXTS`` and ``BATCH_CHARACTERS``."""
        batch: list[str] = []
        size = 0
        for text in texts:
            if len(batch) == BATCH_TEXTS or (batch and size + len(text) > BATCH_CHARACTERS):
                yield batch
                batch, size = [], 0
            batch.append(text)
            size += len(text)
        if batch:
            yield batch

    async def embed_batch(self, texts: Sequence[str], *, queries: bool) -> NDArray[Any]:
        """Embed texts with one call and its retries."""
        return await call_with_retries(
            partial(self._call, texts, "query" if queries else "document"),
            self._name,
            limits=self._limits,
            limiter=self._limiter,
            rng=self._rng,
        )

    async def _call(self, texts: Sequence[str], kind: EmbedInputType) -> NDArray[Any]:
        with model_call("embeddings", self._name), translate_errors(self._name, self._address):
            result = await self._model.embed(list(texts), input_type=kind)
        try:
            return np.atleast_2d(np.asarray(result.embeddings, np.float64))
        except (TypeError, ValueError) as error:
            raise ModelRejected(
                f"{self._name} returned vectors of unequal length, or of other than numbers"
            ) from error


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
