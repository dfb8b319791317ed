"""The client of one store.

::

    turn ─► log ─► session ends ─► remember ─► memories + links        session.py, remembering/
                                                      │
    recollection ◄─ budget ◄─ timelines ◄─ retrieval ◄┘◄─ query        user.py, methods/, retrieval/

``aopen(…)`` makes a client; ``client.user("ana")`` is the handle of one user, on which all of
this happens; the client itself does what concerns the whole store.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Self, cast

from theanine.client.arguments import check_arguments
from theanine.client.engine import Engine
from theanine.client.options import OpenOptions, takes_options
from theanine.client.other_names import name_ours
from theanine.client.user import AsyncUserMemory, ScopedOperations
from theanine.client.worker import CONCURRENCY, GRACE, POLL, AsyncWorker
from theanine.methods.registry import method_class
from theanine.quotes import without_attribution
from theanine.remembering.report import LEASE, Progress
from theanine.types import LOCAL_MODEL, Scope

REEMBED_BATCH = 512

_UNCOUNTED = (
    "the export was written by an earlier theanine and has no count of its records, so it may be a "
    "part; compare what was restored, and export the store again"
)
_FORGOTTEN = "users who were left out, because they were forgotten here since the export: {}"


@name_ours(of_client=True)
@check_arguments
class AsyncClient(ScopedOperations):
    """A client of one store, with one memory method. Made by :func:`theanine.aopen`."""

    def __init__(self, options: OpenOptions) -> None:
        super().__init__(Engine(options), None)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.location}: {self.method_name}, {self.model_name}>"

    async def __aenter__(self) -> Self:
        await self._engine.open()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the store and all connections. A second call does nothing."""
        await self._engine.close()

    def user(
        self,
        user: str,
        *,
        name: str = "",
        agent: str = "default",
        tenant: str = "default",
        shared: Sequence[str] = (),
    ) -> AsyncUserMemory:
        """Return the handle of one user.

        Args:
            user: the person, by name or by the application's own id.
            name: the name with which this user's words are logged, and then shown to a model; the
                default is ``user``. Pass it where ``user`` is an id: each line of a recollection
                begins with it.
            agent: the agent that talks with the person; agents share nothing by themselves.
            tenant: the customer whose data is isolated from all others'.
            shared: agents whose memory of this user is recalled from, too. Each part of a
                recollection then names its ``scope``. Nothing is written there, nor listed.

        Raises BadInput for a name that can't be stored.
        """
        scopes = [Scope(user, other, tenant) for other in dict.fromkeys(shared) if other != agent]
        return AsyncUserMemory(self._engine, Scope(user, agent, tenant), scopes, name)

    @property
    def location(self) -> str:
        """The location of the store."""
        return self._engine.store.location

    @property
    def method_name(self) -> str:
        """The method's id; without a named method, known once the client is open."""
        return self._engine.method.name

    @property
    def model_name(self) -> str:
        """The chat model's name; ``local`` when there is none."""
        return self._engine.chat.model.name if self._engine.chat else LOCAL_MODEL

    @property
    def memory_model_name(self) -> str:
        """The name of the chat model that remembers; ``local`` when there is none."""
        chat = self._engine.memory_chat
        return chat.model.name if chat else LOCAL_MODEL

    @property
    def embedder_name(self) -> str:
        """The embedder's name."""
        return self._engine.embedder.name

    @property
    def reranker_name(self) -> str:
        """The reranker's name; empty when there is none."""
        reranking = self._engine.reranking
        return reranking.reranker.name if reranking else ""

    def worker(
        self,
        *,
        poll: float = POLL,
        concurrency: int = CONCURRENCY,
        lease: float = LEASE.total_seconds(),
        grace: float = GRACE,
        progress: Progress | None = None,
    ) -> AsyncWorker:
        """Return a worker that remembers what waits, of all users, when it is run.

        Any number of them, in any number of processes and machines, share a store.

        Args:
            poll: seconds between looks at the database while nothing waits; varies by a quarter.
            concurrency: how many users it remembers at once.
            lease: seconds after which another worker takes over from one that is gone, or that has
                stood still. A longer stop of the whole process costs the session in progress.
            grace: seconds that sessions in progress get after a stop.
            progress: called after each session, in the client's event loop.

        Raises SettingsError for a number out of range.
        """
        return AsyncWorker(
            self._engine,
            poll=poll,
            concurrency=concurrency,
            lease=lease,
            grace=grace,
            progress=progress,
        )

    async def retention(self, *, tenant: str | None = None) -> timedelta | None:
        """Return how long turns are kept for users without a setting of their own.

        That of a tenant, or of the store, which holds for tenants without one.
        """
        return (await self._engine.store.settings(tenant)).retention

    async def set_retention(
        self, retention: timedelta | None, *, tenant: str | None = None
    ) -> None:
        """Set how long turns and memories are kept, for users without a setting of their own.

        Those of a ``tenant``, or of tenants without a setting. What is older is forgotten by the
        next ``remember`` or ``expire``. None keeps what no wider setting expires. Raises
        SettingsError for less than a minute.
        """
        await self._engine.store.set_retention(tenant, retention)

    async def users(self) -> list[Scope]:
        """Return all scopes that hold data."""
        return await self._engine.store.scopes()

    async def check(self) -> str:
        """Return what is damaged in the store, in the database's words; empty when sound."""
        return await self._engine.store.check_integrity()

    async def restore(self, records: Iterable[Mapping[str, Any]], *, partial: bool = False) -> int:
        """Restore exports, and return how many records were new.

        The store gets the state of an export if that is newer than its own, and stays if it is
        older: in whatever order a store's exports come, the latest counts, and what was forgotten
        does not come back.

        ``records`` are read as they are needed, in another thread. All are restored, or none.
        Raises BadInput, naming the record, for one that is malformed; for a user of whom the store
        has anything but an earlier or a later state of the same data; and unless ``partial`` for a
        part of an export. Warns of an export by a theanine before 0.2,
        which does not tell whether it is whole, and of users who were left out. Raises
        SettingsError for records whose default method isn't installed.
        """
        restored = await self._engine.store.restore(_check_method(records), partial=partial)
        await self._engine.restored()
        if restored.uncounted:
            warnings.warn(_UNCOUNTED, stacklevel=2)
        if restored.forgotten:
            warnings.warn(_FORGOTTEN.format(restored.forgotten), stacklevel=2)
        return restored.new

    async def stored_embedder(self) -> str:
        """Return the name of the embedder whose vectors are stored; empty before the first."""
        embedder = await self._engine.store.active_embedder()
        return embedder[0] if embedder else ""

    async def reembed(self, progress: Callable[[int], None] | None = None) -> int:
        """Replace all vectors by this client's embedder's and return how many were made.

        Resumable. ``progress`` is called with how many are left. Then the logs are indexed by the
        new vectors, so that no recall waits for them.
        """
        store, embedder = self._engine.store, self._engine.embedder
        made = 0
        while True:
            owners, left = await store.unembedded_memories(embedder.name, REEMBED_BATCH)
            if owners:
                vectors = await embedder.embed([without_attribution(text) for _, _, text in owners])
                await store.add_vectors(
                    embedder.name, [(scope, memory) for scope, memory, _ in owners], vectors
                )
                made += len(owners)
                if progress:
                    progress(left - len(owners))
                continue
            dimension = (await embedder.embed(["a"])).shape[1]
            if await store.switch_embedder(embedder.name, int(dimension)):
                await self._engine.store_logs(await store.scopes())
                return made


def _check_method(records: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield records; raise SettingsError at a header whose method isn't installed.

    An export of a store that has not remembered anything yet has an empty one.
    """
    from theanine.store.sql.export_codec import current_method

    for record in records:
        # What is no object, the store reports.
        header = isinstance(cast("object", record), Mapping) and record.get("type") == "theanine"
        if header and isinstance(name := record.get("method"), str) and name:
            method_class(current_method(name).partition("~")[0])
        yield record


@takes_options(OpenOptions)
def aopen(options: OpenOptions) -> AsyncClient:
    """Return a client of a store, to be entered with ``async with``."""
    return AsyncClient(options)
