"""Provenance between memories, marks, notes of a turn, and tombstones."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "erased",
        sa.Column("scope", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("session", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("hash", sa.Text(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("scope", "session", "hash"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "mark",
        sa.Column("scope", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("memory", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("by", sa.Integer(), nullable=True),
        sa.Column("session", sa.Integer(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "origin",
        sa.Column("scope", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("memory", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("origin", sa.Integer(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("scope", "memory", "origin"),
        sqlite_with_rowid=False,
    )
    op.create_index("origin_of", "origin", ["scope", "origin"], unique=False)
    op.add_column("scope", sa.Column("next_mark", sa.Integer(), server_default="1", nullable=False))
    op.add_column("turn", sa.Column("notes", sa.Text(), server_default="{}", nullable=False))


def downgrade() -> None:
    op.drop_column("turn", "notes")
    op.drop_column("scope", "next_mark")
    op.drop_table("origin")
    op.drop_table("mark")
    op.drop_table("erased")
