"""Chat models, embedders and rerankers by name."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from theanine.errors import MissingExtra, SettingsError
from theanine.memory import LOCAL
from theanine.models.base import ChatModel, Embedder, Reranker
from theanine.models.limits import Limits

if TYPE_CHECKING:
    from theanine.models.pydantic_ai import Structured

KNOWN = (
    "Give local (no language model, the built-in embedder), provider:model such as "
    "openai:gpt-4o-mini or openai:text-embedding-3-small, or a base URL with the model's own name"
)
RERANKERS = "cross-encoder:NAME (sentence-transformers) or fastembed:NAME, with a folder or a name"


def open_chat(
    name: str,
    *,
    base_url: str | None = None,
    temperature: float | None = 0.0,
    max_tokens: int | None = None,
    structured: Structured = "prompt",
) -> ChatModel | None:
    """The chat model of this name; None for ``local``: the local versions of all steps work.

    Takes what :class:`theanine.models.pydantic_ai.PydanticAIChatModel` takes. Raises SettingsError
    for a name that makes no sense, MissingExtra without the ``models`` extra.
    """
    if name == LOCAL and not base_url:
        return None
    _check(name, base_url, "a language model")
    from theanine.models.pydantic_ai import PydanticAIChatModel

    return PydanticAIChatModel(
        name, base_url, temperature=temperature, max_tokens=max_tokens, structured=structured
    )


def open_embedder(
    name: str = LOCAL, *, base_url: str | None = None, limits: Limits | None = None
) -> Embedder:
    """The embedder of this name; ``local`` and ``wordllama:l2_supercat_256`` are the built-in one.

    ``sentence-transformers:`` and ``fastembed:`` go before the path of a folder that holds a model,
    or before the model's name on the hub; these run in this process.

    Raises as :func:`open_chat` does.
    """
    if name == LOCAL or name.startswith("wordllama:"):
        from theanine.models.static import StaticEmbedder

        if name not in (LOCAL, StaticEmbedder.name):
            raise SettingsError(f"the only built-in embedder is {StaticEmbedder.name}, not {name}")
        return StaticEmbedder()
    if name.startswith("hash:"):
        return _hash_embedder(name)
    kind, _, model = name.partition(":")
    if kind == "sentence-transformers":
        from theanine.models.sentence_transformers import SentenceTransformersEmbedder

        return SentenceTransformersEmbedder(model)
    if kind == "fastembed":
        from theanine.models.fastembed import FastembedEmbedder

        return FastembedEmbedder(model)
    _check(name, base_url, "an embedding model")
    from theanine.models.pydantic_ai import PydanticAIEmbedder

    return PydanticAIEmbedder(name, base_url, limits=limits)


def open_reranker(name: str) -> Reranker:
    """The reranker of this name: ``cross-encoder:`` or ``fastembed:`` and a folder or a hub's name;
    ``overlap`` counts common words and is for tests.

    Raises SettingsError for a name that makes no sense, MissingExtra for a library that isn't here.
    """
    kind, _, model = name.partition(":")
    if kind == "cross-encoder":
        from theanine.models.sentence_transformers import CrossEncoderReranker

        return CrossEncoderReranker(model)
    if kind == "fastembed":
        from theanine.models.fastembed import FastembedReranker

        return FastembedReranker(model)
    if name == "overlap":
        from theanine.models.scripted import OverlapReranker

        return OverlapReranker()
    raise SettingsError(f"{name!r} names no reranker. Give {RERANKERS}")


def _hash_embedder(name: str) -> Embedder:
    from theanine.models.scripted import HashEmbedder

    dimension = name.removeprefix("hash:")
    if not dimension.isdecimal() or not 0 < int(dimension) <= 65_536:
        raise SettingsError(f"{name}: give a dimension after the colon, such as hash:64")
    return HashEmbedder(int(dimension))


def _check(name: str, base_url: str | None, purpose: str) -> None:
    provider, colon, model = name.partition(":")
    if not name.strip() or (not base_url and not (provider and colon and model)):
        raise SettingsError(f"{name!r} names no model. {KNOWN}")
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise SettingsError(f"the base URL {base_url!r} must begin with http:// or https://")
    if find_spec("pydantic_ai") is None or find_spec("openai") is None:
        raise MissingExtra("models", purpose)
