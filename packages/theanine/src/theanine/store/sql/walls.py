"""Row-level security in PostgreSQL: what a transaction sees, whatever its statements ask for.

A transaction about one scope sees the names of its tenant until it has looked the scope's number
up, and from then on the rows of that scope. One about the whole store says so, and sees all. One
that says nothing sees nothing. Superusers and roles with BYPASSRLS see everything regardless.

What is set ends with the transaction, so it holds in a pool of connections, too. The scope is set
by a literal ``SET LOCAL``, which Citus passes on to the workers; calls of functions it does not.
"""

from __future__ import annotations

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.types import Scope

_ENCLOSED = "theanine_enclosed"  # option of a connection
_SCOPE = "current_setting('theanine.scope', true)"
SCOPE_ID = f"nullif({_SCOPE}, '')"
"""The number of the scope that a transaction sees, as text; NULL if it sees none."""
_TENANT = "current_setting('theanine.tenant', true)"
# CASE, since the planner takes each of a chain of ORs for rare, and joins thousands of rows as few.
_OF_SCOPE = f"CASE {_SCOPE} WHEN scope::text THEN true WHEN '*' THEN true ELSE false END"
_OF_TENANT = f"CASE WHEN {_SCOPE} = '*' THEN true ELSE coalesce(tenant = {_TENANT}, false) END"

_WALLED = {
    **dict.fromkeys((t.scope, t.webhook, t.webhook_delivery), _OF_TENANT),
    **{table: _OF_SCOPE for table in t.metadata.sorted_tables if "scope" in table.c},
}
UNBOUND = "owns tables whose policies don't bind their owner, which is so during a rebalance"


def create_walls(db: sa.Connection) -> None:
    """Create the policies of a new schema in PostgreSQL; other databases have none."""
    if db.dialect.name != "postgresql":
        return
    for table, visible in _WALLED.items():
        db.exec_driver_sql(f'ALTER TABLE "{table.name}" ENABLE ROW LEVEL SECURITY')
        db.exec_driver_sql(f'CREATE POLICY wall ON "{table.name}" USING ({visible})')
    for statement in binding_statements(bound=True):
        db.exec_driver_sql(statement)


def binding_statements(*, bound: bool) -> list[str]:
    """Return what makes the policies bind the tables' owner, too, or only other roles."""
    force = "FORCE" if bound else "NO FORCE"
    return [f'ALTER TABLE "{table.name}" {force} ROW LEVEL SECURITY' for table in _WALLED]


def open_to_tenant(scope: Scope) -> str:
    """Return the call of a function that lets a transaction see the names of a scope's tenant.

    It is no format string: ``%`` stands for itself.
    """
    return f"set_config('theanine.tenant', {quote(scope.tenant)}, true)"


def look_up(scope: Scope) -> str:
    """Return a query for a scope's number that lets a transaction see its rows.

    The second column says whether workers of Citus have to be told as well. It is no format string.
    """
    names = zip(("tenant", "agent", '"user"'), (scope.tenant, scope.agent, scope.user), strict=True)
    return (
        "SELECT id, EXISTS (SELECT FROM pg_extension WHERE extname = 'citus'), "
        "set_config('theanine.scope', id::text, true) FROM scope WHERE "
        + " AND ".join(f"{column} = {quote(name)}" for column, name in names)
    )


def enclose(db: sa.Connection) -> sa.Connection:
    """Have a connection's transaction see only the scope that it works in."""
    return db.execution_options(**{_ENCLOSED: True})


def open_to_scope(db: sa.Connection, scope_id: int) -> None:
    """Let an enclosed transaction see the rows of a scope, and of no other."""
    if db.get_execution_options().get(_ENCLOSED):
        _set_scope(db, str(scope_id))


def open_to_store(db: sa.Connection) -> None:
    """Let a transaction see all rows."""
    _set_scope(db, "*")


def tell_workers(value: str) -> list[str]:
    """Return the statements that let a transaction see a scope's rows on the workers of Citus, too.

    Citus passes settings on if it is told so; to other servers, the first name means nothing.
    """
    return [
        "SET LOCAL citus.propagate_set_commands = 'local'",
        f"SET LOCAL theanine.scope = '{value}'",
    ]


def tell_workers_at_once(scope_id: int) -> str:
    """Return what :func:`tell_workers` does as one statement, which can go with others.

    Citus passes on the whole string that a ``SET LOCAL`` is in, but for one in a block its text.
    """
    body = "; ".join(tell_workers(str(scope_id)))
    return f"DO $$BEGIN {body}; END$$"


def close_to_scopes(db: sa.Connection) -> None:
    """Let an enclosed transaction see no rows."""
    _set_scope(db, "")


def _set_scope(db: sa.Connection, value: str) -> None:
    db.exec_driver_sql("; ".join(tell_workers(value)))


def find_bypass(db: sa.Connection) -> str:
    """Return why this role sees all rows whatever the policies say; empty if it does not."""
    query = "SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
    superuser, bypasses = db.exec_driver_sql(query).one()
    if superuser or bypasses:
        return "is a superuser" if superuser else "has BYPASSRLS"
    query = (
        "SELECT EXISTS (SELECT FROM pg_policies JOIN pg_class ON relname = tablename "
        "AND relnamespace = schemaname::regnamespace WHERE policyname = 'wall' "
        "AND schemaname = current_schema() AND NOT row_security_active(pg_class.oid))"
    )
    return UNBOUND if db.exec_driver_sql(query).scalar_one() else ""


def quote(text: str) -> str:
    """Return a literal that means the same whatever the server's settings.

    Characters that PostgreSQL refuses are replaced, so that the statement can be sent.
    """
    storable = text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    escaped = storable.replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'"
