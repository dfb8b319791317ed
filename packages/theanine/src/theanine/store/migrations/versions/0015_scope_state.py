"""Move all that changes about a scope from the table of names to one that is keyed by scope."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_MOVED = (
    *("epoch", "next_session", "next_turn", "next_memory", "next_mark"),
    *("lease_holder", "lease_until", "time_zone", "retention", "revision", "restored_versions"),
)


def upgrade() -> None:
    op.create_table(
        "scope_state",
        sa.Column("scope", sa.Integer(), primary_key=True, autoincrement=False),
        *_moved_columns(),
        sa.Column("lease_number", sa.Integer(), nullable=False, server_default=sa.text("'0'")),
        sqlite_with_rowid=False,
    )
    names = ", ".join(_MOVED)
    op.execute(f"INSERT INTO scope_state (scope, {names}) SELECT id, {names} FROM scope")
    for name in _MOVED:
        op.drop_column("scope", name)


def downgrade() -> None:
    for column in _moved_columns():
        op.add_column("scope", column)
    names = ", ".join(_MOVED)
    op.execute(
        f"UPDATE scope SET ({names}) = "
        f"(SELECT {names} FROM scope_state WHERE scope_state.scope = scope.id) "
        "WHERE EXISTS (SELECT 1 FROM scope_state WHERE scope_state.scope = scope.id)"
    )
    op.drop_table("scope_state")


def _moved_columns() -> list[sa.Column[Any]]:
    def number(name: str, default: int) -> sa.Column[Any]:
        default_text = sa.text(f"'{default}'")
        return sa.Column(name, sa.Integer(), nullable=False, server_default=default_text)

    return [
        number("epoch", 0),
        number("next_session", 1),
        number("next_turn", 1),
        number("next_memory", 1),
        number("next_mark", 1),
        sa.Column("lease_holder", _TEXT),
        sa.Column("lease_until", sa.BigInteger()),
        sa.Column("time_zone", _TEXT),
        sa.Column("retention", sa.BigInteger()),
        number("revision", 0),
        sa.Column("restored_versions", _TEXT, nullable=False, server_default=sa.text("'{}'")),
    ]
