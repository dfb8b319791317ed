"""Serve from several processes that share one port."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from socket import socket

from uvicorn import Config
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

_log = logging.getLogger(__name__)

STARTING = 600.0
"""Seconds after which a process is replaced that has not said anything since its start."""
SILENCE = 60.0
"""The same for one that did."""
FIRST_WAIT, MAX_WAIT = 0.5, 30.0
"""Seconds before a process that ended is replaced; each time twice as long, up to the second."""
STEADY = 60.0
"""Seconds after which a process that serves is no longer held for one that ends again at once."""


@dataclass
class _Watch:
    """What is known of one process.

    Attributes:
        failures: how often it and those that it replaced ended soon.
        asked_at: when it was asked whether it lives; None if it has answered.
        answered: whether it ever did.
        ready_at: when it was first seen serving.
        replace_at: when its successor is started; None while it lives.
    """

    failures: int = 0
    asked_at: float | None = None
    answered: bool = False
    ready_at: float | None = None
    replace_at: float | None = None
    started_at: float = field(default_factory=time.monotonic)


class Processes(Multiprocess):
    """Starts processes, and replaces each that ends or hangs, whatever the others do."""

    def __init__(self, config: Config, sockets: list[socket]) -> None:
        super().__init__(config, sockets)
        self._watches: dict[Process, _Watch] = {}
        self._any_served = False

    def terminate_all(self) -> None:
        """End all processes, and close the port so that no connection waits unserved."""
        super().terminate_all()
        for listener in self.sockets:
            listener.close()

    def keep_subprocess_alive(self) -> None:
        """Look after each process once; never waits for any."""
        self._watches = {each: self._watches.get(each) or _Watch() for each in self.processes}
        for place, process in enumerate(self.processes):
            watch, now = self._watches[process], time.monotonic()
            if watch.replace_at is None:
                if process.exitcode is None and not self._is_hung(process, watch, now):
                    continue
                if process.exitcode == STARTUP_FAILURE and not self._any_served:
                    _log.error("a process could not start: the service ends")
                    self.should_exit.set()
                    return
                self._end(process, watch, now)
            elif now >= watch.replace_at and not self.should_exit.is_set():
                successor = Process(self.config, self.sockets)
                successor.start()
                self.processes[place] = successor
                self._watches[successor] = _Watch(failures=watch.failures)

    def _is_hung(self, process: Process, watch: _Watch, now: float) -> bool:
        """Ask a process whether it lives, or hear its answer; return whether it is silent."""
        try:
            if watch.asked_at is None:
                process.parent_conn.send(b"ping")
                watch.asked_at = now
            elif process.parent_conn.poll(0):
                serves = process.parent_conn.recv() is True
                watch.asked_at, watch.answered = None, True
                if serves:
                    self._any_served = True
                    watch.ready_at = watch.ready_at or now
        except (OSError, EOFError):  # it is ending
            return False
        if watch.ready_at is not None and now - watch.ready_at > STEADY:
            watch.failures = 0
        patience = SILENCE if watch.answered else STARTING
        return watch.asked_at is not None and now - watch.asked_at > patience

    def _end(self, process: Process, watch: _Watch, now: float) -> None:
        """Kill what is left of a process, and say when its successor starts."""
        wait = min(FIRST_WAIT * 2**watch.failures, MAX_WAIT)
        _log.warning("process %s ended; another one starts in %g s", process.pid, wait)
        process.kill()
        process.join()
        watch.failures += 1
        watch.replace_at = now + wait
