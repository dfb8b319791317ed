"""A real Citus cluster on this machine, for the tests that need one."""

from __future__ import annotations

import atexit
import os
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir, mkdtemp

import anyio
import pytest

from theanine.store.postgres import PostgresStore

_KEPT = 6
"""Databases of tests that are kept at once; each one has background workers on every server."""


def _why_missing() -> str:
    if not (folder := os.environ.get("THEANINE_CITUS")):
        return "THEANINE_CITUS is not set"
    if not (Path(folder) / "cluster").exists():
        return "THEANINE_CITUS names no folder with the program cluster"
    if not find_spec("psycopg"):
        return "psycopg is not installed"
    if os.geteuid() != 0:
        return "a Citus cluster is started by root"
    return ""


MISSING = _why_missing()
"""Why there is no cluster; empty if there can be one."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A coordinator and its workers, each a PostgreSQL server on loopback."""

    folder: Path
    workers: tuple[str, ...]

    def url(self, node: str = "coordinator", database: str = "theanine") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port(node)}/{database}"

    def port(self, node: str) -> int:
        return int((self.folder / f"{node}.port").read_text())

    @property
    def nodes(self) -> tuple[str, ...]:
        return ("coordinator", *self.workers)

    def kill(self, node: str) -> None:
        _run("kill", self.folder, node)

    def start(self, node: str) -> None:
        _run("start", self.folder, node)

    def stop(self) -> None:
        _run("down", self.folder)

    def execute(self, *statements: str, nodes: Iterable[str] = ("coordinator",)) -> None:
        """Run statements on servers, at the same time on each."""

        def run(node: str) -> None:
            import psycopg

            with psycopg.connect(self.url(node, "postgres"), autocommit=True) as db:
                for statement in statements:
                    db.execute(statement.encode())

        with ThreadPoolExecutor() as threads:
            list(threads.map(run, nodes))


def start_cluster(workers: int = 2) -> Cluster:
    """Start a cluster, which lasts as long as this process; skip the test where it can't."""
    from fasteners import InterProcessLock  # pyright: ignore[reportMissingTypeStubs]

    folder = Path(mkdtemp(prefix="theanine-citus-")) / "cluster"
    cluster = Cluster(folder, tuple(f"worker{number}" for number in range(1, workers + 1)))
    atexit.register(cluster.stop)
    # It installs what is missing, and takes free ports: one process at a time.
    with InterProcessLock(Path(gettempdir()) / "theanine-citus.lock"):
        started = _run("up", folder, str(workers), check=False)
    if started.returncode:
        log = folder / "coordinator.log"
        logged = log.read_text() if log.exists() else ""
        if "could not load library" in logged:
            pytest.skip(f"Citus needs Debian's newest PostgreSQL 15: {logged.splitlines()[0]}")
        raise RuntimeError(f"no cluster was started: {started.stderr}\n{logged}")
    settings = [  # a killed server's files are written by the system; the rest is for speed
        f"ALTER SYSTEM SET {name} = off" for name in ("fsync", "full_page_writes")
    ]
    cluster.execute(*settings, "SELECT pg_reload_conf()", nodes=cluster.nodes)
    return cluster


def _run(verb: str, *arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [os.environ["THEANINE_CITUS"] + "/cluster", verb, *map(str, arguments)]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=check
    )


@cache
def shared_cluster() -> Cluster:
    """Return the cluster that the tests of this process share; none may stop its servers."""
    return start_cluster()


def create_database(cluster: Cluster, name: str) -> str:
    """Create a database with the extension on every server, and return its URL."""
    import psycopg

    cluster.execute(f"CREATE DATABASE {name}", nodes=cluster.nodes)
    for node in cluster.nodes:
        with psycopg.connect(cluster.url(node, name), autocommit=True) as db:
            db.execute("CREATE EXTENSION citus")
    with psycopg.connect(cluster.url(database=name), autocommit=True) as db:
        db.execute(
            "SELECT citus_set_coordinator_host('127.0.0.1', %s)", [cluster.port("coordinator")]
        )
        for node in cluster.workers:
            db.execute("SELECT citus_add_node('127.0.0.1', %s)", [cluster.port(node)])
    return cluster.url(database=name)


_databases: list[str] = []


def database_url(folder: Path) -> str:
    """Return the URL of a distributed store of this folder, creating it if need be."""
    return _copy(_distributed_template, folder)


def undistributed_url(folder: Path) -> str:
    """Return the URL of an empty database of this folder, creating it if need be."""
    return _copy(_empty_template, folder)


def _copy(template: Callable[[Cluster], str], folder: Path) -> str:
    """Return the URL of the folder's copy of a template; only the last few copies are kept."""
    cluster = shared_cluster()
    name = f"t_{sha256(str(folder).encode()).hexdigest()[:24]}"
    if name not in _databases:
        cluster.execute(f"CREATE DATABASE {name} TEMPLATE {template(cluster)}", nodes=cluster.nodes)
        _databases.append(name)
        if len(_databases) > _KEPT:
            old = _databases.pop(0)
            cluster.execute(f"DROP DATABASE {old} WITH (FORCE)", nodes=cluster.nodes)
    return cluster.url(database=name)


@cache
def _empty_template(cluster: Cluster) -> str:
    name = "template_empty"
    create_database(cluster, name)
    return _close(cluster, name)


@cache
def _distributed_template(cluster: Cluster) -> str:
    name = "template_store"
    url = create_database(cluster, name)
    with ThreadPoolExecutor() as threads:  # a test may have an event loop in this one
        threads.submit(anyio.run, _distribute, url).result()
    return _close(cluster, name)


def _close(cluster: Cluster, name: str) -> str:
    """End all connections to a database, so that it can be copied."""
    cluster.execute(
        f"ALTER DATABASE {name} ALLOW_CONNECTIONS false",
        f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{name}'",
        nodes=cluster.nodes,
    )
    return name


async def _distribute(url: str) -> None:
    store = PostgresStore(url)
    await store.open()
    try:
        await store.distribute(shards=4)
    finally:
        await store.close()
