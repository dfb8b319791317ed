"""Cues of memories: other words by which one may ask for them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    column = sa.Column("cues", sa.Text(), server_default="[]", nullable=False)
    op.add_column("memory", column)


def downgrade() -> None:
    op.drop_column("memory", "cues")
