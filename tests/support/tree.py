"""The files of the repository and the sources of its packages."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "theanine": ROOT / "packages/theanine/src/theanine",
    "theanine-methods": ROOT / "packages/theanine-methods/src/theanine_methods",
    "theanine-server": ROOT / "packages/theanine-server/src/theanine_server",
    "theanine-adapters": ROOT / "packages/theanine-adapters/src/theanine_adapters",
    "theanine-bench": ROOT / "packages/theanine-bench/src/theanine_bench",
}


@cache
def tracked_files() -> tuple[Path, ...]:
    """Return all existing files tracked by git; skips the test outside a git checkout."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: nothing says which files are ours")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()
    return tuple(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())
