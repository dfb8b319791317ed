"""Latency of recall, its use of main memory, and disk space for each memory."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from figures import Figure, percentile
from filling import fill
from words import questions

import theanine
from theanine.store import open_store

GOALS = {100: (1, 2), 1_000: (1.5, 3), 10_000: (4, 8), 100_000: (30, 50)}
PEERS = {100: "2.5 / 4.4", 1_000: "7 / 12", 10_000: "11 / 21", 100_000: "46 / 74"}
ASKED = 200
SCOPES = 1_000
RESIDENT = """
import resource, sys, theanine
with theanine.open(sys.argv[1]) as agent:
    for question in sys.argv[2:]:
        agent.user("ana").recall(question)
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
print(pages * resource.getpagesize())
"""


def recalling() -> list[Figure]:
    """Recall at four sizes in one scope; disk and resident memory at 10,000."""
    figures: list[Figure] = []
    for size, goals in GOALS.items():
        with TemporaryDirectory() as folder:
            path = Path(folder) / "memory.db"
            asyncio.run(fill(path, ["ana"], size))
            figures += _timed(path, f"recall at {size:,}", ["ana"], goals, PEERS[size])
            if size == 10_000:
                figures += [_disk(path, size), _resident(path)]
    return figures


def many_scopes() -> list[Figure]:
    """Recall in 1,000 scopes of 100 memories, in random order."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        names = [f"user-{number}" for number in range(SCOPES)]
        asyncio.run(fill(path, names, 100))
        return _timed(path, f"recall in {SCOPES:,} scopes of 100", names, (1, 3), "55 / 158")


def _timed(
    path: Path, name: str, users: list[str], goals: tuple[float, float], peer: str
) -> list[Figure]:
    rng, times, cold = Random(0), list[float](), list[float]()
    asked = list(islice(questions(), ASKED))
    with theanine.open(str(path)) as agent:
        agent.user(users[0]).recall("warm up")
        for user in users:
            started = time.perf_counter()
            agent.user(user).recall(asked[0])
            cold.append(time.perf_counter() - started)
        for question in asked:
            user = rng.choice(users)
            started = time.perf_counter()
            agent.user(user).recall(question)
            times.append((time.perf_counter() - started) * 1000)
    first = percentile(cold, 0.5) * 1000
    note = f"a scope's first recall {first:.1f} ms" if len(users) > 1 else ""
    return [
        Figure(name=f"{name}, p50", value=percentile(times, 0.5), unit="ms", goal=goals[0],
               peer=peer, note=note),
        Figure(name=f"{name}, p95", value=percentile(times, 0.95), unit="ms", goal=goals[1],
               peer=peer),
    ]  # fmt: skip


def _disk(path: Path, size: int) -> Figure:
    """Disk space of the closed store, without a write-ahead log, less the text of the turns."""
    files = sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))
    words = asyncio.run(_words(path))
    return Figure(
        name="disk for each memory beyond the turns' text",
        value=(files - words) / size,
        unit="bytes",
        goal=3_000,
        peer="4,600",
    )


async def _words(path: Path) -> int:
    store = open_store(str(path))
    await store.open()
    try:
        [scope] = await store.scopes()
        return sum(len(turn.text.encode()) for turn in await store.turns(scope))
    finally:
        await store.close()


def _resident(path: Path) -> Figure:
    asked = list(islice(questions(), 20))
    ran = subprocess.run(
        [sys.executable, "-c", RESIDENT, str(path), *asked],
        check=True,
        capture_output=True,
        text=True,
    )
    return Figure(
        name="resident at 10,000 memories",
        value=json.loads(ran.stdout) / 1e6,
        unit="MB",
        goal=150,
        peer="160",
    )
