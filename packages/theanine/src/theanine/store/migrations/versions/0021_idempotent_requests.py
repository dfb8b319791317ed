"""Add the requests to the service that are carried out once, with their answers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "idempotent_request",
        sa.Column("tenant", text, primary_key=True, autoincrement=False),
        sa.Column("api_key", text, primary_key=True, autoincrement=False),
        sa.Column("name", text, primary_key=True, autoincrement=False),
        sa.Column("fingerprint", text, nullable=False),
        sa.Column("user", text),
        sa.Column("agent", text),
        sa.Column("taking", sa.Integer(), nullable=False),
        sa.Column("holder", text, nullable=False),
        sa.Column("until", sa.BigInteger()),
        sa.Column("changed", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("kept", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("status", sa.Integer()),
        sa.Column("headers", text, nullable=False, server_default="{}"),
        sa.Column("body", sa.LargeBinary()),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("idempotent_request_expiry", "idempotent_request", ["expires_at"])
    op.create_index("idempotent_request_user", "idempotent_request", ["tenant", "user", "agent"])


def downgrade() -> None:
    op.drop_table("idempotent_request")
