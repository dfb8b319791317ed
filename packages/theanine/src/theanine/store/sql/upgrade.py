"""Create the schema, or migrate it up or down; Alembic is loaded only for a migration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from theanine.errors import BadInput, NotAStore
from theanine.store.sql.schema import metadata
from theanine.store.sql.walls import create_walls

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "0025"
"""The newest revision in ``migrations/versions``; a test compares the two."""

MIGRATIONS = Path(__file__).parents[1] / "migrations"
_TABLE = "alembic_version"


def load_revision(db: sa.Connection) -> str | None:
    """Return the schema's revision; None for an empty database."""
    if not sa.inspect(db).has_table(_TABLE):
        return None
    return db.exec_driver_sql(f"SELECT version_num FROM {_TABLE}").scalar_one_or_none()


def migrate(db: sa.Connection, location: str) -> None:
    """Create the schema or run the missing migrations, inside the caller's transaction.

    Raises NotAStore for a schema that this version doesn't know.
    """
    revision = load_revision(db)
    if revision == HEAD:
        return
    if revision is None:
        metadata.create_all(db, checkfirst=False)
        create_walls(db)
        db.exec_driver_sql(f"CREATE TABLE {_TABLE} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
        db.exec_driver_sql(f"INSERT INTO {_TABLE} VALUES ('{HEAD}')")
        return
    config, revisions = _load_migrations(db)
    if revision not in revisions:
        raise too_new(location, revision)
    from alembic import command

    command.upgrade(config, "head")


def too_new(location: str, revision: str) -> NotAStore:
    """Return the error for tables of a revision that this version doesn't know."""
    return NotAStore(
        f"{location} was written by a newer theanine (its schema is {revision!r}, this version "
        f"knows {HEAD!r}); update theanine"
    )


@dataclass(frozen=True, slots=True)
class Tables:
    """The state of a store's tables, which may be of another version than this one.

    Attributes:
        revision: None if there are none yet.
        others: who else has the store open.
    """

    revision: str | None
    others: tuple[str, ...] = ()

    @property
    def are_current(self) -> bool:
        """Whether they are of this version."""
        return self.revision == HEAD


def downgrade(db: sa.Connection, revision: str) -> None:
    """Return the schema to an earlier revision, inside the caller's transaction.

    What that revision has no columns or tables for is deleted. Raises BadInput for an unknown one.
    """
    config, revisions = _load_migrations(db)
    if revision not in revisions:
        raise BadInput(f"there is no revision {revision!r}; there are {', '.join(revisions)}")
    from alembic import command

    command.downgrade(config, revision)


def _load_migrations(db: sa.Connection) -> tuple[Config, list[str]]:
    """Return Alembic's configuration for a connection, and all revisions, the first one first."""
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = db
    scripts = ScriptDirectory.from_config(config).walk_revisions()
    return config, sorted(script.revision for script in scripts)
