"""Metadata of turns, sessions and memories; a user's time zone and retention."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    for table in ("session", "turn", "memory"):
        column = sa.Column("metadata", sa.Text(), server_default="{}", nullable=False)
        op.add_column(table, column)
    op.add_column("scope", sa.Column("time_zone", sa.Text(), nullable=True))
    op.add_column("scope", sa.Column("retention", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("scope", "retention")
    op.drop_column("scope", "time_zone")
    for table in ("memory", "turn", "session"):
        op.drop_column(table, "metadata")
