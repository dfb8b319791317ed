"""Errors of PostgreSQL by SQLSTATE: which may pass if a call is repeated, and what to do."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import exc

_NO_CONNECTION = "08001"
_LOST = "08006"
FULL = "53100"
"""The server's disk is full."""

_CONNECTING = {
    r'database ".*" does not exist': "3D000",
    r"authentication failed|role \".*\" does not exist|no pg_hba\.conf entry|no password": "28000",
    r"too many (clients|connections)|connection (slots|limit)|no more connections": "53300",
    r"starting up|shutting down|not (yet )?accepting connections|in recovery mode": "57P03",
    r"unsupported startup parameter": "F0000",
}
"""What servers say when a connection can't be made, for which the driver knows no SQLSTATE."""

_INTERNAL = "XX000"
# Citus' coordinator says this of a worker whose connection broke, where libpq has no SQLSTATE.
_WORKER_LOST = re.compile(
    r"\bconnection\b|\bremote (node|host|server)\b|\bworker node\b|\bserver terminated\b|"
    r"could not (send|receive|connect|establish|commit transaction)|"
    r"Connection (refused|reset|timed)|timeout expired|SSL SYSCALL",
    re.IGNORECASE,
)

_ADVICE = {
    "08001": "the server can't be reached; check that it runs, and the URL",
    "08": "the connection was lost; try again",
    "F0000": "PgBouncer takes no `options` in a URL; set them for the role",
    "25006": "the server is read-only, such as a replica; name the primary",
    "25P03": "the server ended a transaction that did nothing for too long; try again",
    "28": "the server refuses this user; check the name, the password and pg_hba.conf",
    "3D": "there is no such database; create it first",
    "40": "other writers were in the way; try again",
    "42501": "this user lacks a right on the tables; grant it, or use the owner's account",
    FULL: "the disk is full; free some space, then try again: nothing was stored",
    "53300": "the server has no connection left; try again, or lower pool_size",
    "53": "the server lacks memory or another resource; try again later",
    "55P03": "another writer was not done in time; try again",
    "57014": "a statement took longer than statement_timeout; raise it, or try again later",
    "57": "the server is shutting down or starting; try again",
}
_PASSING = ("08", "25P03", "40001", "40P01", "532", "533", "534", "55P03", "57")
# 23505: writers of two scopes, who don't wait for each other, made the same setting at once.
_WORTH_REPEATING = ("08", "23505", "25P03", "40001", "40P01", "53300", "57P01", "57P02", "57P03")


def find_sqlstate(error: BaseException) -> str:
    """Return the SQLSTATE, or that of a lost or missing connection where the driver knows none.

    It is empty for an error of the driver's own.
    """
    cause: Any = getattr(error, "orig", error)
    if state := getattr(cause, "sqlstate", None):
        lost = state == _INTERNAL and _WORKER_LOST.search(str(cause))
        return _LOST if lost else str(state)
    if isinstance(error, exc.DBAPIError):
        if error.connection_invalidated:
            return _LOST
        if not isinstance(error, exc.OperationalError):
            return ""
    said = str(cause)
    return next(
        (state for reason, state in _CONNECTING.items() if re.search(reason, said)), _NO_CONNECTION
    )


def find_advice(state: str) -> str:
    """Return what to do about an error; empty if there is nothing to say."""
    return next((advice for start, advice in _ADVICE.items() if state.startswith(start)), "")


def is_passing(state: str) -> bool:
    """Return whether the same call may succeed later, with nothing changed by the user."""
    return state.startswith(_PASSING)


def is_worth_repeating(error: exc.DBAPIError, tries: int) -> bool:
    """Return whether the same call may succeed within seconds, after a number of tries."""
    state = find_sqlstate(error)
    # A server that lives but has lost another one: a cluster's worker is down. Once more is for a
    # worker that is back; more would keep threads from the scopes of other workers.
    behind = state.startswith("08") and getattr(error.orig, "sqlstate", None) is not None
    if behind and not error.connection_invalidated and tries > 1:
        return False
    return state.startswith(_WORTH_REPEATING)


def may_be_committed(error: exc.DBAPIError) -> bool:
    """Return whether a transaction may be stored although its COMMIT failed with this error."""
    state = find_sqlstate(error)
    # A shard may have committed what the coordinator reports as a lost connection (08).
    return error.connection_invalidated or state.startswith(("08", "57P"))
