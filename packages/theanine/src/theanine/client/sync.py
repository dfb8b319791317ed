"""The synchronous face: the async agent, run on a loop in the background. No logic of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial, wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar
from weakref import finalize

from anyio.from_thread import BlockingPortal, start_blocking_portal

from theanine.client.client import AsyncAgent, AsyncTalk
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


class Talk(_Face):
    """One session with one user: hear, recall, reply; leaving it ends and remembers it."""

    def __init__(self, inner: AsyncTalk, agent: Agent) -> None:
        self.inner, self._agent = inner, agent

    @property
    def portal(self) -> BlockingPortal:
        """The agent's background loop. Raises StoreError once the agent is closed."""
        return self._agent.portal

    @property
    def id(self) -> int | None:
        """The session's number; None before the first turn and after its end."""
        return self.inner.id

    hear = _run(AsyncTalk.hear)
    recall = _run(AsyncTalk.recall)
    reply = _run(AsyncTalk.reply)
    end = _run(AsyncTalk.end)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end(remember=error is None)


class Agent(_Face):
    """A memory over one store, with one method. Made by :func:`theanine.open`."""

    def __init__(self, inner: AsyncAgent) -> None:
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

    recall = _run(AsyncAgent.recall)
    remember = _run(AsyncAgent.remember)
    log = _run(AsyncAgent.log)
    estimate = _run(AsyncAgent.estimate)
    rebuild = _run(AsyncAgent.rebuild)
    users = _run(AsyncAgent.users)
    sessions = _run(AsyncAgent.sessions)
    turns = _run(AsyncAgent.turns)
    memories = _run(AsyncAgent.memories)
    marks = _run(AsyncAgent.marks)
    links = _run(AsyncAgent.links)
    timelines = _run(AsyncAgent.timelines)
    pending = _run(AsyncAgent.pending)
    costs = _run(AsyncAgent.costs)
    warm_up = _run(AsyncAgent.warm_up)
    check = _run(AsyncAgent.check)
    stored_embedder = _run(AsyncAgent.stored_embedder)
    forget = _run(AsyncAgent.forget)
    restore = _run(AsyncAgent.restore)
    reembed = _run(AsyncAgent.reembed)

    def session(
        self, user: str, *, agent: str = "default", tenant: str = "default", speaker: str = ""
    ) -> Talk:
        """A conversation with ``user``; ``speaker`` is how the user is called in it."""
        inner = self.inner.session(user, agent=agent, tenant=tenant, speaker=speaker)
        return Talk(inner, self)

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
    inner: AsyncAgent, portal: BlockingPortal, started: AbstractContextManager[BlockingPortal]
) -> None:
    try:
        portal.call(inner.close)
    finally:
        started.__exit__(None, None, None)
