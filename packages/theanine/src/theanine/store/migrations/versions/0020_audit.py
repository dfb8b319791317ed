"""Add the audit log of the service."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "audit",
        sa.Column("id", text, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("tenant", text, nullable=False),
        sa.Column("key", text, nullable=False),
        sa.Column("user", text),
        sa.Column("agent", text),
        sa.Column("action", text, nullable=False),
        sa.Column("request", text, nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("request_id", text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("audit_tenant", "audit", ["tenant", "id"])


def downgrade() -> None:
    op.drop_table("audit")
