"""The socket of the resident process: its path, and checks of who may use it."""

from __future__ import annotations

import os
import stat
import struct
import sys
from contextlib import suppress
from typing import TYPE_CHECKING
from zlib import crc32

from theanine import __version__

if TYPE_CHECKING:
    from socket import socket

VARIABLE = "THEANINE_RESIDENT"
"""``off`` for neither using nor starting the process."""
PATIENCE = 2.0
"""Seconds that either side waits for the other before the command runs."""
LENGTH = 4
"""Bytes of a number that is sent."""


def is_wanted() -> bool:
    """Whether commands may run in the resident process, and hooks may start it.

    Only on Linux: system libraries of other systems do not bear being forked.
    """
    if sys.platform != "linux" or (os.environ.get(VARIABLE) or "on") != "on":
        return False
    is_plain = os.getuid() == os.geteuid() and os.getgid() == os.getegid()
    return is_plain and not sys.warnoptions and not sys._xoptions  # pyright: ignore[reportPrivateUsage]  # as `python -X` documents it


def installation() -> list[str]:
    """Return what must be the same of two processes for one to run the other's commands."""
    flags = [f"{name}={getattr(sys.flags, name)}" for name in ("optimize", "dev_mode", "utf8_mode")]
    own = 0 if sys.flags.safe_path else 1  # the first entry is the folder of the program
    return [__version__, __file__, sys.executable, *flags, *sys.path[own:]]


def socket_path() -> str:
    """Return the socket's path, in a folder that is to be the user's alone."""
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(folder):
        folder = os.path.join(folder, "theanine")
    else:
        folder = os.path.join(os.environ.get("TMPDIR") or "/tmp", f"theanine-{os.getuid()}")
    return os.path.join(folder, f"{crc32(repr(installation()).encode(errors='replace')):08x}.sock")


def is_ours(path: str) -> bool:
    """Whether there is a socket at a path, of this user and in a folder that only they enter."""
    with suppress(OSError):
        folder, file = os.lstat(os.path.dirname(path)), os.lstat(path)
        return stat.S_ISSOCK(file.st_mode) and file.st_uid == os.getuid() and is_private(folder)
    return False


def is_private(folder: os.stat_result) -> bool:
    """Whether a folder is one, and only this user may enter it."""
    return (
        stat.S_ISDIR(folder.st_mode)
        and folder.st_uid == os.getuid()
        and not folder.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    )


def peer_of(connection: socket) -> tuple[int, int, int]:
    """Return the process, the user and the group at the other end of a connection."""
    import socket

    numbers = struct.Struct("3i")
    return numbers.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, numbers.size)
    )


def take_lock(path: str) -> int | None:
    """Return a file which says, while it is open, that this process listens at a path, or will.

    None if another process has it. Raises OSError if the folder is not this user's alone.
    """
    import fcntl
    from pathlib import Path

    from theanine.private_files import make_folder

    folder = os.path.dirname(path)
    make_folder(Path(folder))
    if not is_private(os.lstat(folder)):
        raise PermissionError(f"{folder} is not private")
    lock = os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def start() -> None:
    """Start the resident process if it is wanted, can be, and does not run yet."""
    if not is_wanted():
        return
    import subprocess

    with suppress(OSError):
        if (lock := take_lock(socket_path())) is None:
            return
        os.close(lock)
        # -P: the folder of this program, or where the user works, may have any modules.
        subprocess.Popen(
            [sys.executable, "-P", "-m", "theanine.cli.resident.server"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
