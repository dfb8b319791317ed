"""The agent of a run in which no agent is asked: everything there is, is answered already."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from theanine.conversation import History, Scope, Utterance
from theanine.errors import SettingsError
from theanine.evaluation.cases import Case, Group, Stage
from theanine.evaluation.runs.item import Item
from theanine.evaluation.runs.running import Running
from theanine.methods.base import Reply
from theanine.remembering import RememberReport
from theanine.store import Store


class Nobody:
    """Opens the run's store for the judge's journal, and answers nothing."""

    def __init__(self, running: Running, store: Store) -> None:
        self._bench, self._store = running.plan.bench, store

    async def __aenter__(self) -> Nobody:
        await self._store.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._store.close()

    async def log(self, history: History, user: str) -> None:
        """Nothing: nobody listens."""

    async def pending(self, user: str) -> Sequence[object]:
        """Nothing ever is."""
        return ()

    async def remember(self, user: str) -> Sequence[RememberReport]:
        """Nothing is remembered."""
        return ()

    async def reply(
        self,
        dialogue: Sequence[Utterance],
        scope: Scope,
        speaker: str,
        *,
        budget: int | None = None,
    ) -> Reply:
        """Raises SettingsError: the plan of such a run has every case ready."""
        raise SettingsError(f"bench {self._bench} asks no agent; its plan leaves a case open")


def group_of(items: Sequence[Item], name: str, dropped: dict[str, int] | None = None) -> Group:
    """One group with a case for each item that is ready, in their order."""
    cases = tuple(Case(id=item.id, category=item.category, dialogue=()) for item in items)
    return Group(id=name, stages=(Stage(cases=cases),), dropped=dropped or {})
