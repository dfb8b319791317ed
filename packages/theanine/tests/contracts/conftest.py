"""The implementations that the contract suites test; a new store adds an entry to ``STORES``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import citus, debian_postgres, postgres
from theanine.store import Store, open_store


@dataclass(frozen=True, slots=True)
class StoreCase:
    """A store under contract and what it can do.

    Attributes:
        make: gives a store over a folder, made if need be; twice the same folder is the same store.
        files: its content lies in files of that folder, which a test may search for erased words.
    """

    make: Callable[[Path], Store]
    files: bool


def make_sqlite(folder: Path) -> Store:
    folder.mkdir(exist_ok=True)
    return open_store(str(folder / "memory.db"))


STORES = {
    "citus": StoreCase(make=lambda folder: open_store(citus.database_url(folder)), files=False),
    # Debian's server, and between it and the store PgBouncer in transaction mode.
    "pgbouncer": StoreCase(
        make=lambda folder: open_store(debian_postgres.pooled_url(folder)), files=False
    ),
    "postgres": StoreCase(
        make=lambda folder: open_store(postgres.database_url(folder)), files=False
    ),
    "sqlite": StoreCase(make=make_sqlite, files=True),
}


_MARKS = {
    name: [pytest.mark.slow, pytest.mark.skipif(bool(server.MISSING), reason=server.MISSING)]
    for name, server in (
        ("citus", citus),
        ("pgbouncer", debian_postgres),
        ("postgres", postgres),
    )
}
_PARAMETERS = {name: pytest.param(name, marks=_MARKS.get(name, [])) for name in sorted(STORES)}
_FAST = sorted(STORES.keys() - {"citus", "pgbouncer"})  # many examples take long on the others
NAMES = [_PARAMETERS[name] for name in _FAST]
"""The names of the stores, for parameters of tests of many examples."""
CASES = [pytest.param(STORES[name], id=name, marks=_MARKS.get(name, [])) for name in _FAST]
"""The stores themselves."""


@pytest.fixture(params=_PARAMETERS.values())
def store_case(request: pytest.FixtureRequest) -> StoreCase:
    """One store after the other."""
    return STORES[request.param]


@pytest.fixture
async def store(store_case: StoreCase, tmp_path: Path) -> AsyncIterator[Store]:
    """An open, empty store."""
    made = store_case.make(tmp_path)
    await made.open()
    yield made
    await made.close()
