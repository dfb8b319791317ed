"""Have the resident process run a command. Imports little: it is what a command starts with."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from theanine.cli.resident.address import (
    LENGTH,
    PATIENCE,
    installation,
    is_ours,
    is_wanted,
    peer_of,
    socket_path,
)

if TYPE_CHECKING:
    from socket import socket

SERVED = frozenset({"add", "hook", "log", "profile", "recall"})
"""Commands that are worth it: short ones, which programs and people run again and again."""
_INTERRUPTED = 130


def run_in_resident(arguments: Sequence[str]) -> int | None:
    """Have the resident process run a command with this process's streams, folder and environment.

    Returns its exit code; None if it has not been begun, and must be run here.
    """
    if not arguments or arguments[0] not in SERVED or not is_wanted():
        return None
    if not is_ours(path := socket_path()) or None in (sys.stdin, sys.stdout, sys.stderr):
        return None
    import socket

    with socket.socket(socket.AF_UNIX) as connection:
        try:
            has_begun = _hand_over(connection, path, arguments)
        except OSError:
            return None
        except KeyboardInterrupt:
            return _INTERRUPTED
        return _wait(connection, arguments[0]) if has_begun else None


def _hand_over(connection: socket, path: str, arguments: Sequence[str]) -> bool:
    """Send all that the command needs and, once a process is ready for it, have it begin."""
    import json
    import signal
    import socket

    connection.settimeout(PATIENCE)
    connection.connect(path)
    if peer_of(connection)[1:] != (os.getuid(), os.getgid()):
        return False
    os.umask(umask := os.umask(0o077))
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    request = {
        "installation": installation(),
        "command": [sys.argv[0], *arguments],
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "umask": umask,
        "interruptible": interruptible,
        "streams": [(each.encoding, each.errors) for each in (sys.stdin, sys.stdout, sys.stderr)],
    }
    text = json.dumps(request).encode()
    socket.send_fds(connection, [len(text).to_bytes(LENGTH)], [0, 1, 2])
    connection.sendall(text)
    ready = connection.recv(LENGTH)
    if len(ready) < LENGTH:
        return False
    if interruptible:
        process = int.from_bytes(ready)
        signal.signal(signal.SIGINT, lambda number, _frame: os.kill(process, number))
    connection.sendall(b"!")
    return True


def _wait(connection: socket, command: str) -> int:
    """Return the exit code of a command that has begun."""
    connection.settimeout(None)
    try:
        ended = connection.recv(LENGTH)
    except OSError:
        ended = b""
    if command == "hook":  # it never fails its host
        return 0
    if len(ended) < LENGTH:
        print(
            f"theanine: the resident process was killed, so it is not known how `theanine "
            f"{command}` has ended",
            file=sys.stderr,
        )
        return 1
    code = int.from_bytes(ended, signed=True)
    return code if code >= 0 else 128 - code  # as a shell has it for a signal
