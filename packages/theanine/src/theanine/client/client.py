"""The whole path: hear → recall → reply → end the session → remember."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import Self

import anyio

from theanine.client._validation import check_budget, check_dialogue, scope_of
from theanine.client.maintenance import MaintenanceMixin
from theanine.clock import Clock, system_clock
from theanine.embeddings.base import Embedder
from theanine.errors import NotFound, RememberingFailed, Stale, TheanineError
from theanine.llm.base import ChatModel, Closable
from theanine.llm.chat import Chat
from theanine.llm.limits import Limits
from theanine.methods.base import Method, Reply
from theanine.methods.registry import DEFAULT, open_method
from theanine.remembering.rebuild import Rebuilder, RebuildEstimate, RebuildReport
from theanine.remembering.remember import Progress, RememberReport
from theanine.retrieval.ranking import RankingConfig
from theanine.retrieval.rerank import RerankConfig
from theanine.store.base import Store
from theanine.store.processes import process_holder
from theanine.store.validate import check_time, check_utterance
from theanine.types import LOCAL_MODEL, History, Recollection, Scope, Turn, Utterance

TRIES = 3
"""How often a reply is made anew when something was forgotten while it was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What became of a history.

    Attributes:
        user: whose it is now.
        sessions_new, sessions_known: how many of its sessions were not in the log, or were.
        turns_new: how many turns were logged.
        memories_given: how many ready-made memories were taken in.
        forgotten: how many turns and ready-made memories were forgotten before, and stay so.
    """

    user: str
    sessions_new: int
    sessions_known: int
    turns_new: int
    memories_given: int
    forgotten: int = 0


class AsyncClient(MaintenanceMixin):
    """A memory over one store, with one method. Made by :func:`theanine.aopen`.

    Without a method it is the store's own, made with ``config``, as soon as the agent is entered.
    """

    def __init__(
        self,
        store: Store,
        method: Method | None,
        embedder: Embedder,
        model: ChatModel | None = None,
        *,
        config: object = None,
        limits: Limits | None = None,
        clock: Clock = system_clock,
        seed: int = 0,
        ranking: RankingConfig | None = None,
        reranking: RerankConfig | None = None,
    ) -> None:
        chat = Chat(model, store, clock, limits) if model else None
        method_now = method or open_method(DEFAULT)  # until the store says which is its own
        super().__init__(store, method_now, embedder, chat, clock, seed, ranking, reranking)
        self._is_stores_own, self._config = method is None, config

    @property
    def location(self) -> str:
        """Where the store is."""
        return self._store.location

    @property
    def method_name(self) -> str:
        """The method's id; where none was named, known once the agent is entered."""
        return self._method.name

    @property
    def model_name(self) -> str:
        """The language model's name; ``local`` when there is none."""
        return self._chat.model.name if self._chat else LOCAL_MODEL

    @property
    def embedder_name(self) -> str:
        """The embedder's name."""
        return self._embedder.name

    @property
    def reranker_name(self) -> str:
        """The reranker's name; empty when there is none."""
        return self._reranking.reranker.name if self._reranking else ""

    async def __aenter__(self) -> Self:
        await self._store.open()
        if self._is_stores_own:
            try:
                name = await self._store.default_method() or DEFAULT
                self._use(open_method(name, self._config))
            except TheanineError:
                await self._store.close()
                raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the store and of all connections, also when the caller is cancelled."""
        with anyio.CancelScope(shield=True):
            await self._views.close()
            if self._chat:
                await self._chat.close()
            if isinstance(self._embedder, Closable):
                await self._embedder.close()
            await self._store.close()

    # the path

    def session(
        self, user: str, *, agent: str = "default", tenant: str = "default", speaker: str = ""
    ) -> AsyncLiveSession:
        """A conversation with ``user``; ``speaker`` is how the user is called in it."""
        return AsyncLiveSession(
            self, self._store, self._clock, scope_of(user, agent, tenant), speaker or user
        )

    async def recall(
        self,
        dialogue: str | Sequence[Utterance],
        user: str,
        *,
        budget: int | None = None,
        agent: str = "default",
        tenant: str = "default",
    ) -> Recollection:
        """What matters for a dialogue or a question; empty when nothing is remembered of the user.

        ``budget`` is how many tokens (of the bundled tokenizer) ``text`` may have at most.
        Raises BadInput for a question without words, and ModelError when the model fails.
        """
        check_dialogue(dialogue)
        scope = scope_of(user, agent, tenant)
        return await self.recollect(self._dialogue(dialogue, user), scope, budget=budget)

    async def recollect(
        self, dialogue: Sequence[Utterance], scope: Scope, *, budget: int | None = None
    ) -> Recollection:
        """:meth:`recall` for a scope."""
        check_budget(budget)
        return await self._method.recall(dialogue, await self._context(scope, budget))

    async def reply(
        self,
        dialogue: Sequence[Utterance],
        scope: Scope,
        speaker: str,
        *,
        budget: int | None = None,
    ) -> Reply:
        """What the agent, as ``speaker``, says next; with what it recalled for that."""
        return (await self.answer(dialogue, scope, speaker, budget=budget))[0]

    async def answer(
        self,
        dialogue: Sequence[Utterance],
        scope: Scope,
        speaker: str,
        *,
        budget: int | None = None,
    ) -> tuple[Reply, int]:
        """:meth:`reply`, and the epoch of the scope that it was made in, for whoever logs it."""
        check_budget(budget)
        context = await self._context(scope, budget)  # one for both: what is erased stays out
        found = await self._method.recall(dialogue, context)
        reply = await self._method.respond(dialogue, found, speaker, context)
        return reply, context.index.state.epoch

    async def remember(
        self,
        user: str | None = None,
        *,
        agent: str = "default",
        tenant: str = "default",
        elsewhere: bool = False,
        progress: Progress | None = None,
    ) -> list[RememberReport]:
        """Remember every session that ended and waits, of one user or of all; one report each.

        Sessions left open by a process that died are ended first; with ``elsewhere`` also those of
        other machines, such as a container that is no more: say so only when none of them still
        talks. A failure is in its report; the session stays pending, and the next call resumes it.
        """
        scope = scope_of(user, agent, tenant) if user is not None else None
        await self._end_abandoned(scope, elsewhere=elsewhere)
        return await self._rememberer.remember(scope, progress)

    async def estimate(
        self,
        user: str | None = None,
        *,
        again: bool = False,
        instead: bool = False,
        agent: str = "default",
        tenant: str = "default",
    ) -> RebuildEstimate:
        """What :meth:`rebuild` will about take: calls, tokens, money, time. Nothing is asked."""
        scope = await self._known(scope_of(user, agent, tenant)) if user is not None else None
        return await self._rebuilder(again).forecast(scope, instead=instead)

    async def rebuild(
        self,
        user: str | None = None,
        *,
        again: bool = False,
        instead: bool = False,
        agent: str = "default",
        tenant: str = "default",
        progress: Progress | None = None,
    ) -> RebuildReport:
        """Remember the whole log by this agent's method, of one user or of all; resumable.

        What other methods made stays beside it; with ``instead`` it is dropped, once all is
        remembered. With ``again`` the method remembers anew what it had remembered, with its
        present settings; the old is replaced once all is remembered. Raises NotFound.
        """
        scope = await self._known(scope_of(user, agent, tenant)) if user is not None else None
        await self._end_abandoned(scope)
        return await self._rebuilder(again).rebuild(scope, instead=instead, progress=progress)

    def _rebuilder(self, again: bool) -> Rebuilder:
        chat, views, rememberer = self._chat, self._views, self._rememberer
        return Rebuilder(self._store, self._method, chat, views, rememberer, again=again)

    async def _end_abandoned(self, scope: Scope | None, *, elsewhere: bool = False) -> None:
        """End sessions left open by a process that died, or by any of another machine."""
        for owner, session in await self._store.orphaned_sessions(scope, elsewhere=elsewhere):
            with suppress(NotFound):  # another process was at it at the same time
                start = session.started_at  # it ended with its last turn, which the store knows
                await self._store.end_session(owner, session.id, start, self._method.name)

    async def log(
        self,
        history: History,
        user: str | None = None,
        *,
        agent: str = "default",
        tenant: str = "default",
    ) -> ImportReport:
        """Log a history's sessions, each whole or not at all; :meth:`remember` does the rest."""
        scope = scope_of(user or history.name, agent, tenant)
        logged = [
            await self._store.log_transcript(scope, transcript, self._method.name)
            for transcript in history.transcripts
        ]
        return ImportReport(
            user=scope.user,
            sessions_new=sum(one.new for one in logged),
            sessions_known=sum(not one.new for one in logged),
            turns_new=sum(one.new_turns for one in logged),
            memories_given=sum(one.new_memories for one in logged),
            forgotten=sum(one.forgotten for one in logged),
        )

    def _dialogue(self, dialogue: str | Sequence[Utterance], user: str) -> Sequence[Utterance]:
        if isinstance(dialogue, str):
            return [Utterance(text=dialogue, speaker=user, at=self._clock())]
        return dialogue


class AsyncLiveSession:
    """One session with one user: hear, recall, reply; leaving it ends and remembers it."""

    def __init__(
        self, agent: AsyncClient, store: Store, clock: Clock, scope: Scope, speaker: str
    ) -> None:
        self._agent, self._store, self._clock = agent, store, clock
        self._scope, self._speaker = scope, speaker
        self._turns: list[Turn] = []
        self.id: int | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.end(remember=error is None)

    async def hear(
        self, text: str, *, speaker: str | None = None, at: datetime | None = None
    ) -> Turn:
        """Log what the user, or another ``speaker``, says: it is on disk before this returns."""
        return await self._log(
            Utterance(text=text, speaker=speaker or self._speaker, at=at or self._now())
        )

    async def recall(self) -> Recollection:
        """What matters for the dialogue so far."""
        return await self._agent.recollect(self._turns, self._scope)

    async def reply(self, *, at: datetime | None = None) -> Reply:
        """Recall, say what the agent says next, and log it. Raises ModelError; nothing is lost.

        Made anew if something is forgotten meanwhile; Stale if that does not end.
        """
        if at is not None:  # before a model is paid
            check_time(at, "the reply's time")
        for _ in range(TRIES - 1):
            with suppress(Stale):
                return await self._answer(at)
        return await self._answer(at)

    async def _answer(self, at: datetime | None) -> Reply:
        name = self._scope.agent if self._scope.agent != "default" else "assistant"
        answer, epoch = await self._agent.answer(self._turns, self._scope, name)
        said = Utterance(text=answer.text, speaker=name, at=at or self._now(), role="assistant")
        recalled = tuple(memory.id for memory in answer.recollection.memories)
        await self._log(replace(said, recalled=recalled, notes=answer.notes), epoch)
        return answer

    async def end(
        self, *, remember: bool = True, at: datetime | None = None
    ) -> list[RememberReport]:
        """End the session and remember it.

        Raises RememberingFailed when that fails: the turns are safe, and the next
        ``agent.remember()`` resumes it.
        """
        if self.id is None:
            return []
        last = self._turns[-1].at if self._turns else self._clock()
        method = self._agent.method_name
        with anyio.CancelScope(shield=True):  # or nobody would end it while this process lives
            await self._store.end_session(self._scope, self.id, at or last, method)
        self.id, self._turns = None, []
        if not remember:
            return []
        scope = self._scope
        reports = await self._agent.remember(scope.user, agent=scope.agent, tenant=scope.tenant)
        if failed := [report for report in reports if report.failure]:
            reason = str(failed[0].failure).rstrip(".")
            raise RememberingFailed(
                f"session {failed[0].session} of {scope} is safe in the log but not remembered "
                f"yet: {reason}. `theanine remember` or agent.remember() resumes it"
            )
        return reports

    async def _log(self, said: Utterance, epoch: int | None = None) -> Turn:
        check_utterance(said)  # before a session is begun for it
        with anyio.CancelScope(shield=True):  # what is on disk is also known here
            if self.id is None:
                holder = process_holder()
                self.id = await self._store.start_session(self._scope, said.at, holder=holder)
            self._turns += await self._store.append_turns(self._scope, self.id, [said], epoch=epoch)
        return self._turns[-1]

    def _now(self) -> datetime:
        """The present, but never before what was said last: clocks are set back at times."""
        now = self._clock()
        return max(now, self._turns[-1].at) if self._turns else now
