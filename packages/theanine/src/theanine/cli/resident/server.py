"""The resident process: ``python -P -m theanine.cli.resident.server [SECONDS]``.

It has imported and loaded all that its commands need, and forks for each one. The child gets the
caller's streams, environment and folder, opens the store as any process does, and ends with the
command; the resident process itself opens no store of a user. It ends after the given seconds
without a command, on SIGTERM, and when its installation changes.
"""

from __future__ import annotations

import gc
import io
import json
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO, cast

import theanine
from theanine.cli.config_file import applied_config
from theanine.cli.resident.address import (
    LENGTH,
    PATIENCE,
    installation,
    is_wanted,
    peer_of,
    socket_path,
    take_lock,
)
from theanine.errors import TheanineError
from theanine.temporary_folders import temporary_folder

IDLE = 600.0
"""Seconds without a command after which the process ends."""
_COMMON_WORDS = 10_000
"""Words whose vectors are made in advance, for .3 s and 30 MB: three of four that a store has."""
_RIGHTS = ("CapEff", "Groups", "NoNewPrivs", "Seccomp")
_PLACES = ("root", "ns/mnt", "ns/net", "ns/pid", "ns/user")


def main() -> None:
    """Listen and run commands, unless another process does already."""
    if (lock := take_lock(path := socket_path())) is None:
        return
    is_changed = _watch()
    os.chdir("/")  # where it was started may be deleted
    _warm_up()
    for thread in threading.enumerate():  # a child has none of them, but what they have locked
        if thread is not threading.current_thread():
            thread.join()
    gc.collect()
    gc.freeze()  # else a child's first collection would write to, and so copy, all of the memory
    idle = float(sys.argv[1]) if len(sys.argv) > 1 else IDLE
    with _listen(path) as listener:
        connection = _Resident(listener, lock, is_changed).serve(idle)
    if connection is not None:
        _run(connection)


def _listen(path: str) -> socket.socket:
    """Return a listening socket at a path that only holders of the lock use."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    listener.setblocking(False)
    return listener


def _watch() -> Callable[[], bool]:
    """Return a function that tells whether this installation or what it depends on has changed."""
    package = Path(theanine.__file__).parent
    # A folder of packages changes with each one that is installed, updated or removed.
    files = [*sys.path, *map(str, package.rglob("*.py"))]

    def stamps() -> list[object]:
        found: list[object] = []
        for file in files:
            with suppress(OSError):
                status = os.stat(file)
                found.append((file, status.st_ino, status.st_mtime_ns))
        return found

    before = stamps()
    return lambda: stamps() != before


class _Resident:
    """Forks for each connection, and tells who is connected how the child has ended."""

    def __init__(self, listener: socket.socket, lock: int, is_changed: Callable[[], bool]) -> None:
        self._listener, self._lock, self._is_changed = listener, lock, is_changed
        self._children: dict[int, socket.socket] = {}
        self._left: set[int] = set()  # children whose callers are gone
        self._stopped = False

    def serve(self, idle: float) -> socket.socket | None:
        """Return a connection in the child that is to answer it; None at the end."""
        woken, waking = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waking)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.signal(signal.SIGTERM, lambda _number, _frame: self._stop())
        while self._children or not self._stopped:
            ready = self._wait(woken, None if self._children else idle)
            if not (ready or self._children):
                self._stop()
            if woken in ready:
                os.read(woken, 1_000)
                self._reap()
            for pid, connection in self._children.items():
                if connection.fileno() in ready:
                    self._left.add(pid)
                    os.kill(pid, signal.SIGTERM)
            if self._listener.fileno() in ready and (connection := self._accept()):
                return connection
        return None

    def _wait(self, woken: int, idle: float | None) -> set[int]:
        """Return the files that have something to read, or of which the other end was closed."""
        poll = select.poll()
        poll.register(woken, select.POLLIN)
        if not self._stopped:
            poll.register(self._listener, select.POLLIN)
        for pid, connection in self._children.items():
            if pid not in self._left:
                poll.register(connection, 0)  # what is sent there is for the child
        return {file for file, _ in poll.poll(None if idle is None else idle * 1_000)}

    def _accept(self) -> socket.socket | None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # who has called is gone again
            return None
        if self._is_changed():
            self._stop()
        elif _is_alike(*peer_of(connection)):
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # a child has no handler yet
            pid = os.fork()
            if not pid:
                self._leave()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            if not pid:
                return connection
            self._children[pid] = connection
            return None
        connection.close()
        return None

    def _reap(self) -> None:
        for pid, connection in [*self._children.items()]:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                with suppress(OSError):
                    code = os.waitstatus_to_exitcode(status)
                    connection.sendall(code.to_bytes(LENGTH, signed=True))
                connection.close()
                del self._children[pid]
                self._left.discard(pid)

    def _stop(self) -> None:
        """Let a new process begin; commands that run go on."""
        if not self._stopped:
            self._stopped = True
            with suppress(OSError):
                os.unlink(self._listener.getsockname())
            self._listener.close()
            os.close(self._lock)

    def _leave(self) -> None:
        """Close, in a child, what is the parent's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.close(self._lock)
        for connection in self._children.values():
            connection.close()


def _is_alike(process: int, user: int, group: int) -> bool:
    """Whether a process is this user's, and in the same sandbox and container, if any."""
    if (user, group) != (os.getuid(), os.getgid()):
        return False

    def bounds(process: int | str) -> list[object]:
        folder = Path(f"/proc/{process}")
        lines = (folder / "status").read_text("utf-8", "replace").splitlines()
        places = [os.stat(folder / name) for name in _PLACES]
        profile = b""
        with suppress(OSError):  # no security module is in use
            profile = (folder / "attr/current").read_bytes()
        return [
            *(line for line in lines if line.startswith(_RIGHTS)),
            *((place.st_dev, place.st_ino) for place in places),
            profile,
        ]

    try:
        return bounds(process) == bounds("self")
    except OSError:
        return False


def _run(connection: socket.socket) -> None:
    """Run the command that is asked for, in a child, which ends with it.

    Until the caller has heard that all is ready, and says so, nothing is done: it may have given up
    and run the command itself.
    """
    connection.settimeout(PATIENCE)
    try:
        _prepare(connection)
        connection.sendall(os.getpid().to_bytes(LENGTH))
        begins = bool(connection.recv(1))
    except (OSError, ValueError, TheanineError):
        begins = False
    if not begins:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)  # a caller that was late learns it
        os._exit(1)
    from theanine.cli import run

    try:
        run()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            with suppress(OSError):  # Python says what is wrong with a stream
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(end.code or 0)  # to tidy up takes longer than many a command
        raise


def _prepare(connection: socket.socket) -> None:
    """Become the process that asks, as far as a command can tell.

    Raises OSError, ValueError and TheanineError for what can't be, or shall not.
    """
    size, streams, *_ = socket.recv_fds(connection, LENGTH, 3)
    text = b""
    while len(text) < int.from_bytes(size):
        if not (part := connection.recv(1 << 20)):
            raise ConnectionError
        text += part
    request = cast("dict[str, Any]", json.loads(text))
    if request["installation"] != installation() or len(streams) != 3:
        raise ConnectionError
    os.chdir(request["folder"])
    os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    sys.argv = request["command"]
    answers = signal.default_int_handler if request["interruptible"] else signal.SIG_IGN
    signal.signal(signal.SIGINT, answers)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (
        _open(number, *coding) for number, coding in enumerate(request["streams"])
    )
    with applied_config(os.environ.get("THEANINE_PROFILE", "")):
        if not is_wanted():
            raise ConnectionError


def _open(number: int, encoding: str, errors: str) -> TextIO:
    """Return a standard stream as Python opens it."""
    mode, buffering = ("w" if number else "r"), (1 if number == 2 else -1)
    return open(number, mode, buffering, encoding, errors, "\n", closefd=False)


def _warm_up() -> None:
    """Run each command once, on a store of its own, so that all is loaded that it needs."""
    from theanine.cli.app import app
    from theanine.cli.rendering import console
    from theanine.recall.spelling import common_words
    from theanine.retrieval.word_match import prepare_words

    for name in [name for name in os.environ if name.startswith("THEANINE_")]:
        del os.environ[name]
    os.environ["THEANINE_CONFIG"] = os.devnull
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "Where does Ana live now?"}
    with temporary_folder("resident") as folder:
        for command, *arguments in (
            ("add", "I live in Split."),
            ("add", "I moved from Split to Zagreb."),
            ("recall", "Where does Ana live now?"),
            ("profile",),
            ("log",),
            ("hook",),
        ):
            sys.stdin = io.StringIO(json.dumps(prompt))
            with suppress(SystemExit, TheanineError):  # a part is missing: the command will say so
                app([command, *arguments, "--user", "ana", "--store", f"{folder}/memory.db"])
    with suppress(TheanineError):
        prepare_words(common_words(_COMMON_WORDS))
    console.cache_clear()  # the children have another standard output


if __name__ == "__main__":
    main()
