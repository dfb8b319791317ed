"""Notifications from a PostgreSQL server that there is something to remember."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import anyio
import sqlalchemy as sa

_log = logging.getLogger(__name__)

CHANNEL = "theanine_pending"
_NOTIFY = sa.select(sa.func.pg_notify(CHANNEL, ""))


def notify_pending(db: sa.Connection) -> None:
    """Notify workers of what is pending, once the transaction is committed.

    An SQLite file has no notifications: workers find it when they next look.
    """
    if db.dialect.name == "postgresql":
        db.execute(_NOTIFY)


class Listener:
    """Receives the notifications, on a connection of its own.

    They are hints: none come while the server can't be reached, nor through PgBouncer, which would
    hand them to another of its clients.

    Args:
        connecting: arguments of ``psycopg.AsyncConnection.connect``.
    """

    def __init__(self, connecting: Mapping[str, Any]) -> None:
        self._connecting = connecting
        self._connection: Any = None
        self._is_pooled = False

    async def wait(self, seconds: float) -> bool:
        """Wait for a notification, at most so many seconds; return whether there was one."""
        until = anyio.current_time() + seconds
        try:
            if self._connection is None and not self._is_pooled:
                await self._listen()
            if self._connection is not None:
                received = self._connection.notifies(timeout=seconds, stop_after=1)
                return bool([notification async for notification in received])
        except Exception as error:  # noqa: BLE001 (the driver's; it comes with the extra postgres)
            _log.info("no notifications from the server: %s", error)
            await self.close()
        await anyio.sleep(until - anyio.current_time())
        return False

    async def _listen(self) -> None:
        from psycopg import AsyncConnection

        connection = await AsyncConnection.connect(**self._connecting, autocommit=True)
        cursor = await connection.execute("SELECT pg_backend_pid()")
        # A pool in between answers with a number of its own when a connection is opened.
        self._is_pooled = await cursor.fetchone() != (connection.info.backend_pid,)
        if self._is_pooled:
            await connection.close()
            return
        await connection.execute(f"LISTEN {CHANNEL}")
        self._connection = connection

    async def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
