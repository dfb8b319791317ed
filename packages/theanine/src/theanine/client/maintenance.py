"""Looking inside a memory and looking after it: what every agent can do beside the path."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from random import Random
from typing import Any

from theanine.client._validation import scope_of
from theanine.clock import Clock
from theanine.embeddings.base import Embedder
from theanine.errors import NotFound
from theanine.llm.chat import Chat
from theanine.methods.base import Context, Method
from theanine.methods.theanine.method import longest_timelines
from theanine.remembering.remember import RememberWorker
from theanine.retrieval.ranking import RankingConfig
from theanine.retrieval.rerank import RerankConfig
from theanine.retrieval.scope_index import ScopeCache
from theanine.store.base import Store
from theanine.store.values import CostLine, ForgetReport, Pending
from theanine.summarization.local_summarize import without_attribution
from theanine.types import Link, Mark, Memory, Scope, Session, Timeline, Turn

REEMBED_BATCH = 512


class MaintenanceMixin:
    """One store, one method, one embedder, perhaps a model."""

    def __init__(
        self,
        store: Store,
        method: Method,
        embedder: Embedder,
        chat: Chat | None,
        clock: Clock,
        seed: int,
        ranking: RankingConfig | None = None,
        reranking: RerankConfig | None = None,
    ) -> None:
        self._store, self._embedder, self._chat = store, embedder, chat
        self._clock, self._seed = clock, seed
        self._ranking, self._reranking = ranking, reranking
        self._use(method)

    def _use(self, method: Method) -> None:
        """Remember and recall by this method."""
        self._method = method
        self._views = ScopeCache(self._store, method.name, self._embedder.name, self._ranking)
        self._rememberer = RememberWorker(
            self._store, method, self._embedder, self._chat, self._views, self._clock, self._seed
        )

    # looking inside

    async def users(self) -> list[Scope]:
        """All scopes that hold anything."""
        return await self._store.scopes()

    async def sessions(
        self, user: str, *, agent: str = "default", tenant: str = "default"
    ) -> list[Session]:
        """The user's sessions in time order. Raises NotFound for an unknown user."""
        scope = await self._known(scope_of(user, agent, tenant))
        return await self._store.sessions(scope, self._method.name)

    async def turns(
        self,
        user: str,
        *,
        session: int | None = None,
        ids: Sequence[int] | None = None,
        agent: str = "default",
        tenant: str = "default",
    ) -> list[Turn]:
        """The user's turns: all, of one session, or of given numbers."""
        scope = await self._known(scope_of(user, agent, tenant))
        return await self._store.turns(scope, session=session, ids=ids)

    async def memories(
        self, user: str, *, agent: str = "default", tenant: str = "default"
    ) -> list[Memory]:
        """The user's memories, in order of number."""
        scope = await self._known(scope_of(user, agent, tenant))
        return await self._store.memories(scope, method=self._method.name)

    async def marks(
        self, user: str, *, agent: str = "default", tenant: str = "default"
    ) -> list[Mark]:
        """The marks on the user's memories that are no longer live, in order of number."""
        scope = await self._known(scope_of(user, agent, tenant))
        return await self._store.marks(scope, method=self._method.name)

    async def links(
        self, user: str, *, agent: str = "default", tenant: str = "default"
    ) -> list[Link]:
        """The links between the user's memories."""
        scope = await self._known(scope_of(user, agent, tenant))
        return await self._store.links(scope, method=self._method.name)

    async def timelines(
        self,
        user: str,
        memory: int | None = None,
        *,
        agent: str = "default",
        tenant: str = "default",
    ) -> list[Timeline]:
        """The longest timeline to each memory that nothing follows, or of one memory's component.

        Raises NotFound for an unknown user or memory.
        """
        context = await self._context(await self._known(scope_of(user, agent, tenant)))
        if memory is not None and memory not in context.index:
            raise NotFound(f"{user} has no memory {memory}; `theanine memories` lists them")
        return longest_timelines(context, memory)

    async def pending(
        self, user: str | None = None, *, agent: str = "default", tenant: str = "default"
    ) -> list[Pending]:
        """Sessions that ended and are not remembered yet."""
        scope = scope_of(user, agent, tenant) if user is not None else None
        return await self._store.pending(self._method.name, scope)

    async def costs(
        self, user: str | None = None, *, agent: str = "default", tenant: str = "default"
    ) -> list[CostLine]:
        """What the language model was asked and what it cost, of one user or of all."""
        return await self._store.costs(scope_of(user, agent, tenant) if user is not None else None)

    # upkeep

    async def warm_up(self, user: str, *, agent: str = "default", tenant: str = "default") -> None:
        """Read what a recall for the user needs; of a large scope, make or load its index too.

        Without it the first recall reads, and recalls are exact while the index is on its way.
        Raises NotFound for an unknown user.
        """
        await self._views.settled(await self._known(scope_of(user, agent, tenant)))

    async def check(self) -> str:
        """What is damaged in the store, in the database's own words; empty when it is sound."""
        return await self._store.check()

    async def stored_embedder(self) -> str:
        """Whose vectors the store holds; empty before the first."""
        found = await self._store.embedder()
        return found[0] if found else ""

    async def forget(
        self,
        user: str,
        *,
        session: int | None = None,
        memory: int | None = None,
        agent: str = "default",
        tenant: str = "default",
    ) -> ForgetReport:
        """Erase a user, a session or one memory from every file. Raises NotFound."""
        scope = scope_of(user, agent, tenant)
        return await self._store.forget(scope, session=session, memory=memory)

    def export(
        self, user: str | None = None, *, agent: str = "default", tenant: str = "default"
    ) -> AsyncIterator[dict[str, Any]]:
        """Everything, as JSON-ready records that :meth:`restore` takes back without loss."""
        return self._store.export(scope_of(user, agent, tenant) if user is not None else None)

    async def restore(self, records: Sequence[Mapping[str, Any]]) -> int:
        """Take in exported records; known ones are left alone. Gives how many were new."""
        return await self._store.restore([dict(record) for record in records])

    async def reembed(self, progress: Callable[[int], None] | None = None) -> int:
        """Move all vectors to this agent's embedder, resumably; gives how many were made.

        ``progress`` is told how many are still to do.
        """
        made = 0
        while True:
            owners, left = await self._store.reembed_batch(self._embedder.name, REEMBED_BATCH)
            if owners:
                vectors = await self._embedder.embed(
                    [without_attribution(text) for _, _, text in owners]
                )
                await self._store.add_vectors(
                    self._embedder.name, [(scope, memory) for scope, memory, _ in owners], vectors
                )
                made += len(owners)
                if progress:
                    progress(left - len(owners))
            elif await self._switched():
                return made

    async def _switched(self) -> bool:
        width = (await self._embedder.embed(["a"])).shape[1]
        return await self._store.use_embedder(self._embedder.name, int(width))

    async def _known(self, scope: Scope) -> Scope:
        if not (await self._store.state(scope)).scope_id:
            known = ", ".join(str(one) for one in (await self._store.scopes())[:10]) or "nobody yet"
            raise NotFound(f"nothing is known of {scope}; this store knows {known}")
        return scope

    async def _context(self, scope: Scope, budget: int | None = None) -> Context:
        view = await self._views.get(scope)
        caller = self._chat.for_scope(scope) if self._chat else None
        if caller:
            caller.epoch = view.state.epoch
        return Context(
            scope=scope,
            chat=caller,
            embedder=self._embedder,
            index=view,
            rng=Random(self._seed),
            budget=budget,
            reranking=self._reranking,
        )
