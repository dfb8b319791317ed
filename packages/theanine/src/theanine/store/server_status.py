"""The state of a PostgreSQL server, as its operator wants to see it."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from theanine.store.sql import upgrade


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """What a server says of itself and of the store's database.

    Attributes:
        version: of PostgreSQL, such as ``"15.8"``.
        role: that the store was opened as.
        schema: revision of the store's tables.
        size: bytes of the database.
        connections: that are in use, of all databases.
        connection_limit: of the server.
        oldest_transaction: seconds since the oldest open one of this database began that the role
            may see; 0 if there is none.
        is_replica: whether it only repeats what another server does.
        is_read_only: whether transactions can't write, on a replica or by a setting.
    """

    version: str
    role: str
    schema: str
    size: int
    connections: int
    connection_limit: int
    oldest_transaction: float
    is_replica: bool
    is_read_only: bool


_STATUS = sa.text(
    """
    SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
      current_user AS role,
      pg_database_size(current_database()) AS size,
      -- of other roles' connections, only this column says that they are no background process
      (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL) AS connections,
      current_setting('max_connections')::int AS connection_limit,
      coalesce((SELECT extract(epoch FROM clock_timestamp() - min(xact_start))
        FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()), 0)::float
        AS oldest_transaction,
      pg_is_in_recovery() AS is_replica,
      pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool AS is_read_only
    """
)


def load_status(db: sa.Connection) -> ServerStatus:
    """Ask the server."""
    values = db.execute(_STATUS).mappings().one()
    return ServerStatus(schema=upgrade.load_revision(db) or "", **values)
