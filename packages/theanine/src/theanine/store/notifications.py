"""Notifications from a PostgreSQL server that there is something to remember."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:  # SQLAlchemy is loaded when a store is opened
    import sqlalchemy as sa

_log = logging.getLogger(__name__)

CHANNEL = "theanine_pending"
NOTIFY = f"SELECT set_config('synchronous_commit', 'off', true), pg_notify('{CHANNEL}', '')"
"""Notifies all listeners. PostgreSQL commits one such transaction at a time, so it is one of its
own that waits for no disk."""
_IS_PENDING = "theanine_pending"  # key in a connection's info


def note_pending(db: sa.Connection) -> None:
    """Note that the transaction leaves something to remember, of which workers can be notified."""
    db.info[_IS_PENDING] = True


def take_pending(db: sa.Connection) -> bool:
    """Return whether :func:`note_pending` was called since this was."""
    return bool(db.info.pop(_IS_PENDING, False))


class Listener:
    """Receives notifications on a connection of its own; for one task.

    They are hints: none come while the server can't be reached, nor through PgBouncer, which would
    hand them to another of its clients, nor where psycopg can't wait on the event loop (Windows').

    Args:
        connecting: arguments of ``psycopg.AsyncConnection.connect``.
    """

    def __init__(self, connecting: Mapping[str, Any]) -> None:
        self._connecting = connecting
        self._connection: Any = None
        self._is_pooled = False

    async def wait(self, seconds: float) -> bool:
        """Wait at most so many seconds; return whether something may have become pending.

        That is after a notification, and once it listens: nobody tells what was before.
        """
        until = anyio.current_time() + seconds
        try:
            if self._connection is not None:
                received = self._connection.notifies(timeout=seconds, stop_after=1)
                return bool([notification async for notification in received])
            if not self._is_pooled and await self._listen():
                return True
        except Exception as error:  # noqa: BLE001 (the driver's; it comes with the extra postgres)
            _log.info("no notifications from the server: %s", error)
            await self.close()
        await anyio.sleep(until - anyio.current_time())
        return False

    async def _listen(self) -> bool:
        from psycopg import AsyncConnection

        self._connection = await AsyncConnection.connect(**self._connecting, autocommit=True)
        cursor = await self._connection.execute("SELECT pg_backend_pid()")
        # A pool in between answers with a number of its own when a connection is opened.
        self._is_pooled = await cursor.fetchone() != (self._connection.info.backend_pid,)
        if self._is_pooled:
            await self.close()
        else:
            await self._connection.execute(f"LISTEN {CHANNEL}")
        return not self._is_pooled

    async def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
