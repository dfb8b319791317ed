"""Python processes for tests, forked from one that has imported theanine, so they start at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Timer
from typing import Any, Self

from theanine.testing.contract import histories

# One server per test process serves this module and the contract's tests; the list replaces theirs.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        histories.__name__,
        "theanine.cli.app",
        "theanine.client.sync",
        "theanine.embeddings.static",
        "theanine.llm.pydantic_ai",
        "theanine.store.sqlite",
    ]
)


class Python:
    """A process that runs ``code`` as ``python -c`` does, with pipes as its standard streams.

    Args:
        code: the program.
        arguments: its ``sys.argv[1:]``.
        environment: variables to set in addition to those of this process.
        stdin: file descriptor to read from instead of a pipe; closed here.
    """

    def __init__(
        self,
        code: str,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        stdin: int | None = None,
    ) -> None:
        if stdin is None:
            stdin, typed = os.pipe()
        else:
            typed = os.open(os.devnull, os.O_WRONLY)
        shown, stdout = os.pipe()
        told, stderr = os.pipe()
        streams = [Connection(stdin), Connection(stdout), Connection(stderr)]
        variables = {**os.environ, **(environment or {})}
        self._process = _CONTEXT.Process(
            target=_run, args=(code, list(arguments), variables, str(Path.cwd()), streams)
        )
        self._process.start()
        for stream in streams:
            stream.close()
        self.stdin = os.fdopen(typed, "w", encoding="utf-8")
        self.stdout = os.fdopen(shown, encoding="utf-8")
        self.stderr = os.fdopen(told, encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait()
        for stream in (self.stdin, self.stdout, self.stderr):
            stream.close()

    def communicate(self, text: str = "", timeout: float = 60) -> tuple[int, str, str]:
        """Write ``text`` and close the input; return the exit code, the output and the errors.

        The process is killed after ``timeout`` seconds.
        """
        timer = Timer(timeout, self.kill)
        timer.start()
        try:
            self.stdin.write(text)
            self.stdin.close()
            out, err = self.stdout.read(), self.stderr.read()
            return self.wait(), out, err
        finally:
            timer.cancel()

    def kill(self) -> None:
        """Kill the process, without any cleanup."""
        self._process.kill()

    def send(self, number: int) -> None:
        """Send a signal, such as ``signal.SIGSTOP``."""
        if self._process.pid:
            os.kill(self._process.pid, number)

    def interrupt(self) -> None:
        """Send what Ctrl-C sends."""
        self.send(signal.SIGINT)

    def terminate(self) -> None:
        """Ask the process to end."""
        self._process.terminate()

    def wait(self, timeout: float = 60) -> int:
        """Return the exit code, negative for a signal. Raises TimeoutError."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise TimeoutError(f"still running after {timeout:g} s")
        return self._process.exitcode


def _run(
    code: str,
    arguments: list[str],
    environment: dict[str, str],
    folder: str,
    streams: list[Connection],
) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1, closefd=False)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["-c", *arguments]
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "<string>", "exec"), names)
