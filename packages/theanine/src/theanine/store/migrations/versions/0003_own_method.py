"""The default method of stores that have none yet."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    # Before, the default was always theanine, unless nothing was remembered by it.
    op.execute(
        "INSERT INTO setting (name, value) "
        "SELECT 'method', method FROM remembering WHERE method NOT LIKE '%~%' "
        "ORDER BY CASE WHEN method = 'theanine' THEN 0 ELSE 1 END, session, method LIMIT 1"
    )


def downgrade() -> None:
    op.execute("DELETE FROM setting WHERE name = 'method'")
