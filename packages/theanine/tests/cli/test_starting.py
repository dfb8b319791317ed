"""What a command imports: nothing heavy that it does not use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import theanine

QUESTION = "Who feeds the cat?"
PROMPT = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "a", "prompt": QUESTION})

SERVING = ["fastapi", "mcp", "starlette", "uvicorn"]
MODELS = ["onnxruntime", "tokenizers", "safetensors"]
RECALLING = ["theanine.recall.recall", "theanine.retrieval.candidates", "theanine.linking.reading"]
REMEMBERING = [
    "theanine.methods.theanine.paper",
    "theanine.methods.theanine.relate_session",
    "theanine.methods.theanine.remember",
    "theanine.remembering.rebuild",
    "theanine.remembering.remember",
    "theanine.summarization",
]
REPLYING = ["httpx", "openai", "pydantic_ai", "theanine.methods.shared.respond"]
OTHER_STORES = ["alembic", "psycopg", "sqlalchemy.dialects.postgresql", "sqlalchemy.orm"]
NEVER = [
    *REMEMBERING,
    *REPLYING,
    *OTHER_STORES,
    "opentelemetry.sdk",
    "pandas",
    "scipy",
    "sentence_transformers",
    "sklearn",
    "theanine.importers",
    "theanine.profile.build",
    "theanine.store.residue_scan",
    "theanine_bench",
    "theanine_methods",
    "torch",
    "wordllama",
]
COMMANDS = {
    "log": (["log"], [*SERVING, *MODELS, *RECALLING, "numpy"]),
    "memories": (["memories"], [*SERVING, *MODELS]),
    "recall": (["recall", QUESTION], SERVING),
    "hook of a coding agent": (["hook"], [*SERVING, "rich"]),
    "mcp": (["mcp"], ["fastapi", "theanine.cli.rendering", *MODELS, *RECALLING, "numpy"]),
}
"""Arguments of each command, and what it must not import besides what none of them needs."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("starting") / "memory.db"
    with theanine.open(path) as client:
        client.user("ana").add("My neighbor feeds the cat while we are away.")
    return path


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_imports_nothing_heavy_that_it_does_not_use(name: str, store: Path) -> None:
    arguments, unused = COMMANDS[name]
    if name == "mcp":
        pytest.importorskip("mcp")
    loaded = modules_of(*arguments, "--user", "ana", "--store", str(store), home=store.parent)
    assert sorted(loaded.intersection([*unused, *NEVER])) == []
    assert "sqlalchemy" in loaded  # it did open the store


def test_a_command_that_the_resident_process_runs_imports_next_to_nothing() -> None:
    code = "import sys; from theanine.cli.resident import client; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    others = {"asyncio", "dataclasses", "inspect", "logging", "pathlib", "subprocess", "typer"}
    assert others.intersection(ran.stdout.split()) == set()


def modules_of(*arguments: str, home: Path) -> set[str]:
    """Return the names of the modules that a command has imported when it ends."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "theanine", *arguments],
        input=PROMPT,
        env={
            **os.environ,
            "HOME": str(home),
            "XDG_STATE_HOME": str(home),
            "THEANINE_HOOK_LIMIT": "120",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    lines = ran.stderr.splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
