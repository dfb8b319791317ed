"""Embedders and rerankers by name."""

from __future__ import annotations

from theanine.embeddings.base import Embedder, Reranker
from theanine.errors import SettingsError
from theanine.llm.limits import Limits
from theanine.llm.open import check_model_name
from theanine.types import LOCAL_MODEL

RERANKERS = "cross-encoder:NAME (sentence-transformers) or fastembed:NAME, with a folder or a name"


def open_embedder(
    name: str = LOCAL_MODEL, *, base_url: str | None = None, limits: Limits | None = None
) -> Embedder:
    """The embedder of this name; ``local`` and ``wordllama:l2_supercat_256`` are the built-in one.

    ``sentence-transformers:`` and ``fastembed:`` go before the path of a folder that holds a model,
    or before the model's name on the hub; these run in this process.

    Raises as :func:`open_chat` does.
    """
    if name == LOCAL_MODEL or name.startswith("wordllama:"):
        from theanine.embeddings.static import StaticEmbedder

        if name not in (LOCAL_MODEL, StaticEmbedder.name):
            raise SettingsError(f"the only built-in embedder is {StaticEmbedder.name}, not {name}")
        return StaticEmbedder()
    if name.startswith("hash:"):
        return _hash_embedder(name)
    kind, _, model = name.partition(":")
    if kind == "sentence-transformers":
        from theanine.embeddings.sentence_transformers import SentenceTransformersEmbedder

        return SentenceTransformersEmbedder(model)
    if kind == "fastembed":
        from theanine.embeddings.fastembed import FastembedEmbedder

        return FastembedEmbedder(model)
    check_model_name(name, base_url, "an embedding model")
    from theanine.embeddings.pydantic_ai import PydanticAIEmbedder

    return PydanticAIEmbedder(name, base_url, limits=limits)


def open_reranker(name: str) -> Reranker:
    """The reranker of this name: ``cross-encoder:`` or ``fastembed:`` and a folder or a hub's name;
    ``overlap`` counts common words and is for tests.

    Raises SettingsError for a name that makes no sense, MissingExtra for a library that isn't here.
    """
    kind, _, model = name.partition(":")
    if kind == "cross-encoder":
        from theanine.embeddings.sentence_transformers import CrossEncoderReranker

        return CrossEncoderReranker(model)
    if kind == "fastembed":
        from theanine.embeddings.fastembed import FastembedReranker

        return FastembedReranker(model)
    if name == "overlap":
        from theanine.testing.scripted import OverlapReranker

        return OverlapReranker()
    raise SettingsError(f"{name!r} names no reranker. Give {RERANKERS}")


def _hash_embedder(name: str) -> Embedder:
    from theanine.testing.scripted import HashEmbedder

    dimension = name.removeprefix("hash:")
    if not dimension.isdecimal() or not 0 < int(dimension) <= 65_536:
        raise SettingsError(f"{name}: give a dimension after the colon, such as hash:64")
    return HashEmbedder(int(dimension))
