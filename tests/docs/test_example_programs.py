"""Every program of docs/examples runs as it stands, in an empty folder, and prints something."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.forking import Python

RUN = """
import runpy, sys, warnings

warnings.simplefilter("error")
runpy.run_path(sys.argv[1], run_name="__main__")
"""
EXAMPLES = sorted((Path(__file__).parents[2] / "docs" / "examples").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Python(RUN, str(example)) as process:
        typed = "I'm terrified of ships since the storm.\nShall we sail?\n"
        code, output, errors = process.communicate(typed)
    assert (code, errors) == (0, "")
    assert output.strip()


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 4
