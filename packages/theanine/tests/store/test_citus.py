"""What is particular to stores that are distributed over a Citus cluster."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

import theanine
from support import citus
from support.running import Terminal
from theanine.store.sql.distribution import TABLES

pytestmark = [pytest.mark.skipif(bool(citus.MISSING), reason=citus.MISSING), pytest.mark.slow]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database with the extension and two workers, in which nothing is distributed."""
    return citus.undistributed_url(tmp_path)


def test_a_store_in_use_is_distributed_once(url: str, run: Terminal) -> None:
    with theanine.open(url) as client:
        ana, ben = client.user("ana"), client.user("ben")
        ana.add("I'm terrified of ships since the storm.")
        ben.add("I moved to Ljubljana.")
        before = list(client.export())
        first = run.bare("db", "distribute", "--shards", "4", "--store", url).out.splitlines()
        assert sorted(first[:-1]) == sorted(f"{name}: distributed" for name in TABLES)
        summary = f"{len(TABLES)} tables by user, each in 4 shards over 2 workers"
        assert first[-1] == f"Distributed now: {summary}"
        assert list(client.export()) == before
        assert "terrified" in ana.recall("Shall we book that cruise on a ship?").text
        ana.add("I like tea.")
        again = run.bare("db", "distribute", "--store", url)
        assert again.out == f"Already distributed: {summary}\n"
    with psycopg.connect(url) as db:
        for name in TABLES:  # no row stays on the coordinator
            assert db.execute(f"SELECT pg_relation_size('\"{name}\"')".encode()).fetchone() == (0,)
    checked = run.bare("doctor", "--no-ask", "--store", url).out
    assert summary in checked
