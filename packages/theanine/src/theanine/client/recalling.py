"""Recall by the method, within a deadline if there is one, and reply from the result."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING

import anyio

from theanine.client.deadline import Attempt, SharedLoads, recall_in_time
from theanine.client.explaining import Explanation, explain
from theanine.client.hiding import find_hidden
from theanine.client.merging import merge_recollections, without_numbers
from theanine.client.options import OpenOptions
from theanine.client.searching import SearchHits, find_hits, find_words
from theanine.clock import Clock
from theanine.embeddings.base import Embedder
from theanine.embeddings.static import bundled_embedder
from theanine.errors import SettingsError, Stale
from theanine.llm.chat import Chat
from theanine.methods.base import (
    Context,
    Method,
    Reply,
    ReplyOptions,
    recall_asks_model,
    recalls_from_log,
    stored_id,
)
from theanine.methods.registry import DEFAULT, open_method
from theanine.methods.shared.pinned import reserve_pinned
from theanine.methods.shared.recall import fit_parts
from theanine.recall.context import RecallOptions
from theanine.recall.verify import marked
from theanine.retrieval.bounds import bound_index
from theanine.retrieval.rerank import RerankConfig
from theanine.retrieval.scope_cache import ScopeCache
from theanine.retrieval.scope_index import ScopeIndex
from theanine.retrieval.trace import RecordedTrace
from theanine.retrieval.word_index import WordIndexes, WordSearch
from theanine.store.base import Store
from theanine.store.values import ScopeVersion
from theanine.telemetry import RECORDS, STORE, memory_operation
from theanine.tokenizer import count_tokens
from theanine.types import SPOKEN, Part, Recollection, Scope, Turn, Utterance

if TYPE_CHECKING:
    from theanine.profile import Profile

_log = logging.getLogger(__name__)

DEFAULT_OPTIONS = RecallOptions()
NEWEST = 500
"""Number of newest turns that a recall searches if there is no time for more."""
_SHARE_OF_MODEL = 0.8  # of a deadline, after which what a model has given so far is used


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalling:
    """Recalls and replies with the open parts that :class:`theanine.client.engine.Engine` has."""

    options: OpenOptions
    store: Store
    method: Method
    embedder: Embedder
    indexes: ScopeCache
    chat: Chat | None
    clock: Clock
    reranking: RerankConfig | None
    words: WordIndexes
    loads: SharedLoads[ScopeIndex]

    async def recall(
        self,
        dialogue: Sequence[Utterance],
        scope: Scope,
        options: RecallOptions = DEFAULT_OPTIONS,
        shared: Sequence[Scope] = (),
    ) -> Recollection:
        """Retrieve what matters for the dialogue, also from ``shared`` scopes."""

        async def open_context() -> Context:
            loaded: ScopeIndex | None = None
            if options.deadline is not None:
                memories = not self._needs_log_only(options)
                load = partial(self.load, scope, memories=memories)
                loaded = await self.loads.run((scope, memories), load)
            return await self.context(scope, options, recalling=True, loaded=loaded)

        return await self._search(open_context, dialogue, scope, options, shared)

    async def _search(
        self,
        open_context: Callable[[], Awaitable[Context]],
        dialogue: Sequence[Utterance],
        scope: Scope,
        options: RecallOptions,
        shared: Sequence[Scope],
    ) -> Recollection:
        """Recall in a context; with a deadline, do less if need be."""
        with memory_operation("search_memory", scope.agent, scope.tenant) as span:

            async def recall(*, plain: bool = False) -> Recollection:
                context = await open_context()
                span.attributes[STORE] = str(context.index.state.scope_id)
                if plain:
                    rng = Random(self.options.seed)
                    context = replace(context, chat=None, reranking=None, rng=rng)
                own = await self._recall(dialogue, context)
                if not shared:
                    return own
                return await self._recall_shared(dialogue, scope, own, options, shared)

            if options.deadline is None:
                found = await recall()
            else:
                attempts = [Attempt(recall=recall)]
                if (self.chat and recall_asks_model(self.method)) or self.reranking:
                    lacks = "there was no time for a model"
                    attempts.append(Attempt(recall=partial(recall, plain=True), lacks=lacks))
                newest = partial(self._recall_newest, dialogue, scope, options)
                lacks = f"there was only time to search the newest {NEWEST} turns"
                attempts.append(Attempt(recall=newest, lacks=lacks))
                found = await recall_in_time(attempts, options.deadline)
            span.attributes[RECORDS] = len(found.parts)
        return found

    async def _recall_newest(
        self, dialogue: Sequence[Utterance], scope: Scope, options: RecallOptions
    ) -> Recollection:
        """Recall from the newest turns, which takes no model and no index that must be loaded."""
        state = await self.store.scope_version(scope)
        index = await ScopeIndex.newest(self.store, scope, stored_id(self.method), state, NEWEST)
        options = await self._with_hidden(scope, state, options)
        if options.bounds:
            index = await bound_index(index, options.bounds)
        context = Context(
            scope=scope,
            chat=None,
            embedder=bundled_embedder(),
            index=index,
            rng=Random(self.options.seed),
            options=options,
        )
        return await self._recall(dialogue, context, open_method(DEFAULT))

    async def load(self, scope: Scope, *, memories: bool) -> ScopeIndex:
        """Return the index of a scope, with what a recall searches."""
        index = await self.indexes.get(scope, memories=memories)
        if recalls_from_log(self.method):
            await index.log(self.embedder, wait=False)
        return index

    async def _recall_shared(
        self,
        dialogue: Sequence[Utterance],
        scope: Scope,
        own: Recollection,
        options: RecallOptions,
        shared: Sequence[Scope],
    ) -> Recollection:
        """Merge the recollection of a scope with those of others."""
        recollections = {scope: own}
        options = replace(options, profile=False)  # of the user, not of others
        for other in shared:
            context = await self.context(other, options, recalling=True)
            recollections[other] = await self._recall(without_numbers(dialogue), context)
        budget = options.budget if options.budget is not None else self._default_budget
        return merge_recollections(recollections, budget, options.limit)

    async def explain(
        self,
        dialogue: Sequence[Utterance],
        scope: Scope,
        options: RecallOptions,
        method: str | None = None,
    ) -> Explanation:
        """Recall by this method, or another one by its name, and return the explanation."""
        if options.deadline is not None:
            raise SettingsError("an explanation has no deadline; leave deadline out")
        with_method = self
        if method not in (None, self.method.name):
            other = open_method(method)
            indexes = self.indexes.with_method(stored_id(other))
            with_method = replace(self, method=other, indexes=indexes)
        trace, found, context = await with_method._trace(dialogue, scope, options)
        budget = context.token_budget(with_method._default_budget)
        return await explain(with_method.method.name, trace, found, context, budget)

    async def search(
        self, dialogue: Sequence[Utterance], scope: Scope, options: RecallOptions, limit: int
    ) -> SearchHits:
        """Return the turns and memories that match best."""
        options = replace(options, small_talk=True)
        with memory_operation("search_memory", scope.agent, scope.tenant) as span:
            trace, found, context = await self._trace(dialogue, scope, options)
            span.attributes[STORE] = str(context.index.state.scope_id)
            hits = await find_hits(trace, found, context, limit)
            span.attributes[RECORDS] = len(hits)
        return hits

    async def search_words(self, scope: Scope, wanted: WordSearch, limit: int) -> SearchHits:
        """Return the turns that have all of some words."""
        with memory_operation("search_memory", scope.agent, scope.tenant) as span:
            hits = await find_words(self.words, self.store, scope, wanted, limit, self.clock())
            span.attributes[RECORDS] = len(hits)
        return hits

    async def _trace(
        self, dialogue: Sequence[Utterance], scope: Scope, options: RecallOptions
    ) -> tuple[RecordedTrace, Recollection, Context]:
        """Recall, and return also how it went."""
        trace = RecordedTrace()
        context = await self.context(scope, options, recalling=True)
        context = replace(
            context,
            trace=trace,
            current=frozenset(turn.id for turn in dialogue if isinstance(turn, Turn)),
        )
        return trace, await self._recall(dialogue, context), context

    @property
    def _default_budget(self) -> int | None:
        """The tokens of a recollection by the method's own settings, if they set it."""
        return getattr(getattr(self.method, "config", None), "budget", None)

    async def _recall(
        self, dialogue: Sequence[Utterance], context: Context, method: Method | None = None
    ) -> Recollection:
        options, method = context.options, method or self.method
        if options.min_relevance is not None and not getattr(method, "estimates_relevance", False):
            raise SettingsError(
                f"the method {method.name} doesn't estimate relevance with these settings, so "
                "min_relevance can't be used: leave it out, or use theanine with its defaults"
            )
        context = replace(
            context, current=frozenset(turn.id for turn in dialogue if isinstance(turn, Turn))
        )
        started = anyio.current_time()
        pinned, context = await reserve_pinned(context, self._default_budget)
        profile, context = await self._profile_part(context, _user_name(dialogue, context))
        spoken = [turn for turn in dialogue if turn.role in SPOKEN]
        recollection = await method.recall(spoken, context)
        if not recalls_from_log(method):  # it marks its lines one by one
            recollection = self._marked(recollection, context)
        parts = [part for part in recollection.parts if not context.shows(part.source_turns)]
        if bounds := options.bounds:  # a merged statement may also tell what was before
            parts = [part for part in parts if all(map(bounds.includes, part.source_turns))]
        if options.limit is not None:
            # Among equal scores, the latest: parts without a score are in order of time.
            order = sorted(range(len(parts)), key=lambda at: (parts[at].score, at), reverse=True)
            parts = [parts[at] for at in sorted(order[: max(options.limit - len(pinned), 0)])]
        user = _user_name(dialogue, context)
        recollection = replace(recollection, parts=(*profile, *pinned, *parts), user=user)
        if _log.isEnabledFor(logging.INFO):
            _log.info(
                "%s: recalled parts=%d turns=%d memories=%d ms=%.1f",
                context.scope,
                len(recollection.parts),
                len(recollection.source_turns),
                len(recollection.memories),
                1000 * (anyio.current_time() - started),
            )
        return recollection

    def _marked(self, recollection: Recollection, context: Context) -> Recollection:
        """Return a recollection in which what is to be verified says so, within the budget."""
        parts = tuple(marked(part, context.options.present) for part in recollection.parts)
        if parts == recollection.parts:
            return recollection
        best = sorted(parts, key=lambda part: -part.score)
        kept = fit_parts(best, context.token_budget(self._default_budget))
        return replace(recollection, parts=tuple(part for part in parts if part in kept))

    async def _profile_part(self, context: Context, name: str) -> tuple[list[Part], Context]:
        """Return what is known of the user, if wanted, and a context with what budget is left."""
        if not context.options.profile:
            return [], context
        budget = context.token_budget(self._default_budget)
        from theanine.profile import BUDGET, find_profile  # takes long to load

        found = await find_profile(context, name)
        text = found.within(BUDGET if budget is None else min(BUDGET, budget // 2))
        if not text:
            return [], context
        turns = await context.index.turns(found.shown(text))
        if budget is not None:
            left = max(budget - count_tokens(f"\n{text}"), 0)
            context = replace(context, options=replace(context.options, budget=left))
        return [Part(text=text, memories=(), source_turns=tuple(turns), pinned=True)], context

    async def profile(
        self, scope: Scope, name: str, options: RecallOptions, *, with_model: bool = False
    ) -> Profile:
        """Return what is known of the user of a scope, who is called ``name``.

        Raises SettingsError for ``with_model`` without a model, and Stale if something of the user
        was erased while the model wrote.
        """
        from theanine.profile import find_profile, write_profile

        context = await self.context(scope, options, recalling=True)
        if not with_model:
            return await find_profile(context, name)
        if context.chat is None:
            raise SettingsError(
                "a profile with a model asks a language model, and none is set: "
                "name one, or leave with_model out"
            )
        found = await write_profile(context, context.chat, name)
        if (await self.store.scope_version(scope)).epoch != context.index.state.epoch:
            raise Stale(f"something of {scope} was forgotten meanwhile; ask again")
        return found

    async def reply(
        self,
        dialogue: Sequence[Utterance],
        scope: Scope,
        speaker: str,
        options: RecallOptions,
        replying: ReplyOptions,
        shared: Sequence[Scope] = (),
    ) -> tuple[Reply, int]:
        """Return the next turn of ``speaker`` and the epoch of the scope that it was made from.

        A reply that is logged with this epoch is refused if something was erased in between. Raises
        Stale if that happened in a shared scope while the reply was made.
        """
        epochs = {other: (await self.store.scope_version(other)).epoch for other in shared}
        context = await self.context(scope, options, recalling=True)
        context = replace(context, replying=replying)  # both steps see the same memories

        async def open_context() -> Context:
            return context

        recollection = await self._search(open_context, dialogue, scope, options, shared)
        reply = await self.method.respond(dialogue, recollection, speaker, context)
        for other, epoch in epochs.items():
            if (await self.store.scope_version(other)).epoch != epoch:
                raise Stale(f"something of {other} was forgotten meanwhile; reply again")
        return reply, context.index.state.epoch

    def _needs_log_only(self, options: RecallOptions) -> bool:
        """Return whether a recall reads no memories except those that it returns."""
        return recalls_from_log(self.method) and self.chat is None and not options.bounds

    async def context(
        self,
        scope: Scope,
        options: RecallOptions = DEFAULT_OPTIONS,
        *,
        recalling: bool = False,
        loaded: ScopeIndex | None = None,
    ) -> Context:
        """Return the method's context for one recall or reply.

        For ``recalling`` from the log, memories are only read where a model may see them or where
        bounds apply to them.

        Args:
            loaded: the scope's index, if it was just brought up to date for this recall.
        """
        log_only = recalling and self._needs_log_only(options)
        index = loaded
        if index is None:  # not falsy: an index of which no memories were read has the length 0
            index = await self.indexes.get(scope, memories=not log_only)
        if not recalls_from_log(self.method):
            await index.make_vectors(self.embedder)
        options = await self._with_hidden(scope, index.state, options)
        if options.hidden:
            index = await self.indexes.get(scope)
        chat = self.chat.for_scope(scope) if self.chat else None
        if chat:
            chat.epoch = index.state.epoch
            chat.recall_patience = options.deadline and _SHARE_OF_MODEL * options.deadline
        if options.bounds:
            index = await bound_index(index, options.bounds)
        return Context(
            scope=scope,
            chat=chat,
            embedder=self.embedder,
            index=index,
            rng=Random(self.options.seed),
            options=options,
            reranking=self.reranking,
        )

    async def _with_hidden(
        self, scope: Scope, state: ScopeVersion, options: RecallOptions
    ) -> RecallOptions:
        now = self.clock()
        at = now if options.as_of is None else max(now, options.as_of)
        return replace(options, hidden=await find_hidden(self.store, scope, state, at), now=now)


def _user_name(dialogue: Sequence[Utterance], context: Context) -> str:
    """Return the name of the user who speaks in a dialogue, else of the scope's."""
    speakers = (turn.speaker for turn in reversed(dialogue) if turn.role == "user")
    return next(speakers, context.scope.user)
