"""The guard of ``tests/support/offline``: loopback answers, nothing else can be reached."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable

import pytest

from support.offline.sitecustomize import OffLimitsError, attempts

FAR = ("192.0.2.1", 9)  # an address set aside for documentation: nobody is there


def _connect() -> None:
    with socket.socket() as one:
        one.connect(FAR)


def _look_up() -> None:
    socket.getaddrinfo("theanine.invalid", 80)


def _send() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as one:
        one.sendto(b"hello", FAR)


@pytest.mark.parametrize("reach", [_connect, _look_up, _send])
def test_reaching_out_is_refused_and_noted(reach: Callable[[], None]) -> None:
    with pytest.raises(OffLimitsError, match="loopback only"):
        reach()
    assert attempts.pop()  # it was meant here, so the fixture must not fail this test


def test_a_child_process_is_kept_off_the_network_too() -> None:
    program = f"import socket; socket.create_connection({FAR!r}, timeout=5)"
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert child.returncode == 1
    assert "OffLimitsError" in child.stderr


def test_loopback_answers() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        client.sendall(b"hello")
        there, _ = server.accept()
        with there:
            assert there.recv(5) == b"hello"
