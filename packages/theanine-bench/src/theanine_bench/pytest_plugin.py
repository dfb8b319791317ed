"""The pytest fixture ``teafarm``: tests that an agent is not fooled about its past.

::

    def test_not_fooled(teafarm):
        result = teafarm("questions.txt", agent=my_agent)
        assert result.success >= 0.9

Nothing else of theanine is imported until a test uses the fixture.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from theanine_bench.teafarm.report import Report
    from theanine_bench.teafarm.run import Agent

_REPORTS = pytest.StashKey["list[Report]"]()


class TeaFarm:
    """Runs question files against agents; the value of the fixture ``teafarm``."""

    def __init__(self, item: pytest.Item, folder: Path) -> None:
        self._item, self._folder = item, folder
        self._reports: list[Report] = []
        item.stash[_REPORTS] = self._reports

    def __call__(
        self,
        file: str | Path,
        agent: Agent = None,
        *,
        data: str | Path | None = None,
        store: str | Path | None = None,
        judge: str | None = None,
        **config: Any,
    ) -> Report:
        """Run the questions of a file; the report's ``success`` is the share of correct answers.

        Paths are relative to the test's file.

        Args:
            agent: a function from the new session to the reply, an open ``theanine.Client``, the
                URL of an OpenAI-compatible agent, or None for the memory method of ``config``.
            data, store: the earlier sessions, instead of those that the file names.
            judge: the judging model; by default ``THEANINE_JUDGE``, else the questions' phrases.
            config: other fields of :class:`theanine_bench.teafarm.TeaFarmConfig`.
        """
        from theanine_bench.teafarm.run import TeaFarmConfig, run_teafarm

        folder = self._item.path.parent
        judge = judge or os.environ.get("THEANINE_JUDGE") or "local"
        report = run_teafarm(
            folder / file,
            self._folder / str(len(self._reports) + 1),
            agent,
            data=folder / data if data else None,
            store=str(folder / store) if store else None,
            config=TeaFarmConfig(judge=judge, **config),
        )
        self._reports.append(report)
        return report


@pytest.fixture
def teafarm(request: pytest.FixtureRequest, tmp_path: Path) -> TeaFarm:
    """Run counterfactual questions against an agent; see theanine's docs/teafarm.md."""
    return TeaFarm(request.node, tmp_path / "teafarm")


@pytest.hookimpl(hookwrapper=True)  # wrapper=True needs a newer pytest
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Add the TeaFarm reports of a failed test to its output."""
    test_report = (yield).get_result()
    if test_report.failed:
        for report in item.stash.get(_REPORTS, ()):
            test_report.sections.append(("TeaFarm", str(report)))
