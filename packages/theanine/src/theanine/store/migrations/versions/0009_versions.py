"""Count the changes of each scope, and keep tombstones of forgotten scopes."""

from __future__ import annotations

from secrets import token_hex

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column(
        "scope", sa.Column("revision", sa.Integer(), nullable=False, server_default=sa.text("'0'"))
    )
    op.add_column(
        "scope",
        sa.Column("restored_versions", sa.Text(), nullable=False, server_default=sa.text("'{}'")),
    )
    op.create_table(
        "erased_scope",
        sa.Column("hash", sa.Text(), primary_key=True, autoincrement=False),
        sa.Column("versions", sa.Text(), nullable=False),
        sqlite_with_rowid=False,
    )
    db = op.get_bind()
    if db.execute(sa.text("SELECT 1 FROM scope")).first():
        # What is there was changed at least once: else stores would seem to have the same state.
        values = {"store_id": token_hex(8), "revision": "1"}
        for name, value in values.items():
            insert = sa.text("INSERT INTO setting (name, value) VALUES (:name, :value)")
            db.execute(insert, {"name": name, "value": value})
        db.execute(sa.text("UPDATE scope SET revision = 1"))


def downgrade() -> None:
    op.drop_table("erased_scope")
    op.execute("DELETE FROM setting WHERE name IN ('store_id', 'revision', 'restored_versions')")
    op.drop_column("scope", "restored_versions")
    op.drop_column("scope", "revision")
