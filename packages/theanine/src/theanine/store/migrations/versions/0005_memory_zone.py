"""A memory's UTC offset, taken from the turn that its time comes from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("memory", sa.Column("zone", sa.Integer(), server_default="0", nullable=False))
    # A memory derived from others has no source turn; it gets the last turn of its session.
    op.execute(
        "UPDATE memory SET zone = COALESCE("
        "(SELECT turn.zone FROM source JOIN turn"
        " ON turn.scope = source.scope AND turn.id = source.turn"
        " WHERE source.scope = memory.scope AND source.memory = memory.id"
        " ORDER BY turn.at DESC, turn.id DESC LIMIT 1), "
        "(SELECT turn.zone FROM turn"
        " WHERE turn.scope = memory.scope AND turn.session = memory.session"
        " ORDER BY turn.at DESC, turn.id DESC LIMIT 1), 0)"
    )


def downgrade() -> None:
    op.drop_column("memory", "zone")
