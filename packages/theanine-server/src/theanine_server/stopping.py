"""Stop at SIGTERM after a time of not being ready, and when the parent process dies."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def announced_stop(stop: Callable[[], None], drain: float) -> Generator[None]:
    """Call ``stop`` at SIGTERM, and after ``drain`` seconds the handler that was there before.

    In between, balancers can find out that this process is no longer ready, and send requests
    elsewhere. One of several processes ends likewise when the process that started it is killed: it
    would go on holding the port. Only the main thread of a process gets signals; in others this
    does nothing.
    """
    former = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread() or not callable(former):
        yield
        return
    loop, handler = asyncio.get_running_loop(), former

    def announce(number: int, frame: FrameType | None) -> None:
        def begin() -> None:
            stop()
            loop.call_later(drain, handler, number, frame)

        loop.call_soon_threadsafe(begin)

    parent = multiprocessing.parent_process()

    def follow(sentinel: int) -> None:
        loop.remove_reader(sentinel)
        os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGTERM, announce)
    if parent is not None:
        loop.add_reader(parent.sentinel, follow, parent.sentinel)
    try:
        yield
    finally:
        if parent is not None:
            loop.remove_reader(parent.sentinel)
        signal.signal(signal.SIGTERM, former)
