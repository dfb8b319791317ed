"""Add the operations of the service."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "operation",
        sa.Column("id", text, primary_key=True, autoincrement=False),
        sa.Column("tenant", text, nullable=False),
        sa.Column("user", text),
        sa.Column("agent", text),
        sa.Column("kind", text, nullable=False),
        sa.Column("options", text, nullable=False),
        sa.Column("state", text, nullable=False),
        sa.Column("cancelling", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("taking", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("tries", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("until", sa.BigInteger()),
        sa.Column("done", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
        sa.Column("result", text, nullable=False, server_default="{}"),
        sa.Column("error", text, nullable=False, server_default=""),
        sqlite_with_rowid=False,
    )
    op.create_index("operation_state", "operation", ["state", "created_at"])
    op.create_index("operation_tenant", "operation", ["tenant", "created_at"])


def downgrade() -> None:
    op.drop_table("operation")
