"""A process that is forked while it writes: the child opens a store of its own, and ends."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from threading import Event, Thread

import pytest

import theanine
from theanine.errors import StoreError

FORKS, LIMIT = 40, 60.0

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")


def end_of(child: int) -> int:
    """Return the exit code of a child; kill it if it hangs."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_of_a_process_that_writes_opens_its_own_store(tmp_path: Path) -> None:
    path, stopped, said = tmp_path / "memory.db", Event(), list[str]()
    with theanine.open(path, remembering="later") as client:
        client.user("ana").session("t").hear("Hello.")

        def write(name: str) -> None:
            live = client.user(name).session("t")
            while not stopped.is_set():
                said.append(live.hear(f"I saw ship {len(said)}.").text)

        writers = [Thread(target=write, args=(name,)) for name in ("ana", "bo", "cleo")]
        for writer in writers:
            writer.start()
        codes: list[int] = []
        for number in range(FORKS):
            child = os.fork()
            if not child:
                code = 1
                try:
                    try:
                        client.user("ana").turns()
                    except StoreError:
                        code = 2
                    with theanine.open(path, remembering="later") as own:
                        own.user(f"child {number}").session("t").hear("I am a child.")
                        code = 0 if code == 2 else 3
                finally:
                    os._exit(code)
            codes.append(end_of(child))
        stopped.set()
        for writer in writers:
            writer.join(LIMIT)
        assert codes == [0] * FORKS
        logged = [turn.text for scope in client.users() for turn in client.user(scope.user).turns()]
    assert sorted(logged) == sorted([*said, "Hello.", *["I am a child."] * FORKS])
