"""How far a run is, live on a terminal: by category, with the running means of the measures."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live as Shown

    from theanine_bench.runs.runner import Progress
    from theanine_bench.runs.task import Task
    from theanine_bench.samples import SampleResult

ALL = "all"
SHOWN = 6
"""Measures that have a column; the table at the end has all."""


class Live:
    """A table on standard error while it is entered; nothing where that is no terminal."""

    def __init__(self, plan: Task) -> None:
        self._totals = Counter(case.category for group in plan.groups for case in group.samples)
        self._started = time.monotonic()
        self._first: tuple[float, int] | None = None
        self._told: Progress | None = None
        self._shown: Shown | None = None

    def __enter__(self) -> Live:
        from rich.console import Console
        from rich.live import Live as Shown

        console = Console(stderr=True)
        if console.is_terminal:
            self._shown = Shown(
                get_renderable=self.table, console=console, refresh_per_second=2, transient=True
            )
            self._shown.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._shown.stop()

    def tell(self, progress: Progress) -> None:
        """What is to be shown from now on."""
        self._told = progress
        if self._first is None:  # what an earlier run did says nothing of this one's speed
            self._first = (time.monotonic(), progress.done)

    def table(self) -> RenderableType:
        """The table as of now."""
        from rich.console import Group
        from rich.table import Table

        items = tuple(self._told.results) if self._told else ()
        names = list(dict.fromkeys(name for item in items for name in item.scores))[:SHOWN]
        table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
        for heading in ("", "done", *names, "failed"):
            table.add_column(heading, justify="right" if heading else "left")
        if len(self._totals) > 1:
            for category in sorted(self._totals):
                own = [item for item in items if item.category == category]
                table.add_row(*_row(category or "–", own, self._totals[category], names))
        table.add_row(*_row(ALL, items, self._totals.total(), names), style="bold")
        return Group(table, self._line())

    def _line(self) -> str:
        passed = time.monotonic() - self._started
        parts = [f"{_clock(passed)} passed"]
        if self._told is None:
            return f"{parts[0]}; remembering comes before the first answer"
        if left := self._left(self._told):
            parts.append(f"about {_clock(left)} left")
        spent = self._told.spent
        parts.append("money unknown" if spent is None else f"${spent:,.4f}")
        return "; ".join(parts)

    def _left(self, told: Progress) -> float | None:
        if self._first is None or told.done == self._first[1]:
            return None
        since, before = self._first
        return (time.monotonic() - since) / (told.done - before) * (told.total - told.done)


def _row(name: str, items: Sequence[SampleResult], total: int, names: Iterable[str]) -> list[str]:
    failed = sum(not item.complete for item in items)
    means = [_mean([i.scores[one] for i in items if one in i.scores]) for one in names]
    return [name, f"{len(items)} of {total}", *means, str(failed or "")]


def _mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.3f}" if values else "–"


def _clock(seconds: float) -> str:
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"
