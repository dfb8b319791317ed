"""Whatever a command writes is its owner's alone, under any umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.running import Terminal
from theanine.demo import HARBOUR
from theanine.private_files import make_folder, write_text
from theanine_bench.files import append_line, write_atomically

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def exposed(folder: Path) -> list[str]:
    """Return what others than the owner may use in a folder, with its mode."""
    return [
        f"{path.relative_to(folder)} {stat.S_IMODE(path.stat().st_mode):o}"
        for path in sorted(folder.rglob("*"))
        if path.stat().st_mode & 0o077
    ]


@pytest.mark.usefixtures("open_umask")
def test_files_are_private_and_keep_the_permissions_they_were_given(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "file.json"
    make_folder(file.parent)
    make_folder(file.parent)
    write_text(file, "1")
    write_atomically(file.with_name("atomic"), "1")
    append_line(file.with_name("lines"), "1")
    assert exposed(tmp_path) == []
    for path in (file, file.with_name("atomic"), file.with_name("lines")):
        path.chmod(0o640)
    write_text(file, "2")
    write_atomically(file.with_name("atomic"), "2")
    append_line(file.with_name("lines"), "2")
    assert exposed(tmp_path) == [f"a/b/{name} 640" for name in ("atomic", "file.json", "lines")]
    with pytest.raises(FileExistsError):
        make_folder(file)


@pytest.mark.slow
@pytest.mark.usefixtures("open_umask")
def test_commands_write_for_the_owner_alone(
    run: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = tmp_path / "places"
    monkeypatch.setenv("XDG_DATA_HOME", str(places / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(places / "cache"))
    monkeypatch.setenv("THEANINE_CONFIG", str(places / "config" / "theanine.toml"))
    out, questions = tmp_path / "out", tmp_path / "questions"
    out.mkdir(mode=0o700)
    few = ("--limit", "2")
    for command in (
        ("config", "set", "user", "ana"),
        ("import", str(HARBOUR)),  # into the default store
        ("import", str(HARBOUR), "--store", str(out / "named.db")),
        ("remember",),
        ("rebuild", "--method", "exchange", "--yes"),
        ("add", "I moved to Riga.", "--user", "Nora"),
        ("timeline", "--user", "Nora", "--html", str(out / "timeline.html")),
        ("compare", "--methods", "exchange,no-memory", *few, "--out", str(out / "c"),
         "--html", str(out / "c.html"), "--json", str(out / "c.json")),
        ("bench", "report", str(out / "c")),
        ("bench", "export", str(out / "c"), "--format", "csv", "--out", str(out / "c.csv")),
        ("bench", "diff", str(out / "c"), str(out / "c"), "--html", str(out / "d.html")),
        ("bench", "rescore", str(out / "c"), "--out", str(out / "again")),
        ("bench", "responses", str(HARBOUR), *few, "--metric", "rouge-l", "--out", str(out / "r")),
        ("teafarm", "make", str(HARBOUR), "--out", str(questions / "asked.txt")),
    ):  # fmt: skip
        ran = run.bare(*command, fine=False)
        assert ran.code == 0, (command, ran)
        assert exposed(tmp_path) == [], command
    assert {"data", "config"} <= {path.name for path in places.iterdir()}
