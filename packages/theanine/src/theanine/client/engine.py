"""The open parts that a client shares with its user handles and live sessions."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from os import PathLike, fspath
from weakref import WeakValueDictionary

from theanine.cancellation import finish
from theanine.client.background import Background, Remembering
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
from theanine.client.recalling import Recalling
from theanine.client.redaction import redact_document, redaction
from theanine.client.streaming import AsyncReplyStream
from theanine.clock import find_zone
from theanine.embeddings.open import open_embedder, open_reranker, open_stored
from theanine.errors import (
    DamagedData,
    NotFound,
    RememberingFailed,
    SettingsError,
    StoreError,
    TheanineError,
)
from theanine.llm.base import ChatModel, Closable
from theanine.llm.chat import Chat
from theanine.llm.open import open_chats
from theanine.llm.prompt_folder import PromptFolder
from theanine.methods.base import Method, stored_id
from theanine.methods.registry import DEFAULT, open_method
from theanine.methods.shared.config import find_temperature
from theanine.recall.context import RecallOptions
from theanine.remembering.expire import forget_expired
from theanine.remembering.left_out import LeftOut, for_each_scope
from theanine.remembering.rebuild import Rebuilder
from theanine.remembering.remember import GoesOn, Progress, RememberReport, RememberWorker
from theanine.retrieval.rerank import RerankConfig
from theanine.retrieval.scope_cache import ScopeCache
from theanine.retrieval.snapshot import MIN_LAG
from theanine.retrieval.word_index import WordIndexes
from theanine.store import open_store
from theanine.store.processes import HOLDING, process_holder
from theanine.store.validate import turn_position
from theanine.store.values import ForgetReport, Hidden, Listing
from theanine.types import LOCAL_MODEL, Scope, Transcript, Utterance

_log = logging.getLogger(__name__)


class Engine(Recalling):
    """A store, a method and an embedder, with optional chat models and an optional reranker."""

    def __init__(self, options: OpenOptions) -> None:
        super().__init__()
        location, method = options.location, options.method
        embedder, reranker = options.embedder, options.reranker
        self.options = options
        self.streams: WeakValueDictionary[object, AsyncReplyStream] = WeakValueDictionary()
        self.clock = options.clock
        self.redact = redaction(options.redact)
        is_path = isinstance(location, str | PathLike)
        self.store = open_store(fspath(location)) if is_path else location
        if isinstance(method, str):
            method = open_method(method, options.config)
        elif method and options.config is not None:
            raise SettingsError("config belongs to a method's name; configure the object itself")
        self.embedder = open_embedder(embedder) if isinstance(embedder, str) else embedder
        replying, remembering = open_chats(
            options.model,
            options.memory_model,
            base_url=options.base_url,
            memory_base_url=options.memory_base_url,
            model_settings=options.model_settings,
            memory_settings=options.memory_settings,
        )
        prompts = options.prompts
        named = isinstance(prompts, str | PathLike)
        self._prompts = PromptFolder.read(prompts) if named else prompts
        self.chat = self._chat(replying)
        self.memory_chat = self.chat if remembering is replying else self._chat(remembering)
        if isinstance(reranker, str):
            reranker = open_reranker(reranker)
        self.reranking = RerankConfig(reranker=reranker, top=options.reranked) if reranker else None
        self.dialogues = DialogueCache(self.store, self.clock)
        self._words = WordIndexes(self.store)
        self._holding: asyncio.Task[None] | None = None
        self.background = Background(
            lambda scope, progress: self.remember(scope, progress=progress)
        )
        self._use(method or open_method(DEFAULT))  # open() looks up the store's default

    def _chat(self, model: ChatModel | None) -> Chat | None:
        if model is None:
            return None
        redact = partial(redact_document, redact=self.redact) if self.redact else None
        limits, prompts = self.options.limits, self._prompts
        return Chat(model, self.store, self.clock, limits, redact=redact, prompts=prompts)

    def _use(self, method: Method) -> None:
        self.method = method
        options = self.options
        temperature = find_temperature(method, options.model_settings, options.memory_settings)
        for chat in filter(None, (self.chat, self.memory_chat)):
            chat.temperature = temperature
            chat.asker = method.name
        self.indexes = ScopeCache(
            self.store, stored_id(method), self.embedder.name, options.ranking
        )
        self.worker = RememberWorker(
            self.store,
            method,
            self.embedder,
            self.memory_chat,
            self.indexes,
            self.clock,
            self.options.seed,
        )

    async def open(self) -> None:
        """Open the store, and use its method and its embedder where none was named."""
        try:
            await self.store.open()
            method = self.method
            if self.options.method is None:
                name = await self.store.default_method() or DEFAULT
                method = open_method(name, self.options.config)
            await self._use_stored_embedder()
            self._use(method)
        except BaseException:
            await finish(self.store.close())
            raise

    async def _use_stored_embedder(self) -> None:
        if self.options.embedder == LOCAL_MODEL:
            stored, _ = await self.store.active_embedder() or ("", 0)
            self.embedder = open_stored(stored) or self.embedder

    async def restored(self) -> None:
        """Use the embedder that came with a restored export, where none was named."""
        before = self.embedder.name
        await self._use_stored_embedder()
        if self.embedder.name != before:
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
        await self.indexes.close()
        for part in dict.fromkeys((self.chat, self.memory_chat, self.embedder)):
            if isinstance(part, Closable):
                await part.close()
        await self.store.close()

    async def now(self, scope: Scope) -> datetime:
        """Return the present in the user's time zone; in UTC if none is set."""
        zone = (await self.store.scope_version(scope)).time_zone
        return self.clock().astimezone(find_zone(zone) or UTC)

    async def read_ends(
        self, scope: Scope, utterances: Sequence[Utterance], where: str = ""
    ) -> Sequence[Utterance]:
        """Return utterances with their own ends as they are stored. Raises BadInput."""
        if not any(has_ends(utterance.metadata) for utterance in utterances):
            return utterances
        now = await self.now(scope)
        return [
            replace(
                utterance,
                metadata=read_ends(
                    utterance.metadata, now, turn_position(where, position, len(utterances))
                ),
            )
            for position, utterance in enumerate(utterances, 1)
        ]

    async def read_ends_of_transcript(self, scope: Scope, transcript: Transcript) -> Transcript:
        """Return a transcript with the own ends of all in it as they are stored."""
        where = f"session {transcript.key!r}"
        turns = await self.read_ends(scope, transcript.turns, where)
        metadata = transcript.metadata
        if has_ends(metadata):
            metadata = read_ends(metadata, await self.now(scope), where)
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
        if self._recalls_from_log:
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
            await (await self._load(scope, memories=self.chat is not None)).log(self.embedder)
            await self.indexes.stored()
        else:
            (await self.indexes.get(scope)).index_texts()

    def rebuilder(self, *, again: bool, fresh: bool) -> Rebuilder:
        """Return the rebuilder for this method; see :class:`Rebuilder`."""
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
