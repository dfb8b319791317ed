"""Live progress of a run on a terminal: by category, with running means of the scores."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.live import Live as RichLive
from rich.table import Table

from theanine_bench.runs.runner import Progress
from theanine_bench.runs.task import Task
from theanine_bench.samples import SampleResult

COLUMNS = 6
"""Scores that have a column; the final table has all."""


class Live:
    """A table on standard error while it is entered; nothing where that is no terminal."""

    def __init__(self, task: Task) -> None:
        self._totals = Counter(s.category for group in task.groups for s in group.samples)
        self._started = time.monotonic()
        self._first: tuple[float, int] | None = None
        self._progress: Progress | None = None
        self._display: RichLive | None = None

    def __enter__(self) -> Live:
        console = Console(stderr=True)
        if console.is_terminal:
            self._display = RichLive(
                get_renderable=self.table, console=console, refresh_per_second=2, transient=True
            )
            self._display.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._display:
            self._display.stop()

    def update(self, progress: Progress) -> None:
        """Show this progress from now on."""
        self._progress = progress
        if self._first is None:  # samples of an earlier run say nothing about this one's speed
            self._first = (time.monotonic(), progress.done)

    def table(self) -> RenderableType:
        """Return the table as of now."""
        results = tuple(self._progress.results) if self._progress else ()
        names = list(dict.fromkeys(name for r in results for name in r.scores))[:COLUMNS]
        table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
        for heading in ("", "done", *names, "failed"):
            table.add_column(heading, justify="right" if heading else "left")
        if len(self._totals) > 1:
            for category in sorted(self._totals):
                own = [result for result in results if result.category == category]
                table.add_row(*_row(category or "–", own, self._totals[category], names))
        table.add_row(*_row("all", results, self._totals.total(), names), style="bold")
        return Group(table, self._status())

    def _status(self) -> str:
        parts = [f"{_clock(time.monotonic() - self._started)} elapsed"]
        if self._progress is None:
            return f"{parts[0]}; remembering before the first answer"
        if (left := self._seconds_left(self._progress)) is not None:
            parts.append(f"about {_clock(left)} left")
        spent = self._progress.spent
        parts.append("cost unknown" if spent is None else f"${spent:,.4f}")
        return "; ".join(parts)

    def _seconds_left(self, progress: Progress) -> float | None:
        if self._first is None or progress.done == self._first[1]:
            return None
        since, done_before = self._first
        pace = (time.monotonic() - since) / (progress.done - done_before)
        return pace * (progress.total - progress.done)


def _row(
    name: str, results: Sequence[SampleResult], total: int, scores: Iterable[str]
) -> list[str]:
    failed = sum(not result.complete for result in results)
    means = [_mean([r.scores[s] for r in results if s in r.scores]) for s in scores]
    return [name, f"{len(results)} of {total}", *means, str(failed or "")]


def _mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.3f}" if values else "–"


def _clock(seconds: float) -> str:
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"
