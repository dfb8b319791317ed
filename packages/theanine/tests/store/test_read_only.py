"""A store on a read-only disk, or a read-only backup, can be read and not changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import theanine
from theanine.errors import StoreError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits"),
]
# The superuser may write anywhere unless this is taken from it.
AS_OWNER = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
READ = """
import sys, theanine
from theanine.errors import TheanineError
try:
    with theanine.open(sys.argv[1]) as client:
        ana = client.user("ana")
        print(len(ana.turns()), len(ana.memories()), len(list(client.export())) > 5)
        print(bool(ana.recall("Where is the boat?")))
        with ana.session() as session:
            session.hear("I sold it.")
except TheanineError as error:
    print(type(error).__name__, error)
"""


def read_without_rights(path: Path) -> list[str]:
    prefix = AS_OWNER if os.geteuid() == 0 else ()
    if prefix and not shutil.which(prefix[0]):
        pytest.skip("the superuser can write to read-only files, and setpriv isn't installed")
    command = [*prefix, sys.executable, "-c", READ, str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return ran.stdout.splitlines()


def make_store(path: Path) -> None:
    with theanine.open(path) as client, client.user("ana").session() as session:
        session.hear("I keep my boat in the harbour of Riga.")


@pytest.mark.parametrize(("folder", "file"), [(0o500, 0o400), (0o700, 0o400), (0o500, 0o600)])
def test_a_read_only_store_is_read_and_not_changed(tmp_path: Path, folder: int, file: int) -> None:
    path = tmp_path / "disk" / "memory.db"
    path.parent.mkdir()
    make_store(path)
    before = path.read_bytes()
    path.chmod(file)
    path.parent.chmod(folder)
    try:
        counts, recalled, refused = read_without_rights(path)
    finally:
        path.parent.chmod(0o700)
    assert counts == "1 1 True"
    assert recalled == "True"
    assert refused.startswith(f"StoreError {path} can only be read")
    assert path.read_bytes() == before


def test_what_only_the_log_has_is_not_left_out(tmp_path: Path) -> None:
    path, backup = tmp_path / "memory.db", tmp_path / "backup"
    backup.mkdir()
    with theanine.open(path) as client, client.user("ana").session() as session:
        session.hear("I keep my boat in the harbour of Riga.")
        for tail in ("", "-wal"):
            shutil.copy(f"{path}{tail}", backup / f"memory.db{tail}")
    backup.chmod(0o500)
    try:
        [refused] = read_without_rights(backup / "memory.db")
    finally:
        backup.chmod(0o700)
    assert "was not closed: its newest changes are in" in refused
    assert StoreError.__name__ in refused
