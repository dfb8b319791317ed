"""Ctrl-C: the first stops the command and says what is safe, the second leaves at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""The exit code."""
_NOTICE = "\ntheanine: stopping; what is stored so far is safe. Ctrl-C again leaves at once\n"


def is_interrupt(error: BaseException) -> bool:
    """Return whether an error is Ctrl-C, also as code that was interrupted raised it again."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__
    return cause is not None


def _interrupt() -> None:
    """Raise KeyboardInterrupt, in an event loop between the steps of its tasks.

    Raised inside a task, it would be that task's own error, which asyncio prints when it cancels
    the others.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise KeyboardInterrupt from None
    loop.call_soon_threadsafe(_raise_interrupt)


def _raise_interrupt() -> None:
    raise KeyboardInterrupt


@contextmanager
def answering_interrupts() -> Generator[None]:
    """Answer SIGINT while a command runs, unless whoever started the process has it handled."""
    previous = signal.getsignal(signal.SIGINT)
    if previous is not signal.default_int_handler:  # ignored under nohup, for example
        yield
        return
    interrupted = False

    def answer(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        if interrupted:
            os._exit(INTERRUPTED)
        interrupted = True
        os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, _NOTICE.encode())
        _interrupt()

    try:
        signal.signal(signal.SIGINT, answer)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    except BaseException as error:  # where no command has caught it, such as while one is imported
        if is_interrupt(error):
            sys.exit(INTERRUPTED)
        raise
    finally:
        if not interrupted:  # else a second one may still come
            signal.signal(signal.SIGINT, previous)
