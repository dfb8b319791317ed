"""Write the table of docs/integrations/README.md from a run of the integrations' tests.

``python docs/generate_integrations.py`` after `make extras`; it takes about a minute.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "integrations" / "README.md"
PACKAGES = ROOT / "packages"
NODE_PACKAGES = ROOT / "requirements" / "conformance" / "package.json"
HEAD = "Framework | Package | Version | Held to | Tests passed\n--- | --- | --- | --- | ---:"
FRAMEWORKS = {
    "langgraph": ("LangGraph", "langgraph-checkpoint", "its `InMemoryStore`, on generated cases"),
    "langchain": ("LangChain", "langchain", "its agents, with a scripted model"),
    "openai_agents": (
        "OpenAI Agents SDK",
        "openai-agents",
        "its `SQLiteSession`, on generated cases; its runner",
    ),
    "pydantic_ai": ("pydantic-ai", "pydantic-ai-slim", "its agents, with a scripted model"),
    "pydantic_ai_harness": (
        "pydantic-ai-harness",
        "pydantic-ai-harness",
        "its `InMemoryStore`, on generated cases; its `Memory`",
    ),
    "anthropic": (
        "Anthropic's memory tool",
        "anthropic",
        "the SDK's tool for a folder of files, on generated cases",
    ),
    "llama_index": ("LlamaIndex", "llama-index-core", "its `Memory`"),
    "google_adk": ("Google ADK", "google-adk", "the contract of `BaseMemoryService`"),
    "claude_agent_sdk": (
        "Claude Agent SDK",
        "claude-agent-sdk",
        "its conformance suite, 14 contracts",
    ),
    "mcp": ("MCP", "mcp", "the SDK's client, with handshakes and without"),
    "mcp_http": ("MCP over HTTP", "mcp", "the same, with keys and walls"),
    "mcp_conformance": ("MCP, official suite", "@modelcontextprotocol/conformance", ""),
}
"""Name, distribution and what the tests compare with, by the name of the module."""


def table() -> str:
    """The table, from the tests that pass now. Raises for a failed or skipped test."""
    passed, notes = run_tests()
    rows = [
        f"[{name}]({_page(module)}) | `{package}` | {_version(package)} "
        f"| {held or '; '.join(notes[module])} | {passed[module]}"
        for module, (name, package, held) in FRAMEWORKS.items()
    ]
    return "\n".join([HEAD, *rows])


def run_tests() -> tuple[dict[str, int], dict[str, list[str]]]:
    """The number of tests that pass, and what they have recorded, by module.

    Raises for a failed or skipped test.
    """
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        files = [str(path) for module in FRAMEWORKS for path in _tests(module)]
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *files]
        subprocess.run(command, cwd=ROOT, check=True)
        root = ElementTree.parse(report).getroot()
    modules = [
        str(case.get("classname")).rpartition("test_")[2]
        for case in root.iter("testcase")
        if not [*case]
    ]
    notes: dict[str, list[str]] = {module: [] for module in FRAMEWORKS}
    for noted in root.iter("property"):  # hypothesis records some, too
        if noted.get("name") in notes:
            notes[str(noted.get("name"))].append(str(noted.get("value")))
    missing = [module for module in FRAMEWORKS if module not in modules]
    if missing:
        raise SystemExit(f"no test of {', '.join(missing)} was run: make extras installs them")
    return {module: modules.count(module) for module in FRAMEWORKS}, notes


def _tests(module: str) -> Iterator[Path]:
    """The file of a module's tests: an adapter's, or that of a server of theanine's own."""
    yield from PACKAGES.glob(f"theanine-adapters/tests/test_{module}.py")
    yield from PACKAGES.glob(f"theanine-server/tests/over_mcp/test_{module}.py")


def _page(module: str) -> str:
    return f"{re.sub('_(harness|http|conformance)$', '', module).replace('_', '-')}.md"


def _version(package: str) -> str:
    if package.startswith("@"):
        return json.loads(NODE_PACKAGES.read_text("utf-8"))["dependencies"][package]
    try:
        return version(package)
    except PackageNotFoundError:
        raise SystemExit(f"{package} is not installed: make extras installs it") from None


def main() -> None:
    """Write the table between the comments of the page."""
    old = PAGE.read_text("utf-8")
    pattern = re.compile(r"(<!-- tests -->\n).*?(<!-- /tests -->)", re.S)
    text = table()
    PAGE.write_text(pattern.sub(lambda m: f"{m[1]}\n{text}\n\n{m[2]}", old), "utf-8")


if __name__ == "__main__":
    main()
