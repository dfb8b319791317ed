"""Forks: a process is not forked while one of its threads is inside of a database.

A fork copies the locks of libraries, such as SQLite's, as they are. One that another thread holds
is never released in the child, which would hang as soon as it opened a store of its own.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from threading import Condition, local

PATIENCE = 60.0
"""Seconds for which a fork waits; a database that takes longer hangs itself."""


class _Gate:
    """Counts the threads that are inside, and has forks wait until all have left."""

    def __init__(self) -> None:
        self._own = local()
        self.reset()

    def reset(self) -> None:
        """Begin anew, in a child, where no other thread is left."""
        self._changed, self._inside, self._closed = Condition(), 0, False

    @contextmanager
    def inside(self) -> Generator[None]:
        """Be inside, once no fork is waiting."""
        depth: int = getattr(self._own, "depth", 0)
        if not depth:
            with self._changed:
                self._changed.wait_for(lambda: not self._closed, PATIENCE)
                self._inside += 1
        self._own.depth = depth + 1
        try:
            yield
        finally:
            self._own.depth = depth
            if not depth:
                with self._changed:
                    self._inside = max(self._inside - 1, 0)
                    self._changed.notify_all()

    def close(self) -> None:
        """Wait until no other thread is inside, and let none in."""
        own = 1 if getattr(self._own, "depth", 0) else 0
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._inside <= own, PATIENCE)

    def open(self) -> None:
        """Let threads in again."""
        with self._changed:
            self._closed = False
            self._changed.notify_all()


_gate = _Gate()
inside_database = _gate.inside
"""Context in which a thread uses a database."""

if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    os.register_at_fork(before=_gate.close, after_in_parent=_gate.open, after_in_child=_gate.reset)
