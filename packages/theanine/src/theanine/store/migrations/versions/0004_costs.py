"""The journal's accounts in an index: budgets sum them before each call, without the words."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    accounts = ["rejected", "input_tokens", "output_tokens", "cost", "seconds"]
    op.create_index("journal_costs", "journal", ["scope", "session", "step", "model", *accounts])
