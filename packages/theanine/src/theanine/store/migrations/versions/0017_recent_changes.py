"""Add the ids of a scope's last changes, by which one whose commit got no answer is found."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    column = sa.Column("recent_changes", text, nullable=False, server_default=sa.text("''"))
    op.add_column("scope_state", column)


def downgrade() -> None:
    op.drop_column("scope_state", "recent_changes")
