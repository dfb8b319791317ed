"""The method that a store is remembered by where none is named, for stores that kept none yet."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    # Until now that was always this one, unless nothing was ever remembered by it.
    op.execute(
        "INSERT INTO setting (name, value) "
        "SELECT 'method', method FROM remembering WHERE method NOT LIKE '%~%' "
        "ORDER BY CASE WHEN method = 'theanine' THEN 0 ELSE 1 END, session, method LIMIT 1"
    )
