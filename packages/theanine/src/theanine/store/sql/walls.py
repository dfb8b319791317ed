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
_TENANT = "current_setting('theanine.tenant', true)"
# CASE, since the planner takes each of a chain of ORs for rare, and joins thousands of rows as few.
_OF_SCOPE = f"CASE {_SCOPE} WHEN scope::text THEN true WHEN '*' THEN true ELSE false END"
_OF_TENANT = f"CASE WHEN {_SCOPE} = '*' THEN true ELSE coalesce(tenant = {_TENANT}, false) END"


def create_walls(db: sa.Connection) -> None:
    """Create the policies of a new schema in PostgreSQL; other databases have none."""
    if db.dialect.name != "postgresql":
        return
    for table in t.metadata.sorted_tables:
        if table is t.scope or "scope" in table.c:
            visible = _OF_TENANT if table is t.scope else _OF_SCOPE
            db.exec_driver_sql(f'ALTER TABLE "{table.name}" ENABLE ROW LEVEL SECURITY')
            db.exec_driver_sql(f'ALTER TABLE "{table.name}" FORCE ROW LEVEL SECURITY')
            db.exec_driver_sql(f'CREATE POLICY wall ON "{table.name}" USING ({visible})')


def open_to_tenant(scope: Scope) -> str:
    """Return the call of a function that lets a transaction see the names of a scope's tenant."""
    return f"set_config('theanine.tenant', {_quote(scope.tenant)}, true)"


def look_up(scope: Scope) -> str:
    """Return a query for a scope's number that lets a transaction see its rows.

    The second column says whether workers of Citus have to be told as well.
    """
    names = zip(("tenant", "agent", '"user"'), (scope.tenant, scope.agent, scope.user), strict=True)
    return (
        "SELECT id, EXISTS (SELECT FROM pg_extension WHERE extname = 'citus'), "
        "set_config('theanine.scope', id::text, true) FROM scope WHERE "
        + " AND ".join(f"{column} = {_quote(name)}" for column, name in names)
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


def _set_scope(db: sa.Connection, value: str) -> None:
    # Citus passes settings on if it is told so; to other servers, the first name means nothing.
    db.exec_driver_sql(
        f"SET LOCAL citus.propagate_set_commands = 'local'; SET LOCAL theanine.scope = '{value}'"
    )


def find_bypass(db: sa.Connection) -> str:
    """Return why this role sees all rows whatever the policies say; empty if it does not."""
    query = "SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
    superuser, bypasses = db.exec_driver_sql(query).one()
    return "is a superuser" if superuser else "has BYPASSRLS" if bypasses else ""


def _quote(text: str) -> str:
    """Return a literal that means the same whatever the server's settings.

    What no tenant can be called is replaced, so that it is found nowhere.
    """
    storable = text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    escaped = storable.replace("\\", "\\\\").replace("'", "''").replace("%", "%%")
    return f"E'{escaped}'"
