"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "embedder",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "given",
        sa.Column("scope", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("session", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("speakers", sa.Text(), nullable=False),
        sa.Column("source_keys", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "session", "position"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "journal",
        sa.Column("scope", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("reply", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("rejected", sa.Boolean(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("session", sa.Integer(), nullable=True),
        sa.Column("touches", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "link",
        sa.Column("scope", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("newer", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("older", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("relation", sa.Text(), nullable=True),
        sa.Column("explanation", sa.Text(), nullable=False),
        sa.Column("similarity", sa.Float(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "newer", "older"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "memory",
        sa.Column("scope", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("session", sa.Integer(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("speakers", sa.Text(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "remembering",
        sa.Column("scope", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("session", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("method", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("remembered_at", sa.BigInteger(), nullable=True),
        sa.Column("upto", sa.Integer(), server_default="0", nullable=False),
        sa.Column("given", sa.Integer(), server_default="0", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("scope", "session", "method"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "scope",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), server_default="0", nullable=False),
        sa.Column("next_session", sa.Integer(), server_default="1", nullable=False),
        sa.Column("next_turn", sa.Integer(), server_default="1", nullable=False),
        sa.Column("next_memory", sa.Integer(), server_default="1", nullable=False),
        sa.Column("lease_holder", sa.Text(), nullable=True),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tenant", "agent", "user"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "session",
        sa.Column("scope", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("dated", sa.Boolean(), nullable=False),
        sa.Column("holder", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("scope", "id"),
        sqlite_with_rowid=False,
    )
    op.create_index("session_key", "session", ["scope", "key"], unique=True)
    op.create_table(
        "setting",
        sa.Column("name", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "source",
        sa.Column("scope", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("memory", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("turn", sa.Integer(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("scope", "memory", "turn"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "turn",
        sa.Column("scope", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("session", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=True),
        sa.Column("speaker", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("zone", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("shared", sa.Text(), nullable=False),
        sa.Column("recalled", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "id"),
        sqlite_with_rowid=False,
    )
    op.create_index("turn_key", "turn", ["scope", "session", "key"], unique=True)
    op.create_index("turn_session", "turn", ["scope", "session"], unique=False)
    op.create_table(
        "vector",
        sa.Column("scope", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("embedder", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("memory", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "embedder", "memory"),
        sqlite_with_rowid=False,
    )
