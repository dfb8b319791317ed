"""The service on PostgreSQL while server, worker and database are killed in turn: `make soak`.

    python benchmarks/soak.py --seconds 30

Clients log messages with ids, recall and end sessions all the time, and repeat what is refused or
lost. At the end, each acknowledged message must be in the store once, every error must have been
one that may be repeated, and every ended session must be remembered.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "packages" / "theanine-server" / "tests"))

import httpx2
from columns import Column, show_columns, show_load
from figures import Figure
from natural import material, turn_text
from server.processes import ServeProcess, serving, wait_until_ready

import theanine
from support.debian_postgres import NO_PROGRAMS, Server, free_port
from support.running import START, Terminal
from theanine.cli.rendering import console
from theanine.store.values import Pending

CLIENTS, USERS = 8, 4
MESSAGES_A_SESSION = 12
DOWN = 1.0
"""Seconds that what was killed stays away."""
PATIENCE = 120.0
"""Seconds after which a request that is repeated counts as failed."""
LEASE = 10
"""Seconds after which a worker takes over from one that was killed."""
RETRYABLE = (429, 503)


@dataclass
class Tally:
    """Counts of the replies and errors that the clients got.

    Attributes:
        acknowledged: texts of the messages that were acknowledged.
        repeated: errors after which a request was repeated, by their kind.
        failed: requests that could not be repeated, or not in time.
    """

    acknowledged: list[str] = field(default_factory=list[str])
    repeated: Counter[str] = field(default_factory=Counter[str])
    failed: list[str] = field(default_factory=list[str])
    recalls: int = 0


class Soak:
    """The service, its worker, its database, and their end again and again."""

    def __init__(self, server: Server, location: str, seconds: float) -> None:
        self._server, self._location, self._seconds = server, location, seconds
        self._port = free_port()
        self._service: ServeProcess | None = None
        self._worker: subprocess.Popen[bytes] | None = None
        self._stack = ExitStack()
        self._changing = asyncio.Lock()
        self.tally, self.kills, self.restarts = Tally(), Counter[str](), 0

    def __enter__(self) -> Soak:
        key = Terminal(Path()).bare("keys", "create", "--name", "soak", "--store", self._location)
        self._key = key.out.strip()
        self._start_service()
        self._start_worker()
        assert self._service is not None
        wait_until_ready(self._service)
        return self

    def __exit__(self, *_: object) -> None:
        self._kill_worker()
        self._stack.close()

    # what is killed

    def _start_service(self) -> None:
        self._stack.close()
        self._stack = ExitStack()
        running: AbstractContextManager[ServeProcess] = serving(
            self._location,
            *("--remembering", "later", "--log-level", "error"),
            port=self._port,
            wait=False,
        )
        self._service = self._stack.enter_context(running)

    def _kill_service(self) -> None:
        assert self._service is not None
        self._service.signal(signal.SIGKILL)
        self._service.wait()

    def _start_worker(self) -> None:
        command = [sys.executable, "-c", START, "worker", "--store", self._location]
        self._worker = subprocess.Popen(
            [*command, "--poll", "0.5", "--lease", str(LEASE)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _kill_worker(self) -> None:
        assert self._worker is not None
        self._worker.kill()
        self._worker.wait()

    async def kill_in_turn(self) -> None:
        """Kill one after the other and start it again, until the time is over."""
        parts: list[tuple[str, Callable[[], None], Callable[[], None]]] = [
            ("server", self._kill_service, self._start_service),
            ("database", self._server.kill, self._server.start),
            ("worker", self._kill_worker, self._start_worker),
        ]
        pause = min(10.0, self._seconds / 7)
        end = time.monotonic() + self._seconds - pause
        while time.monotonic() < end:
            name, kill, start = parts[self.kills.total() % len(parts)]
            await asyncio.sleep(pause)
            async with self._changing:
                await asyncio.to_thread(kill)
                await asyncio.sleep(DOWN)
                await asyncio.to_thread(start)
            self.kills[name] += 1

    async def supervise(self) -> None:
        """Start the service again where it ended by itself: it began without its database."""
        while True:
            await asyncio.sleep(DOWN)
            async with self._changing:
                if self._service is not None and self._service.process.poll() is not None:
                    await asyncio.to_thread(self._start_service)
                    self.restarts += 1

    # clients

    async def run(self) -> None:
        """Talk and kill for the whole time."""
        end = time.monotonic() + self._seconds
        supervisor = asyncio.create_task(self.supervise())
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.kill_in_turn())
            for number in range(CLIENTS):
                tasks.create_task(self._talk(number, end))
        async with self._changing:
            supervisor.cancel()

    async def _talk(self, number: int, end: float) -> None:
        sentences, questions = material()
        rng = random.Random(number)
        user = f"/v1/users/user-{number % USERS}"
        count = 0
        async with httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{self._port}",
            headers={"Authorization": f"Bearer {self._key}"},
            timeout=PATIENCE,
        ) as http:
            while time.monotonic() < end:
                thread = f"{user}/threads/{number}.{count // MESSAGES_A_SESSION}"
                text = f"{turn_text(sentences, rng)} [{number}.{count}]"
                said = {"content": text, "id": f"m{number}.{count}"}
                if await self._post(http, f"{thread}/hear", said):
                    self.tally.acknowledged.append(text)
                count += 1
                if count % MESSAGES_A_SESSION == 0:
                    await self._post(http, f"{thread}/end", {})
                if count % 3 == 0:
                    asked = {"dialogue": rng.choice(questions)}
                    done = await self._post(http, f"{user}/recall", asked)
                    self.tally.recalls += done

    async def _post(self, http: httpx2.AsyncClient, path: str, body: dict[str, Any]) -> bool:
        """Send a request, and again while it is refused for the moment or its answer is lost."""
        begun = time.monotonic()
        kind = ""
        while time.monotonic() < begun + PATIENCE:
            try:
                answer = await http.post(path, json=body)
            except httpx2.TransportError as error:
                kind, wait = type(error).__name__, 0.2
            else:
                if answer.is_success:
                    return True
                kind = f"{answer.status_code} {answer.json()['code']}"
                if answer.status_code not in RETRYABLE or "Retry-After" not in answer.headers:
                    self.tally.failed.append(f"{path}: {answer.text}")
                    return False
                wait = float(answer.headers["Retry-After"])
            self.tally.repeated[kind] += 1
            await asyncio.sleep(wait)
        self.tally.failed.append(f"{path}: {kind} for {PATIENCE:g} s")
        return False

    # afterwards

    def check(self) -> list[Figure]:
        """Compare the store with what the clients saw, after all is remembered."""
        self._kill_worker()
        logged: Counter[str] = Counter()
        with theanine.open(self._location, remembering="later") as client:
            # The worker that was killed holds its users until its lease is over.
            end = time.monotonic() + PATIENCE
            while (waiting := client.pending(cancelled=True)) and time.monotonic() < end:
                client.worker(poll=0.2).run(once=True)
                time.sleep(1)
            for scope in client.users():
                logged.update(turn.text for turn in client.user(scope.user).turns())
            damage = client.check()
        acknowledged = Counter(self.tally.acknowledged)
        lost = (acknowledged - logged).total()
        doubled = sum(count - 1 for count in logged.values())
        self._start_worker()
        kinds = ", ".join(f"{count} × {kind}" for kind, count in self.tally.repeated.items())
        states = ", ".join(f"{n} × {state}" for state, n in Counter(map(_state, waiting)).items())
        kills = ", ".join(f"{name} {count} times" for name, count in self.kills.items())
        return [
            Figure(name="killed", value=self.kills.total(), unit="times", note=kills),
            Figure(name="ended without its database and was started again", value=self.restarts,
                   unit="times"),
            Figure(name="messages acknowledged", value=acknowledged.total(), unit=""),
            Figure(name="recalls", value=self.tally.recalls, unit=""),
            Figure(name="errors, repeated until they were none", unit="", note=kinds,
                   value=self.tally.repeated.total()),
            Figure(name="acknowledged messages lost", value=lost, unit="", goal=0),
            Figure(name="messages doubled", value=doubled, unit="", goal=0),
            Figure(name="errors that could not be repeated", value=len(self.tally.failed),
                   unit="", goal=0, note="; ".join(self.tally.failed[:2])),
            Figure(name="ended sessions not remembered", value=len(waiting), unit="", goal=0,
                   note=states),
            Figure(name="damage in the store", value=float(bool(damage)), unit="", goal=0,
                   note=damage),
        ]  # fmt: skip


def _state(pending: Pending) -> str:
    return f"{pending.state} ({pending.failure})" if pending.failure else pending.state


def main() -> None:
    """Run, and exit with 1 if anything was lost, doubled or not to be repeated."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=300, metavar="S", help="(default: 300)")
    options = parser.parse_args()
    if NO_PROGRAMS:
        raise SystemExit(NO_PROGRAMS)
    server = Server()
    try:
        location = server.create_database("memory")
        theanine.open(location).close()
        with Soak(server, location, options.seconds) as soak:
            asyncio.run(soak.run())
            figures = soak.check()
    finally:
        server.remove()
    name = f"PostgreSQL, {CLIENTS} clients, {USERS} users, {options.seconds:g} s"
    show_columns(name, [Column("measured", name, figures)])
    show_load()
    if missed := [figure.name for figure in figures if figure.verdict == "MISSED"]:
        console().print(f"failed: {', '.join(missed)}")
        raise SystemExit(1)


if __name__ == "__main__":
    main()
