"""What ``import theanine`` offers, and what it costs."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import theanine
from support.tree import PACKAGES

PUBLIC = [
    "AddReport",
    "AsyncClient",
    "AsyncLiveSession",
    "AsyncReplyStream",
    "AsyncUserMemory",
    "AsyncWorker",
    "Client",
    "CopyReport",
    "Estimate",
    "Explanation",
    "ForgetReport",
    "History",
    "ImportReport",
    "Limits",
    "Link",
    "LiveSession",
    "Mark",
    "Memory",
    "ModelError",
    "ModelSettings",
    "OpenOptions",
    "Part",
    "Profile",
    "RebuildEstimate",
    "RebuildReport",
    "Recollection",
    "Relation",
    "RememberReport",
    "Remembering",
    "RememberingFailed",
    "Reply",
    "ReplyStream",
    "Scope",
    "Session",
    "StoreUnavailable",
    "TheanineConfig",
    "TheaninePaperConfig",
    "TheanineError",
    "Timeline",
    "ToolCall",
    "Transcript",
    "Turn",
    "UserError",
    "UserMemory",
    "UserSettings",
    "Utterance",
    "Worker",
    "WriteUnconfirmed",
    "__version__",
    "aconnect",
    "acopy_store",
    "aopen",
    "connect",
    "copy_store",
    "open",
]
HEAVY = (
    "alembic", "numpy", "openai", "pydantic", "pydantic_ai", "rich", "scipy", "sqlalchemy",
    "tokenizers", "typer", "wordllama",
)  # fmt: skip


def test_the_public_names_are_these_and_no_others() -> None:
    assert sorted(theanine.__all__) == sorted(PUBLIC)


def test_every_public_name_is_there() -> None:
    missing = [name for name in theanine.__all__ if not hasattr(theanine, name)]
    assert missing == []


def test_every_public_name_says_what_it_is() -> None:
    undocumented = [
        name
        for name in theanine.__all__
        if callable(value := getattr(theanine, name)) and not (value.__doc__ or "").strip()
    ]
    assert undocumented == []


def test_dir_shows_the_public_names() -> None:
    assert set(theanine.__all__) <= set(dir(theanine))


def test_the_version_is_the_one_that_is_released() -> None:
    project = tomllib.loads(
        (PACKAGES["theanine"].parents[1] / "pyproject.toml").read_text("utf-8")
    )["project"]
    assert theanine.__version__ == project["version"]


def test_importing_loads_nothing_heavy() -> None:
    program = f"import sys, theanine; print(*(m for m in {HEAVY!r} if m in sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    ).stdout.split()
    assert loaded == []
