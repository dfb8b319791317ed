"""What is set for a user or for the store: the time zone, and how long turns are kept."""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa

from theanine.clock import load_zone
from theanine.errors import SettingsError
from theanine.store.sql import schema as t
from theanine.store.sql.rows import insert_rows
from theanine.store.sql.scopes import (
    ensure_scope,
    find_scope,
    invalidate_scope,
    load_with_scopes,
    update_state,
)
from theanine.store.validate import check_scope
from theanine.store.values import UserSettings
from theanine.types import Scope

_RETENTION = "retention"  # name of the store's setting
MIN_RETENTION = timedelta(minutes=1)
MAX_RETENTION = timedelta(days=300 * 365)


def load_settings(db: sa.Connection, scope: Scope | None) -> UserSettings:
    """Return the settings of a scope, or those of the store."""
    if scope is None:
        return UserSettings(retention=load_store_retention(db))
    s = t.scope_state.c
    query = sa.select(s.time_zone, s.retention).where(s.scope == find_scope(db, scope))
    row = db.execute(query).one_or_none()
    if row is None:
        return UserSettings()
    return UserSettings(
        time_zone=row.time_zone,
        retention=None if row.retention is None else timedelta(seconds=row.retention),
    )


def set_time_zone(db: sa.Connection, scope: Scope, name: str | None) -> None:
    """Set or unset a user's time zone."""
    check_scope(scope)
    if name is not None:
        load_zone(name)
    scope_id = ensure_scope(db, scope)
    update_state(db, scope_id, time_zone=name)
    invalidate_scope(db, scope_id)  # caches hold the times of turns


def set_retention(db: sa.Connection, scope: Scope | None, retention: timedelta | None) -> None:
    """Set or unset how long a scope's turns are kept, or all turns of the store."""
    seconds = None if retention is None else retention_seconds(retention)
    if scope is not None:
        check_scope(scope)
        update_state(db, ensure_scope(db, scope), retention=seconds)
        return
    db.execute(t.setting.delete().where(t.setting.c.name == _RETENTION))
    if seconds is not None:
        insert_rows(db, t.setting, [{"name": _RETENTION, "value": str(seconds)}])


def retention_seconds(retention: timedelta) -> int:
    """Return a retention in seconds. Raises SettingsError for one out of bounds."""
    if not MIN_RETENTION <= retention <= MAX_RETENTION:
        raise SettingsError(
            f"the retention must be from a minute to {MAX_RETENTION.days:,} days, not {retention}; "
            "None keeps everything"
        )
    return round(retention.total_seconds())


def load_store_retention(db: sa.Connection) -> timedelta | None:
    """Return how long turns are kept for which their user has no own setting."""
    query = sa.select(t.setting.c.value).where(t.setting.c.name == _RETENTION)
    seconds = db.execute(query).scalar()
    return None if seconds is None else timedelta(seconds=int(seconds))


def load_retentions(db: sa.Connection, scope: Scope | None = None) -> list[tuple[Scope, timedelta]]:
    """Return the scopes, or the one, whose turns expire, and after how long."""
    default = load_store_retention(db)
    seconds = None if default is None else round(default.total_seconds())
    s = t.scope_state.c
    own = sa.func.coalesce(s.retention, seconds).label("seconds")
    query = sa.select(own).where(own.is_not(None)).order_by(s.scope)
    rows = load_with_scopes(db, query, s.scope, scope)
    return [(owner, timedelta(seconds=row.seconds)) for owner, row in rows]
