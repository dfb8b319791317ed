"""Settings of users, tenants and the store: time zone and retention."""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa

from theanine.clock import load_zone, micros
from theanine.errors import SettingsError
from theanine.store.sql import schema as t
from theanine.store.sql.claims import note_change
from theanine.store.sql.scopes import (
    ensure_scope,
    find_scope,
    invalidate_scope,
    load_with_scopes,
    update_state,
)
from theanine.store.sql.versions import count_store_change, save_setting
from theanine.store.validate import check_name, check_scope
from theanine.store.values import UserSettings
from theanine.types import Scope

_RETENTION = "retention"  # name of the store's setting
_OF_TENANT = "retention:"  # beginning of the name of a tenant's
MIN_RETENTION = timedelta(minutes=1)
MAX_RETENTION = timedelta(days=300 * 365)


def load_settings(db: sa.Connection, owner: Scope | str | None) -> UserSettings:
    """Return the settings of a scope, of a tenant or, with None, of the store."""
    if owner is None:
        return UserSettings(retention=load_store_retention(db))
    if isinstance(owner, str):
        return UserSettings(retention=load_tenant_retentions(db).get(owner))
    s = t.scope_state.c
    query = sa.select(s.time_zone, s.retention).where(s.scope == find_scope(db, owner))
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


def set_retention(
    db: sa.Connection, owner: Scope | str | None, retention: timedelta | None
) -> None:
    """Set or unset how long the turns of a scope, of a tenant or of the store are kept."""
    seconds = None if retention is None else retention_seconds(retention)
    if isinstance(owner, Scope):
        check_scope(owner)
        update_state(db, ensure_scope(db, owner), retention=seconds)
        return
    if owner is not None:
        check_name(owner, "the tenant", "")
    name = _RETENTION if owner is None else f"{_OF_TENANT}{owner}"
    if seconds is None:
        db.execute(t.setting.delete().where(t.setting.c.name == name))
    else:
        save_setting(db, name, str(seconds))


def set_tenant_retention(db: sa.Connection, tenant: str, retention: timedelta | None) -> None:
    """Set or unset how long the turns of a tenant are kept, while others write.

    It changes nothing of any scope, and is the same done twice.
    """
    note_change(db)
    set_retention(db, tenant, retention)
    count_store_change(db)


def retention_seconds(retention: timedelta) -> int:
    """Return a retention in seconds. Raises SettingsError for one out of bounds."""
    if not MIN_RETENTION <= retention <= MAX_RETENTION:
        raise SettingsError(
            f"the retention must be from a minute to {MAX_RETENTION.days:,} days, not {retention}; "
            "None keeps everything"
        )
    return round(retention.total_seconds())


def load_store_retention(db: sa.Connection) -> timedelta | None:
    """Return how long turns are kept whose user and tenant have no own setting."""
    query = sa.select(t.setting.c.value).where(t.setting.c.name == _RETENTION)
    seconds = db.execute(query).scalar()
    return None if seconds is None else timedelta(seconds=int(seconds))


def load_tenant_retentions(db: sa.Connection) -> dict[str, timedelta]:
    """Return how long turns are kept by tenant, for which their user has no own setting."""
    c = t.setting.c
    query = sa.select(c.name, c.value).where(c.name.startswith(_OF_TENANT, autoescape=True))
    return {
        row.name.removeprefix(_OF_TENANT): timedelta(seconds=int(row.value))
        for row in db.execute(query.order_by(c.name))
    }


def load_retentions(
    db: sa.Connection, scope: Scope | None, ended_by: datetime
) -> list[tuple[Scope, timedelta | None]]:
    """Return the scopes, or the one, whose turns expire, and after how long.

    None for those in which only what has an end of its own does, and one has come.
    """
    default, tenants = load_store_retention(db), load_tenant_retentions(db)
    s = t.scope_state.c
    has_ended = sa.func.coalesce(s.expires_at <= micros(ended_by), sa.false()).label("has_ended")
    query = sa.select(s.retention, has_ended).order_by(s.scope)
    if default is None and not tenants:
        query = query.where(sa.or_(s.retention.is_not(None), has_ended))
    found: list[tuple[Scope, timedelta | None]] = []
    for owner, row in load_with_scopes(db, query, s.scope, scope):
        kept = tenants.get(owner.tenant, default)
        if row.retention is not None:
            kept = timedelta(seconds=row.retention)
        if kept is not None or row.has_ended:
            found.append((owner, kept))
    return found
