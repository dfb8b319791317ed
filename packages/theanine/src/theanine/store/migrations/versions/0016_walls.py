"""Add row-level security in PostgreSQL, which keeps the rows of scopes and tenants apart."""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0015"

_SCOPE = "current_setting('theanine.scope', true)"
_TENANT = "current_setting('theanine.tenant', true)"
_OF_SCOPE = f"CASE {_SCOPE} WHEN scope::text THEN true WHEN '*' THEN true ELSE false END"
_OF_TENANT = f"CASE WHEN {_SCOPE} = '*' THEN true ELSE coalesce(tenant = {_TENANT}, false) END"
_TABLES = (
    *("scope", "scope_state", "reservation", "session", "turn", "given", "remembering", "memory"),
    *("source", "origin", "mark", "erased", "link", "vector", "sidecar", "journal"),
)


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for table in _TABLES:
        visible = _OF_TENANT if table == "scope" else _OF_SCOPE
        op.execute(f'ALTER TABLE "{table}" ENABLE ROW LEVEL SECURITY')
        op.execute(f'ALTER TABLE "{table}" FORCE ROW LEVEL SECURITY')
        op.execute(f'CREATE POLICY wall ON "{table}" USING ({visible})')


def downgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for table in _TABLES:
        op.execute(f'DROP POLICY wall ON "{table}"')
        op.execute(f'ALTER TABLE "{table}" NO FORCE ROW LEVEL SECURITY')
        op.execute(f'ALTER TABLE "{table}" DISABLE ROW LEVEL SECURITY')
