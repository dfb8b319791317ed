"""Process identities, under which leases and open sessions are held."""

from __future__ import annotations

import os
import secrets
import socket
from datetime import timedelta
from functools import cache
from pathlib import Path

from theanine.errors import StoreError

HOLDING = timedelta(minutes=2)
"""How long a process counts as alive after it has said so; it says so four times in that time."""
_ZOMBIE = -1
_SUFFIX = "/"


def process_holder() -> str:
    """Return this process as ``machine:pid:start``, the holder of its open sessions.

    The machine is ``host@boot-namespace``: a process id means something only to processes of the
    same boot and the same pid namespace, and containers can share a host name. The start time, in
    clock ticks since boot, distinguishes it from a later process with the same id; it is 0 where
    ``/proc`` is missing.
    """
    pid = os.getpid()
    return f"{_machine()}:{pid}:{_start_time(pid) or 0}"


@cache
def _machine() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
        namespace = os.stat("/proc/self/ns/pid").st_ino
    except OSError:  # not Linux
        return socket.gethostname()
    return f"{socket.gethostname()}@{boot}-{namespace}"


def check_process(opened_by: int) -> None:
    """Raise StoreError unless this is the process ``opened_by``: a fork shares no event loop."""
    if opened_by != os.getpid():
        raise StoreError(
            "this client was opened by another process, before a fork; open a client in each "
            "process, after it has started"
        )


def lease_holder() -> str:
    """Return a new holder name: this process with a random suffix, so that two workers differ."""
    return f"{process_holder()}{_SUFFIX}{secrets.token_hex(4)}"


def is_dead(holder: str) -> bool:
    """Return whether the holder is a process of this machine that has ended.

    False for processes of other machines and for names of another form.
    """
    machine, *numbers = _process(holder)
    if machine != _machine() or len(numbers) != 2:
        return False
    if not all(number.isdigit() for number in numbers):
        return False
    pid, started = map(int, numbers)
    now = _start_time(pid)
    if now is not None:
        return now == _ZOMBIE or started not in (0, now)
    return not _is_alive(pid)


def is_local(holder: str) -> bool:
    """Return whether the holder is a process of this machine and pid namespace."""
    return _process(holder)[0] == _machine()


def _process(holder: str) -> list[str]:
    """Split a holder into machine, process id and start time."""
    return holder.partition(_SUFFIX)[0].rsplit(":", 2)


def _start_time(pid: int) -> int | None:
    """Return the start time in clock ticks since boot; None when it can't be read.

    ``_ZOMBIE`` for a process that has ended but isn't reaped yet.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name in parentheses may hold blanks
    if len(fields) < 20:
        return None
    return _ZOMBIE if fields[0] == "Z" else int(fields[19])


def _is_alive(pid: int) -> bool:
    if pid <= 0:
        return False
    if os.name == "nt":
        return True  # os.kill would terminate it there
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it belongs to another user
    return True
