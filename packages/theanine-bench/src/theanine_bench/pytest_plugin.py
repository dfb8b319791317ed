"""The pytest fixture ``teafarm``: a test that an agent is not fooled about its past.

::

    def test_not_fooled(teafarm):
        result = teafarm("questions.txt", agent=my_agent)
        assert result.success >= 0.9

Loads nothing until a test asks for the fixture.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from theanine.client.sync import Client
    from theanine_bench.targets.callable import AgentFunction
    from theanine_bench.teafarm.report import Report

_REPORTS = pytest.StashKey["list[Report]"]()


class TeaFarm:
    """Asks an agent the questions of a file; made by the fixture ``teafarm``."""

    def __init__(self, item: pytest.Item, folder: Path) -> None:
        self._item, self._folder = item, folder
        self._reports: list[Report] = []
        item.stash[_REPORTS] = self._reports

    def __call__(
        self,
        file: str | Path,
        agent: AgentFunction | Client | str | None = None,
        *,
        data: str | Path | None = None,
        store: str | Path | None = None,
        judge: str | None = None,
        **way: Any,
    ) -> Report:
        """The report; its ``success`` is the share of all questions that were answered rightly.

        Args:
            file: the questions, relative to the test's own file.
            agent: a function from the new session to the reply, an open ``theanine.Client``, an
                OpenAI-compatible address, or None for our own with ``method=…``, ``model=…``.
            data, store: the sessions before, instead of those that the file names.
            judge: the judging model; else ``THEANINE_JUDGE``; else the questions' own phrases.
            way: the other fields of :class:`theanine_bench.teafarm.asking.Way`.
        """
        from theanine_bench.teafarm.asking import Way, ask_agent

        here = self._item.path.parent
        report = ask_agent(
            here / file,
            self._folder / str(len(self._reports) + 1),
            agent,
            data=here / data if data else None,
            store=str(here / store) if store else None,
            way=Way(judge=judge or os.environ.get("THEANINE_JUDGE") or "local", **way),
        )
        self._reports.append(report)
        return report


@pytest.fixture
def teafarm(request: pytest.FixtureRequest, tmp_path: Path) -> TeaFarm:
    """Asks an agent counterfactual questions about its past; see docs/teafarm.md of theanine."""
    return TeaFarm(request.node, tmp_path / "teafarm")


@pytest.hookimpl(hookwrapper=True)  # the newer kind would break an older pytest as it starts
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Show each wrong answer below a test that failed."""
    report = (yield).get_result()
    if report.failed:
        for found in item.stash.get(_REPORTS, ()):
            report.sections.append(("TeaFarm", str(found)))
