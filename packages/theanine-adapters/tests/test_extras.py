"""The frameworks are extras: nothing loads them but their own integration."""

from __future__ import annotations

import pytest

from support.forking import Python

MODULES = {
    "anthropic": "anthropic",
    "claude_agent_sdk": "claude-agent-sdk",
    "google_adk": "google-adk",
    "langchain": "langchain",
    "langgraph": "langgraph",
    "llama_index": "llama-index",
    "openai_agents": "openai-agents",
    "pydantic_ai": "pydantic-ai",
    "pydantic_ai_harness": "pydantic-ai-harness",
}
PACKAGES = [
    "agents",
    "anthropic",
    "claude_agent_sdk",
    "google",
    "langchain",
    "langgraph",
    "llama_index",
    "pydantic_ai",
    "pydantic_ai_harness",
]


@pytest.mark.parametrize(("module", "extra"), MODULES.items())
def test_a_missing_framework_is_named_with_its_extra(module: str, extra: str) -> None:
    code = f"""
import sys
for package in {PACKAGES}:
    sys.modules[package] = None
import theanine_adapters.{module}
"""
    with Python(code) as process:
        status, _, errors = process.communicate()
    assert status == 1
    assert f"needs an optional part: pip install 'theanine[{extra}]'" in errors


def test_theanine_loads_no_framework() -> None:
    code = f"""
import sys
for package in {PACKAGES}:
    sys.modules.pop(package, None)
import theanine, theanine.client, theanine_adapters, theanine_adapters.conversation
print([package for package in {PACKAGES} if package in sys.modules])
"""
    with Python(code) as process:
        assert process.communicate() == (0, "[]\n", "")
