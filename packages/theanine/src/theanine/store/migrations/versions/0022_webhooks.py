"""Add webhooks and their deliveries."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"

_TABLES = ("webhook", "webhook_delivery")
_SCOPE = "current_setting('theanine.scope', true)"
_TENANT = "current_setting('theanine.tenant', true)"
_OF_TENANT = f"CASE WHEN {_SCOPE} = '*' THEN true ELSE coalesce(tenant = {_TENANT}, false) END"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "webhook",
        sa.Column("id", text, primary_key=True, autoincrement=False),
        sa.Column("tenant", text, nullable=False),
        sa.Column("user", text),
        sa.Column("agent", text),
        sa.Column("name", text, nullable=False),
        sa.Column("url", text, nullable=False),
        sa.Column("kinds", text, nullable=False),
        sa.Column("secret", text, nullable=False),
        sa.Column("former_secret", text),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("disabled", text),
        sa.Column("former_until", sa.BigInteger()),
        sa.Column("failing_since", sa.BigInteger()),
        sa.Column("not_before", sa.BigInteger()),
        sa.Column("until", sa.BigInteger()),
        sa.Column("failures", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("taking", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("holder", text, nullable=False, server_default=""),
        sqlite_with_rowid=False,
    )
    op.create_index("webhook_tenant", "webhook", ["tenant"])
    op.create_table(
        "webhook_delivery",
        sa.Column("webhook", text, primary_key=True, autoincrement=False),
        sa.Column("id", text, primary_key=True, autoincrement=False),
        sa.Column("tenant", text, nullable=False),
        sa.Column("kind", text, nullable=False),
        sa.Column("payload", text, nullable=False),
        sa.Column("state", text, nullable=False, server_default="waiting"),
        sa.Column("tries", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("status", sa.Integer()),
        sa.Column("error", text, nullable=False, server_default=""),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("tried_at", sa.BigInteger()),
        sa.Column("not_before", sa.BigInteger(), nullable=False, server_default="0"),
        sqlite_with_rowid=False,
    )
    waiting = sa.text("state = 'waiting'")
    op.create_index(
        "webhook_delivery_waiting",
        "webhook_delivery",
        ["webhook", "not_before", "id"],
        sqlite_where=waiting,
        postgresql_where=waiting,
    )
    op.create_index("webhook_delivery_age", "webhook_delivery", ["created_at"])
    if op.get_bind().dialect.name != "postgresql":
        return
    for table in _TABLES:
        op.execute(f'ALTER TABLE "{table}" ENABLE ROW LEVEL SECURITY')
        op.execute(f'ALTER TABLE "{table}" FORCE ROW LEVEL SECURITY')
        op.execute(f'CREATE POLICY wall ON "{table}" USING ({_OF_TENANT})')


def downgrade() -> None:
    for table in reversed(_TABLES):
        op.drop_table(table)
