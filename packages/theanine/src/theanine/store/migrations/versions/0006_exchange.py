"""Rename the method and memory kind ``turn`` to ``exchange``, and the role ``agent``."""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    # "turn~…" are stages of an unfinished rebuild.
    for table in ("remembering", "memory", "mark", "link"):
        op.execute(
            f"UPDATE {table} SET method = 'exchange' || substr(method, 5) "
            "WHERE method = 'turn' OR method LIKE 'turn~%'"
        )
    op.execute("UPDATE memory SET kind = 'exchange' WHERE kind = 'turn'")
    op.execute("UPDATE setting SET value = 'exchange' WHERE name = 'method' AND value = 'turn'")
    op.execute("UPDATE turn SET role = 'assistant' WHERE role = 'agent'")


def downgrade() -> None:
    for table in ("remembering", "memory", "mark", "link"):
        op.execute(
            f"UPDATE {table} SET method = 'turn' || substr(method, 9) "
            "WHERE method = 'exchange' OR method LIKE 'exchange~%'"
        )
    op.execute("UPDATE memory SET kind = 'turn' WHERE kind = 'exchange'")
    op.execute("UPDATE setting SET value = 'turn' WHERE name = 'method' AND value = 'exchange'")
    op.execute("UPDATE turn SET role = 'agent' WHERE role = 'assistant'")
