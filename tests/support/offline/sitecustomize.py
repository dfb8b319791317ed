"""Keeps a test's process, and every Python that it starts, off the network: only loopback answers.

An audit hook sees each connection that Python code makes, whoever makes it, with nothing patched.
``tests/conftest.py`` imports this module and puts its folder on PYTHONPATH, where a child finds it
under the one name that Python imports by itself at start-up.
"""

from __future__ import annotations

import sys
from typing import cast

LOOPBACK = ("127.", "::1", "localhost", "::ffff:127.")
WATCHED = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo"})

attempts: list[str] = []
"""What was tried in this process; a test that adds to it fails, even if the code hid the error."""


class OffLimitsError(ConnectionRefusedError):
    """A test reached for the network."""


def _is_local(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    return not host or (isinstance(host, str) and host.lower().startswith(LOOPBACK))


def _refuse(event: str, args: tuple[object, ...]) -> None:
    if event not in WATCHED:
        return
    where = args[0] if event == "socket.getaddrinfo" else args[-1]
    # An address of a Unix socket is one string; of the internet's a tuple that opens with the host.
    if isinstance(where, tuple):
        where = cast("tuple[object, ...]", where)[0]
    elif event != "socket.getaddrinfo":
        return
    if not _is_local(where):
        attempts.append(f"{event} {where!r}")
        raise OffLimitsError(f"{event} {where!r}: tests speak to loopback only")


sys.addaudithook(_refuse)
