"""A configuration file works, or is refused in one line that names it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import tomlkit
from hypothesis import example, given
from hypothesis import strategies as st

import theanine
from support.fuzzing import cases
from support.running import Ran, Terminal
from theanine.cli.config_file import SETTINGS

pytestmark = [pytest.mark.fuzz]

_COMMANDS = [["config"], ["config", "--json"], ["sessions"], ["recall", "boats"], ["cost"]]
_NAMES = st.sampled_from([*SETTINGS, "profile", "usr", "", "\x1b[2J", "a.b"]) | st.text(max_size=5)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.datetimes()
    | st.sampled_from(
        ["ana", "local", "theanine", "300", "1e9", "\0", "a\0b", "~nobody/x", "x" * 999]
    )
)
_VALUES = st.recursive(
    _SCALARS, lambda each: st.lists(each, max_size=3) | st.dictionaries(_NAMES, each, max_size=3)
)
_RAW = [
    *("user = " + "[" * 5_000, "[" * 5_000, "user = " + "{a = " * 5_000, "a." * 500 + "b = 1"),
    *("budget = " + "9" * 5_000, "budget = 0x" + "f" * 5_000, "timeout = 1" + "0" * 5_000 + ".0"),
    *('user = "\\ud800"', 'user = "\\u0000"', 'user = "ana', "user = 1979-05-27T07:32:00-23:59"),
    *("[[profile]]", "[profile.work]\nuser = [1]", "profile.work = 3", "user = 'ana'\nuser = 'bo'"),
    *("limit = 99999999999999999999", "min_relevance = inf", "timeout = nan", "timeout = -0.0"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    """The command line with a store that has a memory."""
    store = tmp_path_factory.mktemp("config") / "memory.db"
    with theanine.open(store) as client:
        client.user("ana").add("I love boats.")
    return Terminal(store)


def _check(run: Terminal, content: bytes, command: list[str], profile: str = "") -> None:
    """Run a command with this file: it works, or refuses the file, or a value of it."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        file = Path(folder) / "config.toml"
        file.write_bytes(content)
        patch.setenv("THEANINE_CONFIG", str(file))
        patch.delenv("THEANINE_PROFILE", raising=False)
        options = ["--profile", profile] if profile else []
        where = [] if command[0] == "config" else ["--store", str(run.store)]
        _check_answer(run.bare(*options, *command, *where, fine=False))
        assert file.read_bytes() == content


def _check_answer(ran: Ran) -> None:
    assert ran.code in (0, 2), ran
    assert "Traceback" not in ran.err
    if ran.code:
        *usage, reason = ran.err.splitlines()
        if usage:  # the value of an option, which the command itself refuses
            assert usage[0].startswith("Usage: "), ran.err
            assert reason.startswith("Error: "), ran.err
        else:
            assert reason.startswith("theanine: "), ran.err


@pytest.mark.parametrize("content", _RAW, ids=lambda content: repr(content[:20]))
def test_a_hostile_file_is_refused_in_one_line(run: Terminal, content: str) -> None:
    _check(run, content.encode(), ["sessions"])


@pytest.mark.slow
@given(
    st.dictionaries(_NAMES, _VALUES, max_size=4),
    st.sampled_from(_COMMANDS),
    st.sampled_from(["", "work", "\0"]),
)
@example({"user": "ana", "profile": {"work": {"user": "bo"}}}, ["cost"], "work")
@cases(40)
def test_any_values_work_or_are_refused(
    run: Terminal, values: dict[str, object], command: list[str], profile: str
) -> None:
    try:
        content = tomlkit.dumps(values)
    except (ValueError, TypeError):  # what TOML can't spell, such as None
        content = repr(values)
    _check(run, content.encode("utf-8", "surrogatepass"), command, profile)


@pytest.mark.slow
@given(st.binary(max_size=60), st.integers(0, 80), st.sampled_from(_COMMANDS))
@cases(30)
def test_any_bytes_work_or_are_refused(
    run: Terminal, damage: bytes, at: int, command: list[str]
) -> None:
    content = b'user = "ana"\nbudget = 300 # tokens\n[profile.work]\nstore = "~/office.db"\n'
    _check(run, content[:at] + damage + content[at + len(damage) // 2 :], command)
