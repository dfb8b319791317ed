"""The store's helpers: process identities, the search for residues, times."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from theanine.clock import micros
from theanine.store import residue_scan
from theanine.store.processes import is_dead, process_holder
from theanine.store.sql.rows import escape_unstorable, local_time, offset_minutes

_moments = st.datetimes(datetime.fromisoformat("1900-01-02"), datetime.fromisoformat("2199-12-30"))


@given(_moments, st.integers(-14 * 60, 14 * 60))
def test_times_keep_their_microsecond_and_their_offset(moment: datetime, offset: int) -> None:
    at = moment.replace(tzinfo=timezone(timedelta(minutes=offset)))
    back = local_time(micros(at), offset_minutes(at))
    assert (back, back.utcoffset()) == (at, at.utcoffset())


@given(st.text())
def test_only_unstorable_text_is_escaped(text: str) -> None:
    kept = escape_unstorable(text)
    assert "\0" not in kept
    assert kept.encode() == text.replace("\0", "\\u0000").encode("utf-8", "backslashreplace")


@given(
    st.lists(st.binary(min_size=8, max_size=40), min_size=1, max_size=8),
    st.binary(max_size=64),
    st.data(),
)
def test_probes_are_found_at_any_position(
    wanted: list[bytes], around: bytes, data: st.DataObject
) -> None:
    planted = data.draw(st.lists(st.sampled_from(wanted), max_size=3))
    content = around + around.join(planted)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        file.write_bytes(content)
        found = residue_scan.Probes(map(bytes, wanted)).find(
            residue_scan.read_blocks([file, Path(folder) / "missing"])
        )
    there = {probe for probe in wanted if probe in content}
    assert len(found) == len(there)
    assert len(found.find([b"\0".join(there)])) == len(there)


def test_a_probe_across_two_blocks_is_found(tmp_path: Path) -> None:
    file = tmp_path / "file"
    probe = b"a secret of 24 bytes...."
    file.write_bytes(b"\0" * (8 * 1024 * 1024 - 11) + probe + b"\0" * 100)
    assert len(residue_scan.Probes([probe]).find(residue_scan.read_blocks([file]))) == 1


def test_probes_of_a_text_are_kept_once() -> None:
    probes = residue_scan.Probes()
    for number in range(100_000):
        probes.add_text("the assistant's name, again and again")
        probes.add_text(f"{number:08}")
        probes.add_text("short")
    assert len(probes) == 100_000 + 5
    there = ["00000007", "the assistant's name, again and again", "00099999"]
    assert len(probes.find([" ".join(there).encode()])) == 2 + 5


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_probes_reach_from_the_first_byte_to_the_last(text: str) -> None:
    data = text.encode()
    probes = residue_scan.make_probes(text)
    assert bool(probes) == (len(data) >= residue_scan.MIN_BYTES)
    assert all(probe in data for probe in probes)
    if probes:
        assert any(data.startswith(probe) for probe in probes)
        assert any(data.endswith(probe) for probe in probes)


def test_dead_processes_are_detected() -> None:
    me = process_holder()
    host, pid, started = me.rsplit(":", 2)
    assert int(pid) == os.getpid()
    assert not is_dead(me)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        holder = f"{host}:{child.pid}:0"
        assert not is_dead(holder)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert is_dead(holder), "it has ended, though nobody has reaped it"
    assert is_dead(holder)
    assert not is_dead(f"elsewhere:{child.pid}:0")
    for odd in ("", "a", "a:b:c", f"{host}:x:y", f"{host}:-1:0"):
        assert not is_dead(odd)
    if int(started):
        assert is_dead(f"{host}:{pid}:{int(started) + 1}")
