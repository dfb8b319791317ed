"""The synchronous API: the async client, run on an event loop in a background thread."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from functools import partial, wraps
from inspect import isawaitable, signature
from threading import Event
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Self,
    TypeVar,
    Unpack,
    cast,
    overload,
)
from weakref import finalize

from anyio.from_thread import BlockingPortal, start_blocking_portal

from theanine.client.client import AsyncClient
from theanine.client.options import OpenOptions, takes_options
from theanine.client.other_names import name_ours
from theanine.client.reply_options import ReplyArguments
from theanine.client.session import WINDOW, AsyncLiveSession
from theanine.client.streaming import AsyncReplyStream
from theanine.client.user import AsyncUserMemory, ScopedOperations
from theanine.client.worker import CONCURRENCY, GRACE, POLL, AsyncWorker
from theanine.errors import StoreError
from theanine.remembering.report import LEASE, Progress
from theanine.store.processes import check_process
from theanine.types import Metadata, Scope

if TYPE_CHECKING:
    from theanine.methods.base import Reply

P = ParamSpec("P")
R = TypeVar("R")
_CANCELLING = 10.0  # seconds that a cancelled call gets to finish what it has begun to write


class _Sync:
    """Base class: ``inner`` is the async object, ``portal`` its event loop."""

    inner: Any

    @property
    def portal(self) -> BlockingPortal: ...

    def __repr__(self) -> str:
        return repr(self.inner).replace("<Async", "<", 1)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in ("inner", "portal")]


def _run(method: Callable[Concatenate[Any, P], Awaitable[R]]) -> Callable[Concatenate[Any, P], R]:
    """Return the synchronous form of an async method."""

    @wraps(method)
    def run(self: _Sync, *args: P.args, **kwargs: P.kwargs) -> R:
        return _result(self.portal, partial(getattr(self.inner, method.__name__), *args, **kwargs))

    return run


def _result(portal: BlockingPortal, call: Callable[[], Awaitable[R]]) -> R:
    """Run a call in the event loop; if the waiting thread is interrupted, cancel it and let it end.

    Otherwise the store could be closed before a lease is released.
    """
    ended = Event()

    async def run() -> R:
        try:
            result = call()
            return await result if isawaitable(result) else cast("R", result)  # or a stream
        finally:
            ended.set()

    future = portal.start_task_soon(run)
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        ended.wait(_CANCELLING)
        raise


def _call(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Return the form of a method that must be called in the event loop."""

    @wraps(method)
    def call(self: _Sync, *args: P.args, **kwargs: P.kwargs) -> R:
        # In a tuple, because the portal would await what can be awaited.
        [result] = self.portal.call(
            lambda: (getattr(self.inner, method.__name__)(*args, **kwargs),)
        )
        return result

    return call


def _iterate(
    method: Callable[Concatenate[Any, P], AsyncIterator[R]],
) -> Callable[Concatenate[Any, P], Iterator[R]]:
    """Return the synchronous form of a method that returns an async iterator."""

    @wraps(method)
    def iterate(self: _Sync, *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        return _values(getattr(self.inner, method.__name__)(*args, **kwargs), self.portal)

    shown = signature(method)
    returns = str(shown.return_annotation).removeprefix("Async")
    setattr(iterate, "__signature__", shown.replace(return_annotation=returns))  # noqa: B010
    return iterate


def _values(values: AsyncIterator[R], portal: BlockingPortal) -> Iterator[R]:
    while True:
        try:
            yield _result(portal, values.__anext__)
        except StopAsyncIteration:
            return


class _Operations(_Sync):
    remember = _run(ScopedOperations.remember)
    start_remembering = _call(ScopedOperations.start_remembering)
    estimate = _run(ScopedOperations.estimate)
    rebuild = _run(ScopedOperations.rebuild)
    expire = _run(ScopedOperations.expire)
    pending = _run(ScopedOperations.pending)
    retry_remembering = _run(ScopedOperations.retry_remembering)
    costs = _run(ScopedOperations.costs)
    export = _iterate(ScopedOperations.export)


class _Handle(_Sync):
    def __init__(self, inner: Any, client: Client) -> None:
        self.inner, self._client = inner, client

    @property
    def portal(self) -> BlockingPortal:
        """The client's event loop. Raises StoreError once the client is closed."""
        return self._client.portal


class ReplyStream(Iterator[str]):
    """The text of a reply, piece by piece: iterate with ``for``.

    The reply begins with the first piece. If it is not read to its end, what was received is logged
    and marked as broken off.
    """

    def __init__(self, inner: AsyncReplyStream, client: Client) -> None:
        self._inner = inner
        self._pieces = _read(inner, client)

    @property
    def reply(self) -> Reply | None:
        """The whole reply, with its recollection and tool calls, once it has ended.

        None before, and for one that was broken off.
        """
        return self._inner.reply

    def close(self) -> None:
        """Break the reply off if it has not ended."""
        self._pieces.close()

    def __next__(self) -> str:
        return next(self._pieces)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _read(stream: AsyncReplyStream, client: Client) -> Generator[str]:
    try:
        yield from _values(stream, client.portal)
    finally:
        if client.is_open:  # else it was broken off when the client closed
            client.portal.call(stream.aclose)


class LiveSession(_Handle):
    """A session with a user; see :class:`AsyncLiveSession`."""

    @property
    def id(self) -> int | None:
        """The session's id; None before the first turn and after its end."""
        return self.inner.id

    @property
    def key(self) -> str | None:
        """The application's key; None for a session of this object's own."""
        return self.inner.key

    @property
    def window(self) -> int | None:
        """Least number of the newest turns that a chat model sees; None is all."""
        return self.inner.window

    hear = _run(AsyncLiveSession.hear)
    say = _run(AsyncLiveSession.say)
    add = _run(AsyncLiveSession.add)
    turns = _run(AsyncLiveSession.turns)
    messages = _run(AsyncLiveSession.messages)
    system = _run(AsyncLiveSession.system)
    recall = _run(AsyncLiveSession.recall)

    @overload
    def reply(
        self,
        *,
        stream: Literal[True],
        at: datetime | None = None,
        **options: Unpack[ReplyArguments],
    ) -> ReplyStream: ...

    @overload
    def reply(
        self,
        *,
        stream: Literal[False] = False,
        at: datetime | None = None,
        **options: Unpack[ReplyArguments],
    ) -> Reply: ...

    @wraps(AsyncLiveSession.reply)
    def reply(self, **options: Any) -> ReplyStream | Reply:
        reply = _result(self.portal, partial(self.inner.reply, **options))
        if isinstance(reply, AsyncReplyStream):
            return ReplyStream(reply, self._client)
        return reply

    end = _run(AsyncLiveSession.end)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        _result(self.portal, partial(self.inner.__aexit__, *exception))


class Worker(_Handle):
    """Remembers what waits in the store, until it is stopped; see :class:`AsyncWorker`."""

    run = _run(AsyncWorker.run)

    def stop(self) -> None:
        """Have :meth:`run` return: sessions in progress are finished within the grace, or released.

        May be called in any thread, and in a signal handler.
        """
        self.inner.stop()

    def responds(self, within: float = 5.0) -> bool:
        """Return whether the worker answers within some seconds, or has not begun."""
        return self.inner.responds(within)

    problem = property(
        lambda self: self.inner.problem, doc="Why nothing is remembered now; empty if all is well."
    )


@name_ours(of_client=False)
class UserMemory(_Handle, _Operations):
    """What is stored for one user (of one agent and tenant), and all that can be done with it.

    A user who has no data yet is an empty memory: lists and recollections are empty.
    """

    @property
    def scope(self) -> Scope:
        """The user, agent and tenant."""
        return self.inner.scope

    @property
    def name(self) -> str:
        """The name with which this user's words are logged."""
        return self.inner.name

    def session(
        self,
        key: str | None = None,
        *,
        speaker: str = "",
        window: int | None = WINDOW,
        metadata: Metadata | None = None,
    ) -> LiveSession:
        """Return a session with the user; see :meth:`AsyncUserMemory.session`."""
        session = self.inner.session(key, speaker=speaker, window=window, metadata=metadata)
        return LiveSession(session, self._client)

    add = _run(AsyncUserMemory.add)
    recall = _run(AsyncUserMemory.recall)
    search = _run(AsyncUserMemory.search)
    explain = _run(AsyncUserMemory.explain)
    reply = _run(AsyncUserMemory.reply)
    log = _run(AsyncUserMemory.log)
    sessions = _run(AsyncUserMemory.sessions)
    turns = _run(AsyncUserMemory.turns)
    memories = _run(AsyncUserMemory.memories)
    marks = _run(AsyncUserMemory.marks)
    links = _run(AsyncUserMemory.links)
    timelines = _run(AsyncUserMemory.timelines)
    profile = _run(AsyncUserMemory.profile)
    cancel_remembering = _run(AsyncUserMemory.cancel_remembering)
    warm_up = _run(AsyncUserMemory.warm_up)
    get = _run(AsyncUserMemory.get)
    history = _run(AsyncUserMemory.history)
    correct = _run(AsyncUserMemory.correct)
    pin = _run(AsyncUserMemory.pin)
    unpin = _run(AsyncUserMemory.unpin)
    settings = _run(AsyncUserMemory.settings)
    set_time_zone = _run(AsyncUserMemory.set_time_zone)
    set_retention = _run(AsyncUserMemory.set_retention)
    forget = _run(AsyncUserMemory.forget)
    forget_all = _run(AsyncUserMemory.forget_all)


@name_ours(of_client=True)
class Client(_Operations):
    """A client of one store, with one memory method. Made by :func:`theanine.open`."""

    def __init__(self, inner: AsyncClient) -> None:
        self.inner = inner
        self._process = os.getpid()
        running = start_blocking_portal("asyncio")
        self._portal: BlockingPortal | None = running.__enter__()
        try:
            self._portal.call(inner.__aenter__)
        except BaseException:
            running.__exit__(None, None, None)
            raise
        # Without this, a program that ends or drops the client without closing it would hang.
        self._closing = finalize(self, _close, self._process, inner, self._portal, running)

    @property
    def portal(self) -> BlockingPortal:
        """The event loop. Raises StoreError once the client is closed, and after a fork."""
        if self._portal is None:
            raise StoreError(f"this client is closed; open {self.location} again")
        check_process(self._process)
        return self._portal

    @property
    def is_open(self) -> bool:
        """Whether the client has not been closed."""
        return self._portal is not None

    location = property(lambda self: str(self.inner.location), doc="The location of the store.")
    method_name = property(lambda self: str(self.inner.method_name), doc="The method's id.")
    model_name = property(lambda self: str(self.inner.model_name), doc="The model, or `local`.")
    memory_model_name = property(
        lambda self: str(self.inner.memory_model_name), doc="The model that remembers, or `local`."
    )
    embedder_name = property(lambda self: str(self.inner.embedder_name), doc="The embedder.")
    reranker_name = property(lambda self: str(self.inner.reranker_name), doc="Empty for none.")

    def user(
        self,
        user: str,
        *,
        name: str = "",
        agent: str = "default",
        tenant: str = "default",
        shared: Sequence[str] = (),
    ) -> UserMemory:
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
        inner = self.inner.user(user, name=name, agent=agent, tenant=tenant, shared=shared)
        return UserMemory(inner, self)

    def worker(
        self,
        *,
        poll: float = POLL,
        concurrency: int = CONCURRENCY,
        lease: float = LEASE.total_seconds(),
        grace: float = GRACE,
        progress: Progress | None = None,
    ) -> Worker:
        """Return a worker that remembers what waits, of all users; see :meth:`AsyncClient.worker`.

        ``progress`` is called in another thread.
        """
        inner = self.inner.worker(
            poll=poll, concurrency=concurrency, lease=lease, grace=grace, progress=progress
        )
        return Worker(inner, self)

    retention = _run(AsyncClient.retention)
    set_retention = _run(AsyncClient.set_retention)
    users = _run(AsyncClient.users)
    check = _run(AsyncClient.check)
    restore = _run(AsyncClient.restore)
    stored_embedder = _run(AsyncClient.stored_embedder)
    reembed = _run(AsyncClient.reembed)

    def close(self) -> None:
        """Close the store and the event loop. A second call does nothing."""
        self._portal = None
        self._closing()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _close(
    process: int,
    inner: AsyncClient,
    portal: BlockingPortal,
    running: AbstractContextManager[BlockingPortal],
) -> None:
    try:
        if process == os.getpid():
            portal.call(inner.close)
        else:  # a fork has no thread of the event loop, which would never answer
            with suppress(StopIteration):
                portal.stop().send(None)
    finally:
        running.__exit__(None, None, None)


@takes_options(OpenOptions)
def open(options: OpenOptions) -> Client:
    """Open a store and return its client; use it as a context manager or ``close()`` it."""
    return Client(AsyncClient(options))
