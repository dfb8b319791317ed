"""Remember the log anew, by another method or with other settings: what it takes, then doing it.

The log is the truth: a method that has not remembered a session finds it waiting, however old. To
be remembered *again*, sessions are remembered under a stage, a name of its own beside the method's,
which takes the method's place in one transaction when nothing waits any more. So whatever stops a
rebuild, what was remembered before is still there, and the next run goes on where this one was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from theanine.llm.base import PricedModel
from theanine.llm.chat import Chat
from theanine.methods.base import Estimate, Method
from theanine.remembering.remember import Progress, RememberReport, RememberWorker
from theanine.retrieval.scope_index import ScopeCache
from theanine.store.base import Store
from theanine.store.values import Pending
from theanine.types import LOCAL_MODEL, Scope, Usage

CALL_SECONDS = 1.0
"""How long a model takes to begin an answer, where the journal knows no call of its own."""
TOKENS_A_SECOND = 60.0
"""How fast it then writes."""
TURNS_A_SECOND = 300.0
"""How fast the local versions go: what `theanine compare` measures on two cores, rounded down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildEstimate(Usage):
    """Expected usage of a rebuild, an upper bound: replies in the journal are not paid again.

    Attributes:
        method: id of the method that will remember.
        model: name of the model, ``local`` for none.
        sessions, turns: how many wait to be remembered.
        replaced: how many memories will be dropped once all is remembered, by method.
    """

    method: str
    model: str
    sessions: int
    turns: int
    replaced: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildReport:
    """What became of a rebuild.

    Attributes:
        reports: one for each session that was tried.
        waiting: sessions that are still to be remembered, with why they failed; then nothing of
            the old was dropped, and the next rebuild goes on.
        replaced: memories that were dropped, by method.
    """

    reports: Sequence[RememberReport]
    waiting: Sequence[Pending] = ()
    replaced: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def complete(self) -> bool:
        """Whether everything is remembered."""
        return not self.waiting


class Rebuilder:
    """One method over one store. ``again`` makes anew what the method has made already."""

    def __init__(
        self,
        store: Store,
        method: Method,
        chat: Chat | None,
        views: ScopeCache,
        rememberer: RememberWorker,
        *,
        again: bool,
    ) -> None:
        self._store, self._own, self._chat, self._again = store, method, chat, again
        self._method, self._rememberer = method, rememberer
        if again:
            self._method = cast("Method", _Staged(method, _stage(method, chat)))
            self._rememberer = rememberer.with_method(
                self._method, views.with_method(self._method.name)
            )

    async def estimate(self, scope: Scope | None, *, instead: bool) -> RebuildEstimate:
        """What :meth:`rebuild` will about take."""
        waiting = await self._store.pending(self._method.name, scope)
        whole, turns = Estimate(), 0
        for one in waiting:
            said, _ = await self._store.pending_input(one.scope, one.session, self._method.name)
            turns += len(said)
            if self._chat:
                whole += self._method.estimate(said)
        return RebuildEstimate(
            method=self._own.name,
            model=self._chat.model.name if self._chat else LOCAL_MODEL,
            sessions=len(waiting),
            turns=turns,
            calls=whole.calls,
            input_tokens=whole.input_tokens,
            output_tokens=whole.output_tokens,
            cost=self._cost(whole),
            seconds=await self._seconds(whole, turns),
            replaced=await self._replaced(scope, instead),
        )

    async def rebuild(
        self, scope: Scope | None, *, instead: bool, progress: Progress | None
    ) -> RebuildReport:
        """Remember what waits; if nothing waits any more, let it take the place of the old."""
        old = await self._replaced(scope, instead)
        if self._again:  # what an earlier run began with other settings would never be finished
            await self._store.delete_method_data(await self._stages(scope), scope)
        reports: list[RememberReport] = []
        while True:  # sessions may end while it works
            made = await self._rememberer.remember(scope, progress)
            reports += made
            if waiting := await self._store.pending(self._method.name, scope):
                if not made or any(report.failure for report in made):
                    return RebuildReport(reports=reports, waiting=waiting)
            elif not self._again or await self._in_place(scope):
                break
        own = self._own.name
        others = [name for name in old if name != own]
        if others and await self._store.delete_method_data(others, scope, replacement=own) is None:
            return RebuildReport(reports=reports, waiting=await self._store.pending(own, scope))
        return RebuildReport(reports=reports, replaced={name: n for name, n in old.items() if n})

    async def _in_place(self, scope: Scope | None) -> bool:
        """Let the stage be the method's own; False when a session ended just now."""
        placed = await self._store.promote(self._method.name, self._own.name, scope)
        return placed is not None

    async def _replaced(self, scope: Scope | None, instead: bool) -> dict[str, int]:
        """The methods whose memories are to go, with how many there are."""
        known = await self._store.methods(scope)
        own = self._own.name
        return {
            name: count
            for name, count in known.items()
            if (name == own and self._again)
            or (instead and name != own and not name.startswith(f"{own}{_MARK}"))
        }

    async def _stages(self, scope: Scope | None) -> list[str]:
        """Stages of the method that other settings left behind."""
        names = await self._store.methods(scope)
        mark = f"{self._own.name}{_MARK}"
        return [name for name in names if name.startswith(mark) and name != self._method.name]

    def _cost(self, whole: Estimate) -> float | None:
        if not self._chat or not whole.calls:
            return 0.0
        model = self._chat.model
        known = isinstance(model, PricedModel)
        return model.price(whole.input_tokens, whole.output_tokens) if known else None

    async def _seconds(self, whole: Estimate, turns: int) -> float:
        seconds = turns / TURNS_A_SECOND
        if not self._chat or not whole.calls:
            return seconds
        name = self._chat.model.name
        known = [line for line in await self._store.costs() if line.model == name]
        calls = sum(line.calls - line.failed for line in known)
        if calls:
            return seconds + whole.calls * sum(line.seconds for line in known) / calls
        return seconds + whole.calls * CALL_SECONDS + whole.output_tokens / TOKENS_A_SECOND


_MARK = "~"
"""Parts a method's name from the hash of what it is remembered with, in the name of a stage."""


def _stage(method: Method, chat: Chat | None) -> str:
    """The name under which the method's sessions are remembered again with these settings."""
    made_with = repr((getattr(method, "config", None), chat.model.name if chat else LOCAL_MODEL))
    return f"{method.name}{_MARK}{hashlib.sha256(made_with.encode()).hexdigest()[:12]}"


class _Staged:
    """A method under another name."""

    def __init__(self, method: Method, name: str) -> None:
        self._method, self.name = method, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)
