"""A damaged export of a chat service is refused in one line, with nothing taken, or imported."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from support.chat_exports import WRITERS, Said
from support.fuzzing import cases
from support.running import Terminal

pytestmark = [pytest.mark.fuzz, pytest.mark.slow]

TALK = [
    Said("I booked the ferry to Cres.", "user", 0),
    Said("How do you feel about it?", "assistant", 1),
    Said("It is my first one since the storm.\nStill afraid.", "user", 2),
]
_DEEP: Any = json.loads("[" * 300 + "]" * 300)
_VALUES: list[Any] = [
    *(None, True, "", "x", "\ud800", "a\0b", "2024-13-45T99:00", "9999-12-31T23:59:59-23:59"),
    *(-1, 0, 2**31, 2**63, 10**30, 1.5, 1e308, -1e308, float("nan"), float("inf")),
    *([], [1], [[]], {}, {"a": {}}, _DEEP),
]
_BYTES = [
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xe2\x80\xae",
    b"[" * 100_000,
    b'"',
    b"\n\n",
    b"\x1a",
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
        members[name] = _damaged(members[name], data)
        packed = BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for member, text in members.items():
                archive.writestr(member, text)
        chosen.write_bytes(packed.getvalue())
    else:
        chosen.write_bytes(_damaged(content, data))


def _damaged(content: bytes, data: st.DataObject) -> bytes:
    lines = content.split(b"\n")
    parsed = [_parse(content)] if _parse(content) is not None else [_parse(line) for line in lines]
    places = [place for value in parsed for place in _places(value)]
    if places and data.draw(st.integers(0, 3)):
        holder, key = data.draw(st.sampled_from(places))
        if data.draw(st.booleans()):
            holder[key] = data.draw(st.sampled_from(_VALUES))
        else:
            del holder[key]
        if len(parsed) == 1:
            return json.dumps(parsed[0]).encode()
        return b"\n".join(
            line if value is None else json.dumps(value).encode()
            for line, value in zip(lines, parsed, strict=True)
        )
    start = data.draw(st.integers(0, len(content)))
    match data.draw(st.sampled_from(["cut", "replace", "insert"])):
        case "cut":
            return content[:start]
        case "replace":
            return content[:start] + data.draw(st.binary(max_size=8)) + content[start + 4 :]
        case _:
            return content[:start] + data.draw(st.sampled_from(_BYTES)) + content[start:]


def _parse(text: bytes) -> Any:
    """Return a JSON object or list; None for anything else."""
    try:
        value: Any = json.loads(text)
    except ValueError:
        return None
    return value if type(value) in (dict, list) else None


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each key of an object and index of a list, with its holder."""
    if type(value) not in (dict, list):
        return
    keys: list[Any] = [*value] if type(value) is dict else [*range(len(value))]
    for key in keys:
        yield value, key
        yield from _places(value[key])
