"""Alembic's entry point; the store hands in a connection that is inside a transaction."""

from __future__ import annotations

from alembic import context

from theanine.store.sql.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
