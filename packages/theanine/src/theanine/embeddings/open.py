"""Open embedders and rerankers by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from theanine.embeddings import encoder
from theanine.embeddings.base import Embedder, Reranker
from theanine.embeddings.hashing import HashEmbedder, OverlapReranker
from theanine.embeddings.on_device import OnDeviceEmbedder
from theanine.embeddings.static import StaticEmbedder
from theanine.errors import SettingsError
from theanine.types import LOCAL_MODEL

if TYPE_CHECKING:
    from theanine.llm.limits import Limits

_BUNDLED: dict[str, tuple[str, Callable[[], Embedder]]] = {
    "encoder": (encoder.NAME, encoder.EncoderEmbedder),
    "wordllama": (StaticEmbedder.name, StaticEmbedder),
}
RERANKERS = "cross-encoder:NAME (sentence-transformers) or fastembed:NAME, with a folder or a name"


def best_local() -> str:
    """Return the name of what ``local`` stands for: ``encoder`` where onnxruntime is installed."""
    return "encoder" if encoder.has_runtime() else "wordllama"


def runs_here(embedder: Embedder) -> bool:
    """Whether an embedder is known to run in this process, so that no host is asked."""
    return isinstance(embedder, StaticEmbedder | HashEmbedder | OnDeviceEmbedder)


def open_stored(stored: str) -> Embedder | None:
    """Open the embedder that made a store's vectors, if ``local`` stands for it somewhere.

    Raises SettingsError if it does not run here.
    """
    is_bundled = any(stored == full_name for full_name, _ in _BUNDLED.values())
    return open_embedder(stored) if is_bundled else None


def open_embedder(
    name: str = LOCAL_MODEL, *, base_url: str | None = None, limits: Limits | None = None
) -> Embedder:
    """Open an embedder.

    Args:
        name: ``encoder`` for the fitted encoder, ``wordllama`` for the bundled word vectors,
            ``local`` for the first of the two that runs here;
            ``sentence-transformers:`` or ``fastembed:`` with a folder or a model's name on the
            Hugging Face hub, to run in this process; ``sentence-transformers-dot:`` likewise, for
            models that compare by the inner product, and ``sentence-transformers-euclidean:`` by
            the Euclidean distance; ``hash:`` with a dimension, for tests; else
            ``provider:model``.
        base_url: address of an OpenAI-compatible server.
        limits: retries and concurrency for a provider's model.

    Raises:
        SettingsError: the name is invalid.
        MissingExtra: the library it needs is not installed.
    """
    kind, _, model = name.partition(":")
    if name == LOCAL_MODEL:
        kind = name = best_local()
    if kind in _BUNDLED:
        full_name, make = _BUNDLED[kind]
        if name not in (kind, full_name):
            raise SettingsError(f"this version of theanine has {full_name}, not {name}")
        return make()
    if name.startswith("hash:"):
        if not model.isdecimal() or not 0 < int(model) <= 65_536:
            raise SettingsError(f"{name}: give a dimension after the colon, such as hash:64")
        return HashEmbedder(int(model))
    if kind == "sentence-transformers":
        from theanine.embeddings.sentence_transformers import SentenceTransformersEmbedder

        return SentenceTransformersEmbedder(model)
    if kind == "sentence-transformers-dot":
        from theanine.embeddings.sentence_transformers import DotProductEmbedder

        return DotProductEmbedder(model)
    if kind == "sentence-transformers-euclidean":
        from theanine.embeddings.sentence_transformers import EuclideanEmbedder

        return EuclideanEmbedder(model)
    if kind == "fastembed":
        from theanine.embeddings.fastembed import FastembedEmbedder

        return FastembedEmbedder(model)
    from theanine.llm.open import check_model_name

    check_model_name(name, base_url, "an embedding model")
    from theanine.embeddings.pydantic_ai import PydanticAIEmbedder

    return PydanticAIEmbedder(name, base_url, limits=limits)


def open_reranker(name: str) -> Reranker:
    """Open a reranker.

    Args:
        name: ``cross-encoder:`` or ``fastembed:`` with a folder or a model's name on the Hugging
            Face hub; ``overlap`` counts common words, for tests.

    Raises:
        SettingsError: the name is invalid.
        MissingExtra: the library it needs is not installed.
    """
    kind, _, model = name.partition(":")
    if kind == "cross-encoder":
        from theanine.embeddings.sentence_transformers import CrossEncoderReranker

        return CrossEncoderReranker(model)
    if kind == "fastembed":
        from theanine.embeddings.fastembed import FastembedReranker

        return FastembedReranker(model)
    if name == "overlap":
        return OverlapReranker()
    raise SettingsError(f"{name!r} names no reranker. Give {RERANKERS}")
