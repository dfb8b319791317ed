"""Runs a hook so that it can neither fail its host nor keep it waiting."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path
from threading import Timer
from typing import NoReturn

from theanine.private_files import make_folder, touch

LIMIT = 8.0
"""Seconds that a host waits at most, unless ``THEANINE_HOOK_LIMIT`` says otherwise."""
RECORD_LIMIT = 900.0
"""Seconds that recording and remembering may take, which no host waits for."""
MAX_LOG = 500_000
"""Bytes of a log file; there are two at most."""

log = logging.getLogger("theanine.hook")
"""The log file of hooks: their calls and errors, without any words of the user."""


def run_guarded(run: Callable[[], None], *, records: bool) -> NoReturn:
    """Run a hook, or what it records, and end the process with 0 in time, whatever happens."""
    _log_to_file()
    limit = RECORD_LIMIT if records else _read_limit()
    timer = Timer(limit, _give_up, [limit])
    timer.daemon = True
    timer.start()
    try:
        run()
    except SystemExit as end:
        if end.code:
            log.error("%s", end.__context__ or f"ended with {end.code}")
    except BaseException:
        log.exception("the hook failed")
    _end()


def log_path() -> Path:
    """Return the log of hooks: ``$XDG_STATE_HOME/theanine/hook.log``."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "theanine" / "hook.log"


def _read_limit() -> float:
    given = os.environ.get("THEANINE_HOOK_LIMIT", "")
    try:
        return float(given or LIMIT)
    except ValueError:
        log.error("THEANINE_HOOK_LIMIT is no number of seconds: %r", given)
        return LIMIT


def _log_to_file() -> None:
    file = log_path()
    try:
        make_folder(file.parent)
        touch(file)
        handler: logging.Handler = RotatingFileHandler(file, maxBytes=MAX_LOG, backupCount=1)
    except OSError:  # a full or read-only disk
        handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(message)s"))
    logging.getLogger("theanine").addHandler(handler)
    log.setLevel(logging.INFO)


def _give_up(limit: float) -> None:
    log.error("not done in %g s: given up", limit)
    os._exit(0)  # what was not committed is not stored


def _end() -> NoReturn:
    try:
        sys.stdout.flush()
    finally:
        os._exit(0)
