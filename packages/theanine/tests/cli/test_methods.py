"""The list of installed methods, and the settings of one."""

from __future__ import annotations

import sys
from importlib import invalidate_caches
from pathlib import Path

import pytest

from support.running import Terminal
from theanine.errors import MissingExtra
from theanine.methods.registry import EXTRA_METHODS, METHODS, all_settings, names, open_method

PLUGIN = """
from theanine_methods.baselines.method import NoMemory

class Mine(NoMemory):
    \"\"\"Keeps nothing.\"\"\"
    name = "mine"
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with a method that loads, and one that doesn't."""
    (tmp_path / "mine.py").write_text(PLUGIN, "utf-8")
    (info := tmp_path / "their_package-1.0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    points = "[theanine.methods]\nmine = mine:Mine\nbroken = mine:Other\n"
    (info / "entry_points.txt").write_text(points, "utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    invalidate_caches()


@pytest.mark.usefixtures("installed")
def test_methods_of_packages_are_listed_beside_the_bundled(run: Terminal) -> None:
    rows = {row["method"]: row for row in run.bare("methods", "--json").json}
    assert [*rows] == [*METHODS, *EXTRA_METHODS, "broken", "mine"]
    assert all(rows[name]["about"] for name in rows)
    assert {rows[name]["package"] for name in METHODS} == {"theanine"}
    assert {rows[name]["package"] for name in EXTRA_METHODS} == {"theanine-methods"}
    assert (rows["mine"]["package"], rows["mine"]["about"]) == ("their-package", "Keeps nothing.")
    assert "broken of mine:Other failed to load" in rows["broken"]["about"]
    assert "their-package" in run.bare("methods").out


@pytest.mark.parametrize("name", ["secom", "no-memory", "theanine"])
def test_settings_are_listed_with_those_of_the_paper(run: Terminal, name: str) -> None:
    rows = run.bare("methods", name, "--json").json
    assert {row["setting"]: row["default"] for row in rows} == all_settings(name, {})
    shown = run.bare("methods", name).out
    assert "paper=true" in shown and rows[0]["setting"] in shown


def test_a_method_that_is_not_installed_names_what_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "secom" in names()
    monkeypatch.setattr(sys, "path", [])
    assert names() == [*METHODS]
    with pytest.raises(MissingExtra, match=r"method secom needs .*'theanine\[methods\]'") as caught:
        open_method("secom")
    assert "packages/theanine-methods 'packages/theanine[methods]'" in str(caught.value)
