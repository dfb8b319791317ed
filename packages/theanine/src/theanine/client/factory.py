"""Put an agent together from names: a store, a method, a model, an embedder."""

from __future__ import annotations

from theanine.client._validation import check_names
from theanine.client.client import AsyncClient
from theanine.client.sync import Client
from theanine.clock import Clock, system_clock
from theanine.embeddings.open import open_embedder, open_reranker
from theanine.llm.limits import Limits
from theanine.llm.open import open_chat
from theanine.methods.registry import open_method
from theanine.retrieval.ranking import RankingConfig
from theanine.retrieval.rerank import DEFAULT_RERANK_DEPTH, RerankConfig
from theanine.store import open_store


def aopen(
    location: str = "memory.db",
    *,
    method: str | None = None,
    model: str = "local",
    embedder: str = "local",
    reranker: str | None = None,
    base_url: str | None = None,
    limits: Limits | None = None,
    config: object = None,
    ranking: RankingConfig | None = None,
    reranked: int = DEFAULT_RERANK_DEPTH,
    seed: int = 0,
    clock: Clock = system_clock,
) -> AsyncClient:
    """A memory, to be entered with ``async with``.

    Args:
        location: a file, made if it isn't there.
        method: how to remember; ``theanine.methods.registry.names()`` lists the ways. None is the
            store's own: the first that remembered there, or the one that a rebuild put instead;
            ``theanine`` for a new store.
        model: a chat model such as ``openai:gpt-4o-mini``; ``local`` needs none.
        embedder: an embedder such as ``openai:text-embedding-3-small``; ``local`` is bundled.
        reranker: a cross-encoder such as ``cross-encoder:PATH``, which reads the question beside
            each of the best memories and puts them in order; None leaves them as they were found.
        base_url: of an OpenAI-compatible server, for the model.
        limits: retries, time-outs and budgets of the model.
        config: the method's settings: its config object, such as ``TheanineConfig``, or settings
            by name.
        ranking: the weights of the kinds of evidence that ``hybrid`` retrieval adds up.
        reranked: how many of the best memories the reranker reads.
        seed: of whatever the method draws; the same seed gives the same recollection.
        clock: gives the present time.

    Raises SettingsError for unknown names and MissingExtra for a part that isn't installed; on
    entering, NotAStore for a file that is no store.
    """
    check_names(location=location, model=model, embedder=embedder)
    return AsyncClient(
        open_store(location),
        None if method is None else open_method(method, config),
        open_embedder(embedder),
        open_chat(model, base_url=base_url),
        config=config,
        limits=limits,
        clock=clock,
        seed=seed,
        ranking=ranking,
        reranking=RerankConfig(reranker=open_reranker(reranker), top=reranked)
        if reranker
        else None,
    )


def open(
    location: str = "memory.db",
    *,
    method: str | None = None,
    model: str = "local",
    embedder: str = "local",
    reranker: str | None = None,
    base_url: str | None = None,
    limits: Limits | None = None,
    config: object = None,
    ranking: RankingConfig | None = None,
    reranked: int = DEFAULT_RERANK_DEPTH,
    seed: int = 0,
    clock: Clock = system_clock,
) -> Client:
    """The same as :func:`aopen`, opened at once, without ``await``; ``close()`` it at the end."""
    return Client(
        aopen(
            location,
            method=method,
            model=model,
            embedder=embedder,
            reranker=reranker,
            base_url=base_url,
            limits=limits,
            config=config,
            ranking=ranking,
            reranked=reranked,
            seed=seed,
            clock=clock,
        )
    )
