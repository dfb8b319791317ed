"""A damaged export of a chat service is refused in one line, with nothing taken, or imported."""

from __future__ import annotations

import tempfile
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from support.chat_exports import WRITERS, Said
from support.damaging import damaged
from support.fuzzing import cases
from support.running import Terminal

pytestmark = [pytest.mark.fuzz, pytest.mark.slow]

TALK = [
    Said("I booked the ferry to Cres.", "user", 0),
    Said("How do you feel about it?", "assistant", 1),
    Said("It is my first one since the storm.\nStill afraid.", "user", 2),
]


@pytest.mark.parametrize("name", WRITERS)
@cases(6)
@given(data=st.data())
def test_a_damaged_file_is_refused_or_imported(name: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = WRITERS[name](Path(folder), TALK)
        _damage(file, data)
        terminal = Terminal(Path(folder) / "memory.db")
        ran = terminal("import", str(file), "--user", "ana", "--speaker", "Ana", fine=False)
        assert ran.code in (0, 2), ran
        assert "Traceback" not in ran.err
        if ran.code == 0:
            for command in ("log", "memories"):
                terminal(command, "--user", "ana")
            terminal("export")
            return
        first, *listed = ran.err.splitlines()
        assert first.startswith("theanine: "), ran.err
        assert all(line.startswith("  ") for line in listed), "more than a list of invalid items"
        if terminal.store.exists():
            with theanine.open(terminal.store) as client:
                assert not client.users()


def _damage(file: Path, data: st.DataObject) -> None:
    """Change one of the files, archive members or values below a path."""
    files = sorted(each for each in file.rglob("*") if each.is_file()) if file.is_dir() else [file]
    chosen = data.draw(st.sampled_from(files))
    content = chosen.read_bytes()
    if zipfile.is_zipfile(chosen) and data.draw(st.booleans()):
        with zipfile.ZipFile(chosen) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = data.draw(st.sampled_from(sorted(members)))
        members[name] = damaged(members[name], data)
        packed = BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for member, text in members.items():
                archive.writestr(member, text)
        chosen.write_bytes(packed.getvalue())
    else:
        chosen.write_bytes(damaged(content, data))
