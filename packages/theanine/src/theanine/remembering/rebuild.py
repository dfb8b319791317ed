"""Remember the log with another method or other settings, and estimate what that costs.

A method that has not remembered a session finds it pending, however old it is. To remember
sessions *again*, the method runs under a temporary name, its stage, which replaces the method's
own memories in one transaction when nothing is pending any more. So the old memories are there
until then, and an interrupted rebuild continues where it stopped.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from theanine.errors import DamagedData, SettingsError
from theanine.llm.base import PricedModel
from theanine.llm.chat import Chat
from theanine.methods.base import Estimate, Method, remembered_turns, stored_id
from theanine.remembering.left_out import LeftOut, for_each_scope
from theanine.remembering.remember import RememberWorker
from theanine.remembering.report import Progress, RememberReport
from theanine.retrieval.scope_cache import ScopeCache
from theanine.store.base import Store
from theanine.store.values import Pending
from theanine.types import LOCAL_MODEL, Scope, Usage

SECONDS_PER_CALL = 1.0
"""Assumed latency of a model, if the journal has no call of it."""
TOKENS_PER_SECOND = 60.0
"""Assumed output speed of a model, if the journal has no call of it."""
TURNS_PER_SECOND = 300.0
"""Speed without a model: what `theanine compare` measures on two cores, rounded down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildEstimate(Usage):
    """Expected usage of a rebuild, an upper bound: replies in the journal are not paid again.

    Attributes:
        fresh: replies in the journal are asked for and paid again.
        method: the method's id.
        model: the model's name, or ``local``.
        sessions, turns: how many are pending.
        replaced: number of memories that will be dropped at the end, by method.
        left_out: users whose sessions are not counted, because stored data is damaged.
    """

    method: str
    model: str
    sessions: int
    turns: int
    replaced: Mapping[str, int] = field(default_factory=dict[str, int])
    fresh: bool = False
    left_out: Sequence[LeftOut] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildReport:
    """The result of a rebuild.

    Attributes:
        reports: one for each session that was attempted.
        waiting: sessions that are still pending, with why they failed. If there are any, but for
            users whose data is damaged, nothing was dropped, and the next rebuild continues.
        replaced: number of memories that were dropped, by method.
        left_out: users for whom it isn't done, because stored data is damaged.
    """

    reports: Sequence[RememberReport]
    waiting: Sequence[Pending] = ()
    replaced: Mapping[str, int] = field(default_factory=dict[str, int])
    left_out: Sequence[LeftOut] = ()

    @property
    def complete(self) -> bool:
        """Whether everything is remembered."""
        return not self.waiting and not self.left_out


class Rebuilder:
    """Rebuilds one method's memories.

    ``again`` replaces those that it has; ``fresh`` does, and asks the model again instead of
    replaying the journal. Of an interrupted fresh rebuild, only the calls of the session that was
    interrupted are repeated.

    Raises SettingsError for ``fresh`` without a model.
    """

    def __init__(
        self,
        store: Store,
        method: Method,
        chat: Chat | None,
        indexes: ScopeCache,
        worker: RememberWorker,
        *,
        again: bool,
        fresh: bool,
    ) -> None:
        if fresh and chat is None:
            raise SettingsError(
                "a fresh rebuild asks a language model again, and none is set: "
                "name one, or rebuild with again"
            )
        self._store, self._again, self._fresh = store, again or fresh, fresh
        self._chat = chat.asking_again() if chat and fresh else chat
        self._left_out: list[LeftOut] = []
        self._id, self._name = method.name, stored_id(method)
        self._method, self._worker = method, worker
        if self._again:
            self._method = cast("Method", _Stage(method, _stage_name(method, chat, fresh)))
            stage_indexes = indexes.with_method(stored_id(self._method))
            self._worker = worker.with_method(self._method, stage_indexes, self._chat)

    async def estimate(self, scope: Scope | None, *, instead: bool) -> RebuildEstimate:
        """Estimate the cost of :meth:`rebuild`.

        Of the earlier turns that a method shows again, those of pending sessions are counted.
        """
        pending = await self._store.pending(stored_id(self._method), scope)
        total, turn_count = Estimate(), 0
        estimate_earlier = getattr(self._method, "estimate_earlier", None)
        earlier = Counter[Scope]()
        left_out: dict[Scope, LeftOut] = {}
        for session in pending:
            try:
                turns, _ = await self._store.pending_input(
                    session.scope, session.session, stored_id(self._method)
                )
            except DamagedData as error:
                left_out[session.scope] = LeftOut(session.scope, str(error))
                continue
            turn_count += len(turns)
            if self._chat:
                remembered = remembered_turns(self._method, turns)
                total += self._method.estimate(remembered)
                if estimate_earlier is not None:
                    total += estimate_earlier(earlier[session.scope])
                earlier[session.scope] += len(remembered)
        return RebuildEstimate(
            method=self._id,
            model=self._chat.model.name if self._chat else LOCAL_MODEL,
            sessions=len(pending),
            turns=turn_count,
            calls=total.calls,
            input_tokens=total.input_tokens,
            output_tokens=total.output_tokens,
            cost=self._cost(total),
            seconds=await self._seconds(total, turn_count),
            replaced=await self._replaced(scope, instead),
            fresh=self._fresh,
            left_out=tuple(left_out.values()),
        )

    async def rebuild(
        self, scope: Scope | None, *, instead: bool, progress: Progress | None
    ) -> RebuildReport:
        """Remember what is pending; when nothing is, drop what this rebuild replaces.

        Users whose data is damaged keep what they have, and hold up no other.
        """
        replaced = await self._replaced(scope, instead)
        if self._again:  # stages of other settings would never be finished
            stages = [name for name in await self._store.methods(scope) if self._is_stage(name)]
            stale = [name for name in stages if name != stored_id(self._method)]
            await self._store.delete_method_data(stale, scope)
        reports: list[RememberReport] = []
        while True:  # sessions may end in the meantime
            attempted = await self._worker.remember(scope, progress)
            reports += attempted
            damaged = {report.scope for report in reports if report.damaged} - {scope}
            waiting = await self._store.pending(stored_id(self._method), scope)
            if any(session.scope not in damaged for session in waiting):
                if not attempted or any(report.failure for report in attempted):
                    return RebuildReport(reports=reports, waiting=waiting, left_out=self._left_out)
            elif not self._again or await self._everywhere(scope, damaged, self._promote):
                break  # otherwise a session has just ended
        await self._everywhere(scope, damaged, self._carry_marks)
        others = [name for name in replaced if name != self._name]
        if others and not await self._everywhere(scope, damaged, partial(self._drop, others)):
            waiting = await self._store.pending(self._name, scope)
            return RebuildReport(reports=reports, waiting=waiting, left_out=self._left_out)
        for each in damaged:
            for name, count in (await self._store.methods(each)).items():
                replaced[name] = replaced.get(name, 0) - count
        return RebuildReport(
            reports=reports,
            waiting=waiting,
            replaced={name: count for name, count in replaced.items() if count > 0},
            left_out=self._left_out,
        )

    async def _everywhere(
        self,
        scope: Scope | None,
        damaged: Collection[Scope],
        work: Callable[[Scope | None], Awaitable[bool]],
    ) -> bool:
        """Do the work in one scope, or all that are not damaged; return whether it is done."""
        done: list[bool] = []

        async def note(each: Scope | None) -> None:
            done.append(await work(each))

        self._left_out += await for_each_scope(self._store, scope, note, damaged)
        return all(done)

    async def _promote(self, scope: Scope | None) -> bool:
        return await self._store.promote(stored_id(self._method), self._name, scope) is not None

    async def _carry_marks(self, scope: Scope | None) -> bool:
        await self._store.carry_marks(self._name, scope)
        return True

    async def _drop(self, methods: Sequence[str], scope: Scope | None) -> bool:
        dropped = self._store.delete_method_data(methods, scope, replacement=self._name)
        return await dropped is not None

    async def _replaced(self, scope: Scope | None, instead: bool) -> dict[str, int]:
        """Return the number of memories to drop, by method."""
        counts = await self._store.methods(scope)
        return {
            name: count
            for name, count in counts.items()
            if (name == self._name and self._again)
            or (instead and name != self._name and not self._is_stage(name))
        }

    def _is_stage(self, name: str) -> bool:
        return name.startswith(self._name + _SEPARATOR)

    def _cost(self, total: Estimate) -> float | None:
        if not self._chat or not total.calls:
            return 0.0
        model = self._chat.model
        if not isinstance(model, PricedModel):
            return None
        return model.price(total.input_tokens, total.output_tokens)

    async def _seconds(self, total: Estimate, turns: int) -> float:
        seconds = turns / TURNS_PER_SECOND
        if not self._chat or not total.calls:
            return seconds
        name = self._chat.model.name
        lines = [line for line in await self._store.costs() if line.model == name]
        calls = sum(line.calls - line.failed for line in lines)
        if calls:
            return seconds + total.calls * sum(line.seconds for line in lines) / calls
        return seconds + total.calls * SECONDS_PER_CALL + total.output_tokens / TOKENS_PER_SECOND


_SEPARATOR = "~"
"""Separates, in a stage's name, the method's name from the hash of its settings."""


def _stage_name(method: Method, chat: Chat | None, fresh: bool) -> str:
    named = (getattr(method, "config", None), chat.model.name if chat else LOCAL_MODEL)
    settings = repr((*named, "fresh") if fresh else named)
    return f"{stored_id(method)}{_SEPARATOR}{hashlib.sha256(settings.encode()).hexdigest()[:12]}"


class _Stage:
    """A method under another name."""

    def __init__(self, method: Method, name: str) -> None:
        self._method, self.name, self.memories_of = method, name, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)
