"""Add the keys of the service."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "api_key",
        sa.Column("id", text, primary_key=True, autoincrement=False),
        sa.Column("hash", text, nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("tenant", text, nullable=False),
        sa.Column("user", text),
        sa.Column("agent", text),
        sa.Column("rights", text, nullable=False),
        sa.Column("rate", sa.Integer()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger()),
        sa.Column("revoked_at", sa.BigInteger()),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("api_key")
