"""An index for the journal's costs, which are summed before each call without reading prompts."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    accounts = ["rejected", "input_tokens", "output_tokens", "cost", "seconds"]
    op.create_index("journal_costs", "journal", ["scope", "session", "step", "model", *accounts])


def downgrade() -> None:
    op.drop_index("journal_costs", "journal")
