"""Add what is hidden until it is erased, and operations that begin later."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    hidden = sa.Column("hidden", text, nullable=False, server_default=sa.text("''"))
    op.add_column("scope_state", hidden)
    op.add_column("operation", sa.Column("not_before", sa.BigInteger()))


def downgrade() -> None:
    op.drop_column("operation", "not_before")
    op.drop_column("scope_state", "hidden")
