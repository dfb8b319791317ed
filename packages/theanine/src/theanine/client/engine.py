"""The open parts that a client shares with its user handles and live sessions.

What recalls and remembers is imported when it is first used: it takes several times as long to load
as what lists, logs and forgets.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from theanine.cancellation import finish
from theanine.client.background import Background, Remembering
from theanine.client.deadline import SharedLoads
from theanine.client.dialogues import DialogueCache
from theanine.client.hiding import load_hidden
from theanine.client.options import (
    ListArguments,
    OpenOptions,
    RecallArguments,
    RememberWhen,
    list_options,
    recall_options,
)
from theanine.client.own_ends import has_ends, read_ends
from theanine.client.redaction import redaction
from theanine.client.streaming import AsyncReplyStream
from theanine.clock import find_zone
from theanine.errors import (
    DamagedData,
    NotFound,
    RememberingFailed,
    SettingsError,
    StoreError,
    TheanineError,
)
from theanine.llm.base import Closable
from theanine.methods.registry import DEFAULT, open_method
from theanine.remembering.expire import forget_expired
from theanine.remembering.left_out import LeftOut, for_each_scope
from theanine.retrieval.rerank import RerankConfig
from theanine.store import open_store
from theanine.store.processes import HOLDING, process_holder
from theanine.store.validate import turn_position
from theanine.store.values import ForgetReport, Hidden, Listing
from theanine.types import LOCAL_MODEL, Scope, Transcript, Utterance

if TYPE_CHECKING:
    from theanine.client.recalling import Recalling
    from theanine.embeddings.base import Embedder
    from theanine.llm.chat import Chat
    from theanine.methods.base import Method
    from theanine.recall.context import RecallOptions
    from theanine.remembering.rebuild import Rebuilder
    from theanine.remembering.remember import RememberWorker
    from theanine.remembering.report import GoesOn, Progress, RememberReport
    from theanine.retrieval.scope_cache import ScopeCache
    from theanine.retrieval.scope_index import ScopeIndex

_log = logging.getLogger(__name__)


class Engine:
    """A store, a method and an embedder, with optional chat models and an optional reranker."""

    def __init__(self, options: OpenOptions) -> None:
        location, method, embedder = options.location, options.method, options.embedder
        self.options = options
        self.streams: WeakValueDictionary[object, AsyncReplyStream] = WeakValueDictionary()
        self.clock = options.clock
        self.redact = redaction(options.redact)
        is_path = isinstance(location, str | PathLike)
        self.store = open_store(fspath(location)) if is_path else location
        if isinstance(method, str) and (method != DEFAULT or options.config is not None):
            self.method = open_method(method, options.config)  # at once, because it may fail
        elif method and not isinstance(method, str):
            if options.config is not None:
                raise SettingsError(
                    "config belongs to a method's name; configure the object itself"
                )
            self.method = method
        if embedder != LOCAL_MODEL:
            from theanine.embeddings.open import open_embedder

            self.embedder = open_embedder(embedder) if isinstance(embedder, str) else embedder
        self._stored_embedder = ""
        self.chat: Chat | None = None
        self.memory_chat: Chat | None = None
        if _names_models(options):
            from theanine.client.chats import client_chats

            self.chat, self.memory_chat = client_chats(options, self.store, self.redact)
            self._use(self.method)
        self.reranking: RerankConfig | None = None
        if reranker := options.reranker:
            from theanine.embeddings.open import open_reranker

            if isinstance(reranker, str):
                reranker = open_reranker(reranker)
            self.reranking = RerankConfig(reranker=reranker, top=options.reranked)
        self.dialogues = DialogueCache(self.store, self.clock)
        self._loads: SharedLoads[ScopeIndex] = SharedLoads()
        self._holding: asyncio.Task[None] | None = None
        self.background = Background(
            lambda scope, progress: self.remember(scope, progress=progress)
        )

    @cached_property
    def method(self) -> Method:
        """The method; if none was named, known once the store is open."""
        return open_method(DEFAULT)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder; if none was named, known once the store is open."""
        from theanine.embeddings.open import open_embedder, open_stored

        return open_stored(self._stored_embedder) or open_embedder(LOCAL_MODEL)

    @cached_property
    def indexes(self) -> ScopeCache:
        """The indexes of scopes."""
        from theanine.retrieval.scope_cache import ScopeCache

        return ScopeCache(self.store, self.stored_method, self.embedder.name, self.options.ranking)

    @cached_property
    def worker(self) -> RememberWorker:
        """The worker that remembers sessions."""
        from theanine.remembering.remember import RememberWorker

        return RememberWorker(
            self.store,
            self.method,
            self.embedder,
            self.memory_chat,
            self.indexes,
            self.clock,
            self.options.seed,
        )

    @cached_property
    def recalling(self) -> Recalling:
        """The part that recalls and replies."""
        from theanine.client.recalling import Recalling
        from theanine.retrieval.word_index import WordIndexes

        return Recalling(
            options=self.options,
            store=self.store,
            method=self.method,
            embedder=self.embedder,
            indexes=self.indexes,
            chat=self.chat,
            clock=self.clock,
            reranking=self.reranking,
            words=WordIndexes(self.store),
            loads=self._loads,
        )

    @property
    def stored_method(self) -> str:
        """The id under which the method's memories are stored."""
        from theanine.methods.base import stored_id

        return stored_id(self.method)

    @property
    def _recalls_from_log(self) -> bool:
        from theanine.methods.base import recalls_from_log

        return recalls_from_log(self.method)

    def _use(self, method: Method) -> None:
        """Use a method, and the embedder as it is now."""
        self.method = method
        if self.chat or self.memory_chat:
            from theanine.client.chats import use_method

            for chat in filter(None, (self.chat, self.memory_chat)):
                use_method(chat, method, self.options)
        for made in ("indexes", "worker", "recalling"):
            vars(self).pop(made, None)

    async def open(self) -> None:
        """Open the store, and use its method and its embedder where none was named."""
        try:
            await self.store.open()
            if self.options.method is None:
                name = await self.store.default_method() or DEFAULT
                if name != DEFAULT or self.options.config is not None:
                    self._use(open_method(name, self.options.config))
            await self._use_stored_embedder()
        except BaseException:
            await finish(self.store.close())
            raise

    async def _use_stored_embedder(self) -> None:
        if self.options.embedder == LOCAL_MODEL:
            stored, _ = await self.store.active_embedder() or ("", 0)
            if stored != self._stored_embedder:
                self._stored_embedder = stored
                vars(self).pop("embedder", None)

    async def restored(self) -> None:
        """Use the embedder that came with a restored export, where none was named."""
        before = self._stored_embedder
        await self._use_stored_embedder()
        if self._stored_embedder != before:
            self._use(self.method)

    def hold_sessions(self) -> None:
        """Keep this process listed as alive, so that no other process ends its open sessions."""
        if self._holding is None:
            self._holding = asyncio.get_running_loop().create_task(self._hold())

    async def _hold(self) -> None:
        while True:
            await asyncio.sleep(HOLDING.total_seconds() / 4)
            try:
                await self.store.renew_holder(process_holder(), HOLDING)
            except StoreError as error:  # such as a full disk; the next one may succeed
                _log.warning("could not renew the hold on open sessions: %s", error)

    async def close(self) -> None:
        """Close the store and all connections, even when the caller is cancelled.

        What is being remembered in the background is finished first, unless the caller is
        cancelled: then the next run continues it.
        """
        try:
            await self.background.finish()
        finally:
            await finish(self._close())

    async def _close(self) -> None:
        for stream in [*self.streams.values()]:
            await stream.aclose()
        if self._holding is not None:
            self._holding.cancel()
            await asyncio.wait([self._holding])
            self._holding = None
        await self._loads.cancel()
        made = vars(self)
        if indexes := made.get("indexes"):
            await indexes.close()
        for part in dict.fromkeys((self.chat, self.memory_chat, made.get("embedder"))):
            if isinstance(part, Closable):
                await part.close()
        await self.store.close()

    async def now(self, scope: Scope) -> datetime:
        """Return the present in the user's time zone; in UTC if none is set."""
        zone = (await self.store.scope_version(scope)).time_zone
        return self.clock().astimezone(find_zone(zone) or UTC)

    async def read_ends(
        self,
        scope: Scope,
        utterances: Sequence[Utterance],
        where: str = "",
        *,
        dated: bool = True,
    ) -> Sequence[Utterance]:
        """Return utterances with their own ends as they are stored. Raises BadInput.

        Without ``dated``, their times only keep the order.
        """
        if not any(has_ends(utterance.metadata) for utterance in utterances):
            return utterances
        now = await self.now(scope)
        return [
            replace(
                utterance,
                metadata=read_ends(
                    utterance.metadata,
                    now,
                    utterance.at if dated else None,
                    turn_position(where, position, len(utterances)),
                ),
            )
            for position, utterance in enumerate(utterances, 1)
        ]

    async def read_ends_of_transcript(self, scope: Scope, transcript: Transcript) -> Transcript:
        """Return a transcript with the own ends of all in it as they are stored."""
        where = f"session {transcript.key!r}"
        turns = await self.read_ends(scope, transcript.turns, where, dated=transcript.dated)
        metadata = transcript.metadata
        if has_ends(metadata):
            said = transcript.at if transcript.dated else None
            metadata = read_ends(metadata, await self.now(scope), said, where)
        return replace(transcript, turns=turns, metadata=metadata)

    async def recall_options(self, scope: Scope, arguments: RecallArguments) -> RecallOptions:
        """Return the options of a recall in a scope. Raises SettingsError."""
        dated = any(arguments.get(name) is not None for name in ("since", "until", "as_of"))
        return recall_options(await self.now(scope) if dated else self.clock(), arguments)

    async def hidden(self, scope: Scope) -> Hidden:
        """Return what is about to be erased, and not shown any more."""
        return await load_hidden(self.store, scope, self.clock())

    async def listing(self, scope: Scope, arguments: ListArguments) -> Listing:
        """Return the options of a list. Raises SettingsError."""
        hidden = await self.hidden(scope)
        return replace(list_options(await self.now(scope), arguments), hidden=hidden)

    async def break_off(self, session_key: object) -> None:
        """Break off a session's streamed reply, and wait until what was received is logged."""
        if stream := self.streams.get(session_key):
            await stream.aclose()
            if self.streams.get(session_key) is stream:  # else another has begun meanwhile
                del self.streams[session_key]

    async def remember(
        self, scope: Scope | None, *, elsewhere: bool = False, progress: Progress | None = None
    ) -> list[RememberReport]:
        """Forget what has expired, then remember the pending sessions of one scope, or of all.

        Where that is much, the log can be searched by words at once, also by other processes; its
        vectors are made by recalls, in the background, and by :meth:`warm_up`.
        """
        from theanine.remembering.report import RememberReport

        left_out = await self.end_abandoned_sessions(scope, elsewhere=elsewhere)
        left_out += await for_each_scope(
            self.store, scope, lambda each: self.expire(each, rounded=True)
        )
        reports = await self.worker.remember(scope, progress)
        left_out += await self._complete(reports, wait=False)
        named = {report.scope for report in reports if report.damaged}
        reports += [
            RememberReport(scope=each, session=0, failure=reason, damaged=True)
            for each, reason in {each.scope: each.reason for each in left_out}.items()
            if each not in named
        ]
        return reports

    async def remember_due(
        self, scope: Scope, progress: Progress, goes_on: GoesOn, lasting: timedelta
    ) -> list[RememberReport]:
        """Remember due sessions of a scope; see :meth:`RememberWorker.remember_due`."""
        reports = await self.worker.remember_due(scope, progress, goes_on, lasting)
        await self._complete(reports, wait=True)
        return reports

    async def _complete(self, reports: Sequence[RememberReport], *, wait: bool) -> list[LeftOut]:
        """Carry marks over to new memories and, where they are many, store the log index.

        Unless ``wait``, its vectors are left to be made later. Returns the users who were left out,
        because their data is damaged.
        """
        left_out: list[LeftOut] = []
        for owner in dict.fromkeys(report.scope for report in reports if not report.damaged):
            try:
                await self.store.carry_marks(self.stored_method, owner)
            except DamagedData as error:
                left_out.append(LeftOut(owner, str(error)))
        if reports and self._recalls_from_log:
            from theanine.retrieval.snapshot import MIN_LAG

            added: Counter[Scope] = Counter()
            for report in reports:
                added[report.scope] += report.memories
            for owner, memories in added.items():
                if 2 * memories >= MIN_LAG:  # with their turns, as after an import
                    await self.store_logs([owner], wait=wait)
        return left_out

    async def store_logs(self, scopes: Iterable[Scope], *, wait: bool = True) -> None:
        """Index the logs of scopes and store the indexes; what fails, the next recall does."""
        for scope in scopes if self._recalls_from_log else ():
            try:
                await self.indexes.store_log(scope, self.embedder, wait=wait)
            except TheanineError as error:
                _log.warning("the log index of %s could not be made: %s", scope, error)

    async def remember_ended(
        self, scope: Scope, when: bool | RememberWhen | None
    ) -> list[RememberReport]:
        """Remember ended sessions of a scope, when the caller or else the options say so.

        Raises RememberingFailed if it is to be remembered now, and fails.
        """
        if when is None:
            when = self.options.remembering
        if when in (False, "later"):
            return []
        if when == "background":
            self.start_remembering(scope)
            return []
        reports = await self.remember(scope)
        if failed := [report for report in reports if report.failure]:
            reason = str(failed[0].failure).rstrip(".")
            raise RememberingFailed(
                f"session {failed[0].session} of {scope} is safe in the log but not "
                f"remembered yet: {reason}. `theanine remember` or client.remember() tries again"
            )
        return reports

    def start_remembering(
        self, scope: Scope | None, then: Callable[[RememberReport], object] | None = None
    ) -> Remembering:
        """Remember pending sessions in the background."""
        return self.background.start(scope, then or self.options.on_remembered)

    async def expire(self, scope: Scope | None, *, rounded: bool = False) -> list[ForgetReport]:
        """Forget what is past its retention or its own end; see :func:`forget_expired`."""
        return await forget_expired(self.store, scope, self.clock(), rounded=rounded)

    async def warm_up(self, scope: Scope) -> None:
        """Load what a recall needs, and make what is missing of it."""
        if self._recalls_from_log:
            index = await self.recalling.load(scope, memories=self.chat is not None)
            await index.log(self.embedder)
            await self.indexes.stored()
        else:
            (await self.indexes.get(scope)).index_texts()

    def rebuilder(self, *, again: bool, fresh: bool) -> Rebuilder:
        """Return the rebuilder for this method; see :class:`Rebuilder`."""
        from theanine.remembering.rebuild import Rebuilder

        return Rebuilder(
            self.store,
            self.method,
            self.memory_chat,
            self.indexes,
            self.worker,
            again=again,
            fresh=fresh,
        )

    async def end_abandoned_sessions(
        self, scope: Scope | None, *, elsewhere: bool = False, at: datetime | None = None
    ) -> list[LeftOut]:
        """End sessions that have paused at a time, by default now, or that a dead process left.

        With ``elsewhere``, also those left open by any other machine. Returns the users who were
        left out, if ``scope`` is None.
        """

        async def end(each: Scope | None) -> None:
            await self.store.end_idle_sessions(each, at or self.clock(), self.stored_method)
            for owner, session in await self.store.orphaned_sessions(each, remote=elsewhere):
                with suppress(NotFound):  # another process ended it at the same time
                    await self.store.end_session(owner, session.id, None, self.stored_method)

        return await for_each_scope(self.store, scope, end)

    async def require(self, scope: Scope) -> None:
        """Raise NotFound for a scope that holds nothing."""
        if not (await self.store.scope_version(scope)).scope_id:  # names of others stay secret
            raise NotFound(f"no user {scope} in this store")


def _names_models(options: OpenOptions) -> bool:
    """Return whether any option says something of a chat model."""
    models = (options.model, options.memory_model or LOCAL_MODEL)
    others = (options.base_url, options.memory_base_url, options.prompts)
    settings = (options.model_settings, options.memory_settings)
    return models != (LOCAL_MODEL, LOCAL_MODEL) or any((*others, *settings))
