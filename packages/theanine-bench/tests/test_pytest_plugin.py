"""The pytest fixture ``teafarm`` in a user's project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from support.tree import ROOT
from theanine.demo import HARBOUR
from theanine.testing import ScriptedServer

QUESTIONS = """\
data: talks.jsonl

[yard]
asks: Ana
answers: Theo
question: Will it be overtime again at the shipyard?
answer: She quit the shipyard.
must say:
  quit | resigned
"""
TESTS = """\
import theanine

def say(dialogue):
    assert [said.speaker for said in dialogue] == ["Ana"]
    return "You quit there."

async def later(dialogue):
    return "You quit there."

def forget(dialogue):
    return "Yes, I fear so."

def fail(dialogue):
    raise RuntimeError("boom")

def test_ours(teafarm):
    assert teafarm("q.txt").success == 1
    assert teafarm("q.txt", method="no-memory").success == 0

def test_any_function(teafarm):
    assert teafarm("q.txt", say).success == 1
    assert teafarm("q.txt", later).success == 1

def test_an_open_agent(teafarm, tmp_path):
    from theanine.importers import read_histories
    from theanine.demo import HARBOUR
    with theanine.open(str(tmp_path / "memory.db")) as agent:
        agent.user("ana").log(read_histories(HARBOUR).histories[0])
        agent.user("ana").remember()
        assert teafarm("q.txt", agent).success == 1
        assert len(agent.user("ana").sessions()) == 10

def test_fooled(teafarm):
    result = teafarm("q.txt", agent=forget)
    assert result.success >= 0.9

def test_broken(teafarm):
    teafarm("q.txt", fail)

def test_wrong_type(teafarm):
    teafarm("q.txt", lambda dialogue: 3)
"""


def pytest_in(
    folder: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """A pytest with this plugin and no other, warnings being errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-p", "theanine_bench.pytest_plugin",
         "-p", "no:cacheprovider", "-q", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment},
    )  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A user's project: talks, questions, tests."""
    shutil.copy(HARBOUR, tmp_path / "talks.jsonl")
    (tmp_path / "q.txt").write_text(QUESTIONS, "utf-8")
    (tmp_path / "test_it.py").write_text(TESTS, "utf-8")
    return tmp_path


@pytest.mark.slow
def test_passing_and_failing_tests_with_their_report(project: Path) -> None:
    done = pytest_in(project)
    assert "3 failed, 3 passed" in done.stdout, done.stdout
    for line in (
        "where 0.0 = <TeaFarm: 0 of 1 questions answered correctly (by rule",
        "- TeaFarm -",
        "[yard] Ana asked Theo: Will it be overtime again",
        "right answer: She quit the shipyard.",
        "Theo said: Yes, I fear so.",
        "Incorrect: it doesn't say “quit | resigned”",
        "RuntimeError: boom",
        "the agent must return a str, not int",
    ):
        assert line in done.stdout
    assert "ExceptionGroup" not in done.stdout


@pytest.mark.slow
def test_agent_url_and_judge_from_the_environment(project: Path) -> None:
    (project / "test_it.py").write_text(
        "def test_it(teafarm):\n"
        "    result = teafarm('q.txt', URL, judge_base_url=URL, agent_model='mine')\n"
        "    assert (result.success, result.by_rule) == (1, False)\n",
        "utf-8",
    )
    with ScriptedServer('{"reason": "it is so", "open": false, "verdict": "Correct"}') as server:
        text = (project / "test_it.py").read_text("utf-8").replace("URL", repr(server.base_url))
        (project / "test_it.py").write_text(text, "utf-8")
        done = pytest_in(project, THEANINE_JUDGE="openai:judge")
        assert done.returncode == 0, done.stdout
        assert [request["model"] for request in server.requests] == ["mine", "judge"]


def test_plugin_imports_nothing_until_used(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_it():\n"
        "    ours = sorted(name for name in sys.modules if name.startswith('theanine'))\n"
        "    assert ours == ['theanine_bench', 'theanine_bench.pytest_plugin']\n"
        "    assert not {'numpy', 'sqlalchemy', 'pydantic', 'anyio'} & set(sys.modules)\n",
        "utf-8",
    )
    done = pytest_in(tmp_path, PYTHONSAFEPATH="1")
    assert done.returncode == 0, done.stdout


def test_plugin_is_registered_with_pytest() -> None:
    file = ROOT / "packages" / "theanine-bench" / "pyproject.toml"
    points = tomllib.loads(file.read_text("utf-8"))["project"]["entry-points"]
    assert points["pytest11"] == {"theanine": "theanine_bench.pytest_plugin"}
    assert hasattr(import_module(points["pytest11"]["theanine"]), "teafarm")
