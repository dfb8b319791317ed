"""A web service with four workers under a steady load: lost turns, doubled sessions, latency.

Each client has a connection of its own, and every two share a conversation. Turns are due at fixed
times, whether or not the last one was answered; a turn's latency counts from when it was due.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

from figures import Figure, median, percentile, sync_page

import theanine

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.serving import serve

WORKERS, CLIENTS, SECONDS, TURNS_A_SECOND = 4, 50, 60, 100
SENTENCES = (
    "I booked a table by the harbor for four.", "My sister is allergic to hazelnuts.",
    "We sold the boat because the engine died.", "Shall we take the train to Porto?",
    "The dentist moved my appointment to Friday.", "What did I say about the garden?",
)  # fmt: skip


def serving() -> list[Figure]:
    """Offer the load, then compare the log with what was acknowledged."""
    with TemporaryDirectory() as folder:
        store = str(Path(folder) / "memory.db")
        theanine.open(store).close()
        before = _cpu_of_children()
        environment = {"THEANINE_STORE": store, "OMP_NUM_THREADS": "1"}
        here = Path(__file__).parent
        with serve(
            here, workers=WORKERS, environment=environment, application="service:app"
        ) as url:
            host, port = url.removeprefix("http://").split(":")
            acknowledged, seconds = asyncio.run(_offer(host, int(port)))
            with (Path(folder) / "synced").open("wb") as file:
                disk = median([sync_page(file) for _ in range(100)])
        used = _cpu_of_children() - before
        with theanine.open(store) as client:
            users = [client.user(scope.user) for scope in client.users()]
            logged = Counter(turn.text for user in users for turn in user.turns())
            threads = Counter(session.thread for user in users for session in user.sessions())
    name = f"{WORKERS} workers, {CLIENTS} clients, {TURNS_A_SECOND} turns/s for {SECONDS} s"
    lost = sum((acknowledged - logged).values())
    doubled = sum((logged - acknowledged).values()) + sum(n - 1 for n in threads.values())
    times = [1_000 * second for second in seconds]
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    return [
        Figure(name=f"{name}: turns lost", value=lost, unit="", goal=0),
        Figure(name=f"{name}: turns and sessions doubled", value=doubled, unit="", goal=0),
        Figure(name=f"{name}: the disk's own fsync, p50", value=1_000 * disk, unit="ms"),
        Figure(
            name=f"{name}: CPU time of the workers, a turn",
            value=1_000 * used / len(times),
            unit="ms",
            note="with their start",
        ),
        Figure(name=f"{name}: a turn, p50", value=percentile(times, 0.5), unit="ms", note=load),
        Figure(name=f"{name}: a turn, p95", value=percentile(times, 0.95), unit="ms", goal=60),
    ]


def _cpu_of_children() -> float:
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


async def _offer(host: str, port: int) -> tuple[Counter[str], list[float]]:
    """Return the acknowledged turns and their latencies."""
    acknowledged: Counter[str] = Counter()
    seconds: list[float] = []
    interval = CLIENTS / TURNS_A_SECOND
    start = time.perf_counter() + 1

    async def talk(client: int) -> None:
        reader, writer = await asyncio.open_connection(host, port)
        path = f"/users/user-{client // 2}/threads/thread-{client // 2}/turns"
        for number in range(int(SECONDS / interval)):
            due = start + (number + client / CLIENTS) * interval
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            text = f"{SENTENCES[(client + number) % len(SENTENCES)]} ({client}.{number})"
            await _post(reader, writer, host, path, text)
            seconds.append(time.perf_counter() - due)
            acknowledged[text] += 1
        writer.close()

    async with asyncio.TaskGroup() as tasks:
        for client in range(CLIENTS):
            tasks.create_task(talk(client))
    return acknowledged, seconds


async def _post(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, path: str, text: str
) -> None:
    """Send one turn over a kept connection. A client library would cost more than the service."""
    body = json.dumps({"text": text}).encode()
    writer.write(
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    size = int(head.partition("content-length:")[2].split()[0])
    answer = await reader.readexactly(size)
    if not head.startswith("http/1.1 200"):
        raise RuntimeError(f"the service answered {head.splitlines()[0]}: {answer.decode()}")
