"""When the first turn of a scope expires by itself."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.add_column("scope_state", sa.Column("expires_at", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("scope_state", "expires_at")
