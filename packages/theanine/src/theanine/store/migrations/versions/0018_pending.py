"""Add when a failed session is tried again, what was set aside, and indexes of what is pending."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("remembering", sa.Column("retry_at", sa.BigInteger()))
    op.add_column("remembering", sa.Column("set_aside", _TEXT))
    pending = sa.text("remembered_at IS NULL AND set_aside IS NULL")
    op.create_index(
        "remembering_pending",
        "remembering",
        ["method", "scope", "retry_at"],
        sqlite_where=pending,
        postgresql_where=pending,
    )
    is_open = sa.text("ended_at IS NULL")
    op.create_index(
        "session_open",
        "session",
        ["scope", "id"],
        sqlite_where=is_open,
        postgresql_where=is_open,
    )


def downgrade() -> None:
    op.drop_index("session_open", "session")
    op.drop_index("remembering_pending", "remembering")
    op.drop_column("remembering", "set_aside")
    op.drop_column("remembering", "retry_at")
