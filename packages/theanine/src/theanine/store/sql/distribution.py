"""Distributing the tables of a PostgreSQL store by scope over the workers of a Citus cluster.

All are distributed in one transaction, for which writers wait: statements that join distributed
tables with others would fail in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import exc

from theanine.errors import StoreUnavailable, UserError
from theanine.store import sqlstates
from theanine.store.sql import schema as t
from theanine.store.sql import walls

TABLES = tuple(table.name for table in t.metadata.sorted_tables if "scope" in table.c)
"""The tables that are distributed by their column ``scope``; the others stay on the coordinator."""

_LOCK = 0x6369747573  # of whoever distributes
_LOCK_TIMEOUT = 2_000  # milliseconds: who waits for a reader keeps other readers waiting
_TRIES = 30


@dataclass(frozen=True, slots=True)
class Distribution:
    """How the tables of a store are distributed.

    Attributes:
        tables: those that are.
        missing: those that should be and aren't yet.
        shards: the number of parts of each table.
        workers: host and port of each server that can hold shards.
        unreachable: those of them that the coordinator can't reach.
    """

    tables: tuple[str, ...] = ()
    missing: tuple[str, ...] = TABLES
    shards: int = 0
    workers: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()

    def __str__(self) -> str:
        workers = "1 worker" if len(self.workers) == 1 else f"{len(self.workers)} workers"
        return f"{len(self.tables)} tables by user, each in {self.shards} shards over {workers}"


@dataclass(frozen=True, slots=True)
class Rebalance:
    """The state of the latest rebalance of a cluster.

    Attributes:
        state: as Citus says, such as ``running`` or ``finished``; empty without any.
        done: the moves that are done.
        moves: all of its moves; one takes a group of shards to another worker.
        messages: what Citus says of moves that failed.
    """

    state: str = ""
    done: int = 0
    moves: int = 0
    messages: tuple[str, ...] = ()

    @property
    def running(self) -> bool:
        return self.state in ("scheduled", "running", "cancelling", "failing")


def has_citus(db: sa.Connection) -> bool:
    """Return whether the database has the Citus extension."""
    query = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
    return bool(db.exec_driver_sql(query).scalar_one())


def load_distribution(db: sa.Connection) -> Distribution | None:
    """Return how the tables are distributed, asking every worker; None without the extension."""
    if not has_citus(db):
        return None
    shards = _count_shards(db)
    workers = db.exec_driver_sql(
        "SELECT nodename || ':' || nodeport AS name, "
        "citus_check_connection_to_node(nodename, nodeport) AS reachable "
        "FROM pg_dist_node WHERE noderole = 'primary' AND groupid <> 0 ORDER BY nodeid"
    ).all()
    return Distribution(
        tables=tuple(name for name in TABLES if name in shards),
        missing=tuple(name for name in TABLES if name not in shards),
        shards=max(shards.values(), default=0),
        workers=tuple(worker.name for worker in workers),
        unreachable=tuple(worker.name for worker in workers if not worker.reachable),
    )


def _count_shards(db: sa.Connection) -> dict[str, int]:
    """Return the number of shards of each distributed table of ours."""
    rows = db.exec_driver_sql(
        "SELECT relname, count(*) FROM pg_dist_partition "
        "JOIN pg_dist_shard USING (logicalrelid) JOIN pg_class ON pg_class.oid = logicalrelid "
        "WHERE partmethod = 'h' AND relnamespace = current_schema()::regnamespace GROUP BY 1"
    )
    return {name: shards for name, shards in rows if name in TABLES}


def take_number_beside(db: sa.Connection, scope_id: int) -> int | None:
    """Return a new scope's number that shares a scope's shard, so that their rows can be joined.

    None if any new number will do.
    """
    if not scope_id or db.dialect.name != "postgresql":
        return None
    if not has_citus(db) or "scope_state" not in _count_shards(db):
        return None
    find = "get_shard_id_for_distribution_column('scope_state', {})".format
    query = (
        "SELECT number FROM (SELECT nextval(pg_get_serial_sequence('scope', 'id'))::int AS number "
        "FROM generate_series(1, 1000000)) AS numbers "
        f"WHERE {find('number')} = {find(scope_id)} LIMIT 1"
    )
    return int(db.exec_driver_sql(query).scalar_one())


def distribute(
    engine: sa.Engine,
    location: str,
    exclude_writers: Callable[[], AbstractContextManager[sa.Connection]],
    shards: int | None,
) -> list[str]:
    """Distribute what isn't distributed yet; see ``PostgresStore.distribute``.

    ``exclude_writers`` begins a transaction in which no other one writes.
    """
    with _alone(engine, location) as db:
        _require_citus(db, location)
        distributed = _count_shards(db)
        missing = [name for name in TABLES if name not in distributed]
        if any(_size_in_bytes(db, name) for name in missing):
            _require_sight(db, location)
        if missing:
            with exclude_writers() as transaction:
                distribute_missing(transaction, shards)
        _erase_copies(db, location)
    return missing


def start_rebalance(engine: sa.Engine, location: str) -> bool:
    """Start moving shards until every worker has its share; one that is running goes on.

    Returns whether there is anything to move. A shard is moved by logical replication, so that
    writers don't wait. The role that Citus makes for it has the rights of the tables' owner, and
    replicates only into tables whose policies don't bind their owner: end with
    :func:`end_rebalance`, in any case.
    """
    with _alone(engine, location) as db:
        _require_citus(db, location)
        if "superuser" not in walls.find_bypass(db):
            raise UserError(f"{location}: only a superuser can move shards; name one in the URL")
        _bind_owner(db, location, bound=False)
        if load_rebalance(db).running:
            return True
        start = "SELECT citus_rebalance_start(shard_transfer_mode => 'force_logical')"
        return db.exec_driver_sql(start).scalar_one() is not None


def end_rebalance(engine: sa.Engine, location: str) -> None:
    """Stop moving shards, if it isn't done, and have the policies bind the owner again.

    What was moved so far stays where it is.
    """
    with _alone(engine, location) as db:
        if load_rebalance(db).running:
            db.exec_driver_sql("SELECT citus_rebalance_stop()")
            while load_rebalance(db).running:
                time.sleep(0.1)
        _bind_owner(db, location, bound=True)


def _bind_owner(db: sa.Connection, location: str, *, bound: bool) -> None:
    for statement in walls.binding_statements(bound=bound):
        _lock_between_readers(db, statement, f"{location}: a table can't be changed")


def load_rebalance(db: sa.Connection) -> Rebalance:
    """Return the state of the latest rebalance."""
    row = db.exec_driver_sql(
        "SELECT state, details -> 'task_state_counts', "
        "jsonb_path_query_array(details, '$.tasks[*].message ? (@ != \"\")') "
        "FROM citus_rebalance_status()"
    ).one_or_none()
    if row is None:
        return Rebalance()
    state, counts, messages = row
    done = counts.get("done", 0)
    return Rebalance(state=state, done=done, moves=sum(counts.values()), messages=tuple(messages))


def distribute_missing(db: sa.Connection, shards: int | None = None) -> None:
    """Distribute what isn't distributed yet in the caller's transaction, which excludes writers."""
    distributed = _count_shards(db)
    colocated = next(iter(distributed), "none")
    for name in TABLES:
        if name in distributed:
            continue
        options = f"colocate_with => '{colocated}'"
        if colocated == "none":
            options += f", shard_count => {shards}" if shards else ""
            colocated = name
        db.exec_driver_sql(f"SELECT create_distributed_table('\"{name}\"', 'scope', {options})")


def prepare_migration(db: sa.Connection) -> bool:
    """Let a transaction change distributed tables, one by one; return whether there are any."""
    if not has_citus(db) or not _count_shards(db):
        return False
    db.exec_driver_sql("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
    return True


def vacuum_shards(db: sa.Connection, scope_id: int) -> Collection[str]:
    """Free the space of erased rows where a scope's are; return the names of distributed tables.

    A worker that can't be reached is left to its own cleaning: the rows are erased already.
    """
    tables = _count_shards(db) if has_citus(db) else {}
    if tables:
        names = ", ".join(f"'\"{name}\"'" for name in tables)
        db.exec_driver_sql(
            "SELECT master_run_on_worker(nodes, ports, commands, false) FROM ("
            "SELECT array_agg(nodename) AS nodes, array_agg(nodeport::int) AS ports, "
            "array_agg('VACUUM ' || shard_name(name, shardid)) AS commands FROM ("
            f"SELECT name, get_shard_id_for_distribution_column(name, {scope_id}) AS shardid "
            f"FROM unnest(ARRAY[{names}]::regclass[]) AS name"
            ") AS shards JOIN pg_dist_shard_placement USING (shardid)) AS placements"
        )
    return tables


@contextmanager
def _alone(engine: sa.Engine, location: str) -> Generator[sa.Connection]:
    """Return a connection without transactions, unless another process distributes the tables."""
    with engine.connect() as db:
        db.detach()  # the pool must not get its settings and its lock
        # The server ends a statement soon after the process that waited for it was killed.
        db.exec_driver_sql("SET client_connection_check_interval = '2s'")
        if not db.exec_driver_sql(f"SELECT pg_try_advisory_lock({_LOCK})").scalar_one():
            raise StoreUnavailable(
                f"{location}: another process distributes or rebalances the tables; try again later"
            )
        yield db


def _require_citus(db: sa.Connection, location: str) -> None:
    if not has_citus(db):
        raise UserError(
            f"{location} has no Citus extension; run CREATE EXTENSION citus in this database "
            "on every server, then add the workers with citus_add_node"
        )


def _require_sight(db: sa.Connection, location: str) -> None:
    """Raise UserError for a role that row-level security shows no rows: none would be copied."""
    protected = db.execute(
        sa.text(
            "SELECT bool_or(row_security_active(oid)) FROM pg_class WHERE relname = ANY(:names) "
            "AND relnamespace = current_schema()::regnamespace"
        ),
        {"names": list(TABLES)},
    )
    if protected.scalar_one():
        raise UserError(
            f"{location}: row-level security hides rows from this role, so they can't be copied; "
            "name a superuser, or a role with BYPASSRLS, in the URL"
        )


def _size_in_bytes(db: sa.Connection, name: str) -> int:
    """Return the size of a table's rows on this server, without what doesn't fit into a page."""
    return int(db.exec_driver_sql(f"SELECT pg_relation_size('\"{name}\"')").scalar_one())


def _erase_copies(db: sa.Connection, location: str) -> None:
    """Erase the rows on the coordinator that were copied to workers."""
    for name in TABLES:
        if _size_in_bytes(db, name):
            _lock_between_readers(
                db,
                f"SELECT truncate_local_data_after_distributing_table('\"{name}\"')",
                f"{location}: the coordinator's copy of table {name} can't be erased",
            )


def _lock_between_readers(db: sa.Connection, statement: str, failure: str) -> None:
    """Run a statement that locks a table for everyone, without keeping others waiting for long."""
    db.exec_driver_sql(f"SET lock_timeout = {_LOCK_TIMEOUT}")
    for _ in range(_TRIES):
        try:
            db.exec_driver_sql(statement)
            return
        except exc.OperationalError as error:
            if sqlstates.find_sqlstate(error) != "55P03":
                raise
            time.sleep(1)
    raise StoreUnavailable(
        f"{failure} while it is read, such as by an export; run this again later"
    )
