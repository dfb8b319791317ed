"""Bringing a database to the present schema, with Alembic only when it isn't there yet."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from theanine.errors import NotAStore

HEAD = "0005"
"""The newest revision in ``migrations/versions``; a test holds the two together."""

MIGRATIONS = Path(__file__).parents[1] / "migrations"
_TABLE = "alembic_version"


def version(db: sa.Connection) -> str | None:
    """The schema's revision, or None before the first."""
    if not sa.inspect(db).has_table(_TABLE):
        return None
    return db.exec_driver_sql(f"SELECT version_num FROM {_TABLE}").scalar_one_or_none()


def upgrade(db: sa.Connection, location: str) -> None:
    """Run the missing migrations inside the caller's transaction. Raises NotAStore."""
    present = version(db)
    if present == HEAD:
        return
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = db
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if present is not None and present not in known:
        raise NotAStore(
            f"{location} was written by a newer theanine (its schema is {present!r}, "
            f"this version knows {HEAD!r}); update theanine"
        )
    command.upgrade(config, "head")
