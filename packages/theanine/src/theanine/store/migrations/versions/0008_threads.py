"""Add sessions that continue a thread, and the content of messages."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("session", sa.Column("thread", sa.Text()))
    op.add_column("session", sa.Column("pause", sa.BigInteger()))
    op.create_index("session_thread", "session", ["scope", "thread"])
    op.add_column(
        "turn", sa.Column("content", sa.Text(), nullable=False, server_default=sa.text("''"))
    )


def downgrade() -> None:
    op.drop_column("turn", "content")
    op.drop_index("session_thread", "session")
    op.drop_column("session", "pause")
    op.drop_column("session", "thread")
