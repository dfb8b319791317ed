"""Replies at the operator's cost, counted by tenant and day."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.store import SqlStore
from theanine.store.sql.versions import increment_setting
from theanine_server.problems import Refused

_NAME = "replies:"
"""Beginning of the name of the setting that counts a tenant's replies; the day follows."""


class Spending:
    """What tenants may have and had of replies; of one store, whichever process gave them.

    Args:
        most: replies of a day, which begins at midnight in UTC; None for any number.
    """

    def __init__(self, store: SqlStore, most: int | None, clock: Callable[[], datetime]) -> None:
        self._store, self._most, self._clock = store, most, clock

    async def take(self, tenant: str) -> None:
        """Count a reply. Answers 429 if the tenant had all of the day."""
        if self._most is None:
            return
        now = self._clock().astimezone(UTC)
        count = await self._store.write_concurrently(False, _count_reply, tenant, f"{now:%Y-%m-%d}")
        if count > self._most:
            midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
            wait = (midnight - now).total_seconds()
            raise Refused(
                429,
                "budget_exceeded",
                f"the tenant had its {self._most:,} replies of today; the next day begins at "
                "midnight in UTC",
                {"Retry-After": str(max(1, round(wait)))},
            )


def _count_reply(db: sa.Connection, tenant: str, day: str) -> int:
    """Count a reply of a day, and return their number; earlier days are deleted."""
    name, today = t.setting.c.name, f"{_NAME}{day}:"
    db.execute(t.setting.delete().where(name >= _NAME, name < today))
    return increment_setting(db, f"{today}{tenant}")
