"""The wheel holds all that the code needs when it runs: prompts, demo data, migrations, pages."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from house.tree import ROOT, SOURCE, tracked_files

pytest.importorskip("uv_build", reason="the builder is not installed: make test does it")
BUILD = "import sys, uv_build; print(uv_build.build_wheel(sys.argv[1]))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (ROOT / "README.md").is_file():
        pytest.skip("no README.md yet, which the project's description is read from")
    folder = tmp_path_factory.mktemp("wheel")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    built = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)],
        cwd=ROOT,
        env={**os.environ, "PATH": path},  # the builder looks for its other half there
        capture_output=True,
        check=True,
        text=True,
    )
    return folder / built.stdout.split()[-1]


def test_every_file_of_the_source_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    ours = {
        path.relative_to(SOURCE.parent).as_posix()
        for path in tracked_files()
        if SOURCE in path.parents
    }
    assert "theanine/py.typed" in ours
    assert ours - held == set()
    assert not [name for name in held if name.endswith((".pyc", ".db"))]


def test_it_says_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        about = message_from_bytes(archive.read(name))
        names = archive.namelist()
    assert about["Name"] == "theanine"
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"] == ">=3.11"
    assert any(n.endswith("licenses/LICENSE") for n in names)


def test_nothing_heavy_is_asked_of_every_user(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        asked = message_from_bytes(archive.read(name)).get_all("Requires-Dist") or []
    base = [line for line in asked if "extra ==" not in line]
    assert base
    assert not [line for line in base if line.startswith(("torch", "transformers", "pydantic-ai"))]
