"""Add data derived from scopes, such as stored indexes, for stores without files of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "sidecar",
        sa.Column("scope", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("name", _TEXT, primary_key=True, autoincrement=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sqlite_with_rowid=False,
    )
    if op.get_context().dialect.name == "postgresql":  # what it holds can't be compressed
        op.execute("ALTER TABLE sidecar ALTER data SET STORAGE EXTERNAL")


def downgrade() -> None:
    op.drop_table("sidecar")
