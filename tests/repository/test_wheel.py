"""Each wheel holds all that its code needs at run time: prompts, demo data, migrations, pages."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from support.tree import PACKAGES, tracked_files

pytest.importorskip(
    "uv_build", reason="the build backend is not installed: `make test` installs it"
)
BUILD = "import sys, uv_build; print(uv_build.build_wheel(sys.argv[1]))"


@pytest.fixture(scope="module", params=sorted(PACKAGES))
def package(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def wheel(package: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    built = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)],
        cwd=PACKAGES[package].parents[1],
        env={**os.environ, "PATH": path},  # the backend looks for its own executable there
        capture_output=True,
        check=True,
        text=True,
    )
    return folder / built.stdout.split()[-1]


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def test_every_source_file_is_in_the_wheel(package: str, wheel: Path) -> None:
    source = PACKAGES[package]
    ours = {
        path.relative_to(source.parent).as_posix()
        for path in tracked_files()
        if source in path.parents
    }
    assert f"{source.name}/py.typed" in ours
    assert ours - names(wheel) == set()
    assert not [name for name in names(wheel) if name.endswith((".pyc", ".db"))]


def test_metadata(package: str, wheel: Path) -> None:
    about = metadata(wheel)
    assert about["Name"] == package
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"] == ">=3.11"
    assert any(n.endswith("licenses/LICENSE") for n in names(wheel))


def test_the_base_install_requires_nothing_heavy(wheel: Path) -> None:
    base = [r for r in metadata(wheel).get_all("Requires-Dist") or [] if "extra ==" not in r]
    assert base
    assert not [r for r in base if r.startswith(("torch", "transformers", "pydantic-ai"))]


def test_all_packages_have_one_version(package: str, wheel: Path) -> None:
    about = metadata(wheel)
    required = [
        each for each in about.get_all("Requires-Dist") or [] if each.startswith("theanine")
    ]
    assert all(f"=={about['Version']}" in each for each in required)
    assert package == "theanine" or f"theanine=={about['Version']}" in required
