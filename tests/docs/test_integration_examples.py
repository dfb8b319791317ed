"""The examples of docs/examples/integrations, each in two processes: the second recalls."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from server.processes import serving

from support.claude import ScriptedClaude
from support.forking import Python
from theanine.testing import ScriptedServer

RUN = """
import runpy, sys

sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
FEAR = "I'm terrified of ships since the storm."
QUESTION = "Shall we book that cruise on a ship?"
MAX_LINES = 20
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "examples" / "integrations"
PACKAGES = {
    "with_anthropic": "anthropic",
    "with_claude_agent_sdk": "claude_agent_sdk",
    "with_google_adk": "google.adk",
    "with_langchain": "langchain_openai",
    "with_langgraph": "langgraph.graph",
    "with_llama_index": "llama_index.core",
    "with_openai_agents": "agents",
    "with_pydantic_ai": "pydantic_ai",
}
"""The example and the package that it needs."""


def test_every_example_is_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == {*PACKAGES}


def test_the_table_has_the_locked_versions() -> None:
    locks = [ROOT / "requirements" / f"{name}.txt" for name in ("dev", "integrations")]
    pins = {
        pin
        for lock in locks
        for pin in re.findall(r"^([\w.-]+==[\w.]+)", lock.read_text("utf-8"), re.M)
    }
    page = (ROOT / "docs" / "integrations" / "README.md").read_text("utf-8")
    rows = re.findall(r"^\[[^|]*\| `([\w-]+)` \| ([\w.]+) \|", page, re.M)
    assert len(rows) == len(PACKAGES) + 3  # the harness and MCP have no examples of their own
    assert [row for row in rows if "==".join(row) not in pins] == [], (
        "run docs/generate_integrations.py"
    )


def provided(requirement: Requirement) -> Iterator[str]:
    """Yield the distributions that a requirement installs, directly or through its extras."""
    yield canonicalize_name(requirement.name)
    for text in requires(requirement.name) or ():
        inner = Requirement(text)
        extras = requirement.extras or {""}
        if inner.marker is None or any(inner.marker.evaluate({"extra": each}) for each in extras):
            yield canonicalize_name(inner.name)


@pytest.mark.parametrize("example", PACKAGES)
def test_the_extra_installs_what_its_example_needs(example: str) -> None:
    extra = example.removeprefix("with_").replace("_", "-")
    extras, ours = (
        tomllib.loads((ROOT / "packages" / name / "pyproject.toml").read_text("utf-8"))["project"]
        for name in ("theanine-adapters", "theanine")
    )
    version = extras["version"]
    brings = ours["optional-dependencies"][extra]
    assert brings == [f"theanine-adapters[{extra}]=={version}"]
    text = (FOLDER / f"{example}.py").read_text("utf-8")
    needed = {PACKAGES[example]}
    if re.search(r'"openai(-chat)?:', text) and example != "with_langchain":
        needed.add("openai")
    for package in needed:
        pytest.importorskip(package, reason=f"{package} is not installed")
    installed = {
        name
        for requirement in extras["optional-dependencies"][extra]
        for name in provided(Requirement(requirement))
    }
    of_packages = packages_distributions()
    for package in needed:
        distributions = {*map(canonicalize_name, of_packages[package.split(".")[0]])}
        assert distributions & installed, f"theanine[{extra}] lacks {package}"


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.parametrize("example", PACKAGES)
@pytest.mark.parametrize("place", ["store", "service"])
def test_the_second_run_recalls_the_first(
    example: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(PACKAGES[example], reason=f"{PACKAGES[example]} is not installed")
    path = FOLDER / f"{example}.py"
    assert len(path.read_text("utf-8").splitlines()) <= MAX_LINES
    monkeypatch.chdir(tmp_path)
    with ExitStack() as running:
        server = running.enter_context(ScriptedServer("I see."))
        claude = running.enter_context(ScriptedClaude())
        if place == "service":
            service = running.enter_context(serving(tmp_path / "service.db", "--dev"))
            text, opened = path.read_text("utf-8"), 'theanine.open("memory.db")'
            assert opened in text
            path = tmp_path / path.name
            path.write_text(text.replace(opened, f'theanine.connect("{service.url}")'), "utf-8")
        environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        environment |= {"ANTHROPIC_BASE_URL": claude.url, "ANTHROPIC_API_KEY": "none"}
        outputs: list[str] = []
        for words in (FEAR, QUESTION):
            with Python(RUN, str(path), words, environment=environment) as process:
                code, output, errors = process.communicate()
            assert code == 0, errors
            outputs.append(output)
        seen = [request["messages"] for request in server.requests]
    if seen:  # what the example asks of a model
        first, second = seen
        assert FEAR in str(first[-1]) and "remembered" not in str(first)
        assert str(second[-1]["content"]).startswith(QUESTION) and FEAR.split(".")[0] in str(second)
        assert "terrified" not in str(second[:-1])
    else:
        assert outputs[0].count("terrified") <= outputs[0].count(FEAR) <= 1
        assert "terrified" in outputs[1]
