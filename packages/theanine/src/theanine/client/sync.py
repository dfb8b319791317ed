"""The synchronous face: the async agent, run on a loop in the background. No logic of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial, wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar
from weakref import finalize

from anyio.from_thread import BlockingPortal, start_blocking_portal

from theanine.client.client import AsyncClient, AsyncLiveSession
from theanine.errors import StoreError

P = ParamSpec("P")
R = TypeVar("R")


class _Face:
    inner: Any

    @property
    def portal(self) -> BlockingPortal: ...


def _run(
    method: Callable[Concatenate[Any, P], Awaitable[R]],
) -> Callable[Concatenate[Any, P], R]:
    """The same method, waited for."""

    @wraps(method)
    def waited(self: _Face, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.portal.call(partial(method, self.inner, *args, **kwargs))

    return waited


class LiveSession(_Face):
    """One session with one user: hear, recall, reply; leaving it ends and remembers it."""

    def __init__(self, inner: AsyncLiveSession, agent: Client) -> None:
        self.inner, self._agent = inner, agent

    @property
    def portal(self) -> BlockingPortal:
        """The agent's background loop. Raises StoreError once the agent is closed."""
        return self._agent.portal

    @property
    def id(self) -> int | None:
        """The session's number; None before the first turn and after its end."""
        return self.inner.id

    hear = _run(AsyncLiveSession.hear)
    recall = _run(AsyncLiveSession.recall)
    reply = _run(AsyncLiveSession.reply)
    end = _run(AsyncLiveSession.end)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end(remember=error is None)


class Client(_Face):
    """A memory over one store, with one method. Made by :func:`theanine.open`."""

    def __init__(self, inner: AsyncClient) -> None:
        self.inner = inner
        started = start_blocking_portal("asyncio")
        self._portal: BlockingPortal | None = started.__enter__()
        try:
            self._portal.call(inner.__aenter__)
        except BaseException:
            started.__exit__(None, None, None)
            raise
        # Also when the program ends, or drops the agent, without closing it: it would hang.
        self._closing = finalize(self, _close, inner, self._portal, started)

    @property
    def portal(self) -> BlockingPortal:
        """The background loop. Raises StoreError once the agent is closed."""
        if self._portal is None:
            raise StoreError(f"this agent is closed; open {self.location} again")
        return self._portal

    location = property(lambda self: str(self.inner.location), doc="Where the store is.")
    method_name = property(lambda self: str(self.inner.method_name), doc="The method's id.")
    model_name = property(lambda self: str(self.inner.model_name), doc="The model, or `local`.")
    embedder_name = property(lambda self: str(self.inner.embedder_name), doc="The embedder.")
    reranker_name = property(lambda self: str(self.inner.reranker_name), doc="Empty for none.")

    recall = _run(AsyncClient.recall)
    remember = _run(AsyncClient.remember)
    log = _run(AsyncClient.log)
    estimate = _run(AsyncClient.estimate)
    rebuild = _run(AsyncClient.rebuild)
    users = _run(AsyncClient.users)
    sessions = _run(AsyncClient.sessions)
    turns = _run(AsyncClient.turns)
    memories = _run(AsyncClient.memories)
    marks = _run(AsyncClient.marks)
    links = _run(AsyncClient.links)
    timelines = _run(AsyncClient.timelines)
    pending = _run(AsyncClient.pending)
    costs = _run(AsyncClient.costs)
    warm_up = _run(AsyncClient.warm_up)
    check = _run(AsyncClient.check)
    stored_embedder = _run(AsyncClient.stored_embedder)
    forget = _run(AsyncClient.forget)
    restore = _run(AsyncClient.restore)
    reembed = _run(AsyncClient.reembed)

    def session(
        self, user: str, *, agent: str = "default", tenant: str = "default", speaker: str = ""
    ) -> LiveSession:
        """A conversation with ``user``; ``speaker`` is how the user is called in it."""
        inner = self.inner.session(user, agent=agent, tenant=tenant, speaker=speaker)
        return LiveSession(inner, self)

    def export(
        self, user: str | None = None, *, agent: str = "default", tenant: str = "default"
    ) -> Iterator[dict[str, Any]]:
        """Everything, as JSON-ready records that :meth:`restore` takes back without loss."""
        records = self.inner.export(user, agent=agent, tenant=tenant)
        while True:
            try:
                yield self.portal.call(records.__anext__)
            except StopAsyncIteration:
                return

    def close(self) -> None:
        """Let go of the store and of the background loop. A second call does nothing."""
        self._portal = None
        self._closing()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _close(
    inner: AsyncClient, portal: BlockingPortal, started: AbstractContextManager[BlockingPortal]
) -> None:
    try:
        portal.call(inner.close)
    finally:
        started.__exit__(None, None, None)
