"""Whatever time can be stored can be read by every command, and a bad row stops no other user."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.fuzzing import cases
from support.running import Ran, Terminal

pytestmark = [pytest.mark.fuzz, pytest.mark.slow]
COMMANDS = (
    ["sessions"],
    ["sessions", "--json"],
    ["remember"],
    ["cost"],
    ["export"],
    ["export", "--csv"],
)
OF_A_USER = (["memories"], ["timeline"], ["recall", "Which hat?"], ["sessions", "--since", "1 May"])


def _at(day: tuple[int, int, int], seconds: int, zone: tzinfo) -> datetime:
    return datetime(*day, tzinfo=zone) + timedelta(seconds=seconds)


_MOST = timedelta(hours=24, microseconds=-1)
_OFFSETS: st.SearchStrategy[tzinfo] = st.timedeltas(-_MOST, _MOST).map(timezone)
_NAMES = ["Europe/Zagreb", "Asia/Kathmandu", "Pacific/Apia", "Africa/Monrovia"]
_ZONES: st.SearchStrategy[tzinfo] = _OFFSETS | st.sampled_from([*map(ZoneInfo, _NAMES)])
_ENDS = [(1, 1, 1), (1899, 12, 31), (1900, 1, 1), (2199, 12, 31), (2200, 1, 1), (9999, 12, 31)]
_DAYS = st.sampled_from([*_ENDS, (2024, 2, 29)])
_TIMES = st.datetimes(timezones=_ZONES) | st.builds(_at, _DAYS, st.integers(0, 86_399), _ZONES)


def _line(user: str, at: str) -> str:
    turn = {"user": user, "session": "1", "speaker": user, "at": at, "text": "I wear a red hat."}
    return json.dumps(turn) + "\n"


def _stores(folder: Path) -> Terminal:
    """A new store in which Bo has a remembered session."""
    store = folder / "memory.db"
    store.unlink(missing_ok=True)
    run = Terminal(store)
    file = folder / "bo.jsonl"
    file.write_text(_line("bo", "2024-05-01T10:00:00+02:00"), "utf-8")
    run("import", str(file), "--user", "bo")
    return run


def _check(ran: Ran) -> None:
    """The command worked, or said what is wrong: in one line, or in one for each wrong item."""
    assert ran.code in (0, 2), ran
    first, *items = ran.err.splitlines() or [""]
    assert ran.code == 0 or first.startswith("theanine: ")
    assert all(item.startswith("  ") for item in items)


@given(st.lists(_TIMES, min_size=1, max_size=3))
@example([datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=23, minutes=59, seconds=59)))])
@example([datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=18)))])
@example([datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=18)))])
@cases(2)
def test_what_is_stored_can_be_read(tmp_path: Path, times: list[datetime]) -> None:
    run = _stores(tmp_path)
    file = tmp_path / "ana.jsonl"
    file.write_text("".join(_line("ana", at.isoformat()) for at in sorted(times)), "utf-8")
    taken = run("import", str(file), "--user", "ana", fine=False)
    _check(taken)
    for command in COMMANDS:
        run(*command)
    for user in ("bo", "ana") if taken.code == 0 else ("bo",):
        for command in OF_A_USER:
            run(*command, "--user", user)
    if taken.code == 0:
        records = run("export").out
        file.write_text(records, "utf-8")
        again = Terminal(tmp_path / "again.db")
        again.store.unlink(missing_ok=True)
        again("import", str(file))
        assert again("export").out == records


ROWS = (
    "UPDATE turn SET zone = 1440",
    "UPDATE turn SET zone = -2000000000",
    "UPDATE turn SET at = 9223372036854775807",
    "UPDATE turn SET at = -9223372036854775808",
    "UPDATE memory SET at = 9223372036854775807, zone = 1440",
    "UPDATE session SET started_at = 9223372036854775807",
    "UPDATE session SET ended_at = -9223372036854775808",
    "UPDATE remembering SET remembered_at = 9223372036854775807",
)


@pytest.mark.parametrize("change", [*ROWS, "UPDATE scope_state SET time_zone = 'No/Where'"])
def test_a_bad_time_in_a_store_stops_no_command(tmp_path: Path, change: str) -> None:
    run = _stores(tmp_path)
    file = tmp_path / "ana.jsonl"
    file.write_text(_line("ana", "2024-05-01T10:00:00+02:00"), "utf-8")
    run("import", str(file), "--user", "ana")
    db = sqlite3.connect(run.store)
    with db:
        owner = "(SELECT id FROM scope WHERE \"user\" = 'ana')"
        db.execute(f"{change} WHERE scope = {owner}")
    db.close()
    for command in COMMANDS:
        run(*command)
    for command in OF_A_USER:
        run(*command, "--user", "bo")
        _check(run(*command, "--user", "ana", fine=False))
