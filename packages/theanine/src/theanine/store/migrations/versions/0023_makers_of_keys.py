"""Add the maker of a key, and the right to have the service's model reply."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("api_key", sa.Column("maker", text))
    # Until now, a key that may write had replies.
    op.execute(
        "UPDATE api_key SET rights = replace(rights, 'write', 'write reply') "
        "WHERE rights LIKE '%write%'"
    )


def downgrade() -> None:
    op.execute("UPDATE api_key SET rights = replace(rights, ' reply', '')")
    op.execute("DELETE FROM api_key WHERE rights = 'reply'")
    op.drop_column("api_key", "maker")
