"""The agent of a run in which no agent is asked: everything there is, is answered already."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.errors import SettingsError
from theanine.methods.base import Reply
from theanine.store import Store
from theanine_bench.runs.item import Item
from theanine_bench.runs.runner import Running
from theanine_bench.samples import Case, Group, Stage
from theanine_bench.targets.target import Tested, log_alone


class Nobody(Tested):
    """Opens the run's store for the judge's journal, and answers nothing."""

    def __init__(self, running: Running, store: Store) -> None:
        super().__init__(log_alone(store))
        self._bench = running.plan.bench

    async def reply(self, case: Case, user: str, budget: int | None) -> Reply:
        """Raises SettingsError: the plan of such a run has every case ready."""
        raise SettingsError(f"bench {self._bench} asks no agent; its plan leaves a case open")


def group_of(items: Sequence[Item], name: str, dropped: dict[str, int] | None = None) -> Group:
    """One group with a case for each item that is ready, in their order."""
    cases = tuple(Case(id=item.id, category=item.category, dialogue=()) for item in items)
    return Group(id=name, stages=(Stage(cases=cases),), dropped=dropped or {})
