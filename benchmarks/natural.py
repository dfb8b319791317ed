"""The default method on natural sentences: import, vectors, recalls and memory at three sizes.

The sentences are those of the bundled conversation, or of LoCoMo where ``THEANINE_DATA`` is set,
recombined with variations; the default links them as it would a user's.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from figures import Figure, percentile, sync_page

import theanine
from theanine.demo import HARBOUR
from theanine.importers import read_histories
from theanine.types import History, Transcript, Utterance

DATA = "THEANINE_DATA"
BUDGET = 1_000
ASKED = 150
TURNS = 20
GOALS = {1_000: (2, 3, None), 10_000: (4, 8, 0.5), 100_000: (20, 30, 2)}
"""For each number of turns, p50 and p95 in ms, and the first recall of a process in seconds."""
TURNS_A_SECOND = 1_500
RESIDENT = {10_000: 40}
"""Main memory of one scope in MB, beyond that of a process with a scope of one session."""
HEARD_AT, HEARD = 10_000, 200
"""Turns of the scope in which so many more are heard."""
WHEN = (
    "That was {n} {unit}s ago.", "It took {n} {unit}s.", "We talked for {n} minutes.",
    "Only {n} {unit}s to go!", "I paid {n} euros for it.", "There were {n} of us.",
)  # fmt: skip
TOPICS = "It Ana Ben work home music food money health school family friends travel".split()
START = datetime(2020, 1, 1, 9, tzinfo=UTC)
RECALLS = """
import json, resource, sys, time, theanine
path, budget, *questions = sys.argv[1:]
def now():
    return time.perf_counter(), time.process_time()
def since(started):
    return [end - start for start, end in zip(started, now())]
started = now()
with theanine.open(path) as client:
    client.user("ana").recall(questions[0], budget=int(budget))
    first = since(started)
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    recalls = []
    for question in questions[1:]:
        started = now()
        client.user("ana").recall(question, budget=int(budget))
        recalls.append(since(started))
print(json.dumps([first, recalls, pages * resource.getpagesize()]))
"""


def natural() -> list[Figure]:
    """Measure at each size."""
    sentences, questions = material()
    figures: list[Figure] = []
    with TemporaryDirectory() as folder:
        path, _, _ = _imported(folder, sentences, TURNS)
        base = _ask(path, questions[:2])[2]
    for size, (p50, p95, first_goal) in GOALS.items():
        with TemporaryDirectory() as folder:
            path, seconds, busy = _imported(folder, sentences, size)
            encoded, encoding = _encoded(path)
            (first, first_cpu), recalls, resident = _ask(path, questions)
        times, cpu = ([1_000 * recall[column] for recall in recalls] for column in (0, 1))
        load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        load = f"{size / busy:,.0f} in a second of CPU time; {load}"
        name = f"default, {size:,} turns"
        figures += [
            Figure(name=f"{name}: import", value=size / seconds, unit="turns/s",
                   goal=TURNS_A_SECOND, at_least=True, note=load),
            Figure(name=f"{name}: vectors, made afterwards", value=size / encoded, unit="turns/s",
                   note=f"{size / encoding:,.0f} in a second of CPU time"),
            Figure(name=f"{name}: first recall", value=first, unit="s", goal=first_goal,
                   note=f"{first_cpu:.2f} s of CPU"),
            Figure(name=f"{name}: recall, p50", value=percentile(times, 0.5), unit="ms", goal=p50,
                   note=f"{percentile(cpu, 0.5):.1f} ms of CPU"),
            Figure(name=f"{name}: recall, p95", value=percentile(times, 0.95), unit="ms", goal=p95,
                   note=f"{percentile(cpu, 0.95):.1f} ms of CPU"),
            Figure(name=f"{name}: resident", value=(resident - base) / 1e6, unit="MB",
                   goal=RESIDENT.get(size)),
        ]  # fmt: skip
    return figures


def hearing() -> list[Figure]:
    """Measure hear and recall, beyond what the disk takes to write, at ``HEARD_AT`` turns."""
    sentences, _ = material()
    rng = Random(2)
    both: list[float] = []
    with TemporaryDirectory() as folder:
        path, *_ = _imported(folder, sentences, HEARD_AT)
        with theanine.open(str(path)) as client, (Path(folder) / "synced").open("wb") as file:
            ana = client.user("ana")
            ana.warm_up()
            live = ana.session("thread-42")
            synced: list[float] = []
            busy = 0.0
            for _ in range(HEARD):
                synced.append(1_000 * sync_page(file))
                text = turn_text(sentences, rng)
                started, used = time.perf_counter(), time.process_time()
                live.hear(text)
                live.recall()
                both.append(1_000 * (time.perf_counter() - started))
                busy += time.process_time() - used
    name = f"live session, {HEARD_AT:,} turns"
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    heard, disk = percentile(both, 0.5), percentile(synced, 0.5)
    return [
        Figure(name=f"{name}: the disk's own fsync, p50", value=disk, unit="ms", note=load),
        Figure(name=f"{name}: hear and recall, p50", value=heard, unit="ms"),
        Figure(name=f"{name}: CPU time of both, mean", value=1_000 * busy / HEARD, unit="ms"),
        Figure(
            name=f"{name}: hear and recall beyond the fsync", value=heard - disk, unit="ms", goal=4
        ),
    ]


def _imported(folder: str, sentences: list[str], turns: int) -> tuple[Path, float, float]:
    """Return a store of so many turns, and the seconds and CPU-seconds that its import took."""
    path = Path(folder) / "memory.db"
    history = History(name="ana", transcripts=tuple(sessions(sentences, turns)))
    started, busy = time.perf_counter(), time.process_time()
    with theanine.open(str(path)) as client:
        client.user("ana").log(history)
        client.user("ana").remember()
    return path, time.perf_counter() - started, time.process_time() - busy


def _encoded(path: Path) -> tuple[float, float]:
    """Return the seconds and CPU-seconds that the vectors of the log took."""
    started, busy = time.perf_counter(), time.process_time()
    with theanine.open(str(path)) as client:
        client.user("ana").warm_up()
    return time.perf_counter() - started, time.process_time() - busy


Seconds = tuple[float, float]
"""Elapsed seconds and CPU-seconds; the latter depend less on other processes."""


def _ask(path: Path, questions: list[str]) -> tuple[Seconds, list[Seconds], int]:
    """Return the times of the first and of later recalls in a new process, and its memory."""
    command = [sys.executable, "-c", RECALLS, str(path), str(BUDGET), *questions]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    first, recalls, resident = json.loads(ran.stdout)
    return first, recalls, resident


def material() -> tuple[list[str], list[str]]:
    """Return sentences and questions."""
    file = Path(os.environ.get(DATA, "")) / "locomo" / "locomo5_dev.json"
    found = read_histories(file if os.environ.get(DATA) and file.is_file() else HARBOUR).histories
    turns = [turn.text for h in found for session in h.transcripts for turn in session.turns]
    sentences = [part for text in turns for part in re.split(r"(?<=[.!?])\s+", text) if part]
    asked = [sentence for sentence in sentences if sentence.endswith("?")]
    rng = Random(1)
    questions = [rng.choice(asked) for _ in range(ASKED)]
    return sentences, [f"{q} And what about {rng.choice(TOPICS)}?" for q in questions]


def sessions(sentences: list[str], turns: int, seed: int = 0) -> Iterator[Transcript]:
    """Generate sessions a day apart, of turns of one to three sentences and a variation."""
    rng = Random(seed)
    for day in range(turns // TURNS):
        at = START + timedelta(days=day)
        yield Transcript(
            key=f"day-{day}",
            at=at,
            turns=tuple(
                Utterance(
                    text=turn_text(sentences, rng),
                    speaker=("ana", "ben")[place % 2],
                    at=at + timedelta(minutes=place),
                )
                for place in range(TURNS)
            ),
        )


def turn_text(sentences: list[str], rng: Random) -> str:
    said = rng.choices(sentences, k=rng.choice((1, 1, 2, 2, 3)))
    unit = rng.choice(("day", "week", "month", "year"))
    return " ".join([*said, rng.choice(WHEN).format(n=rng.randrange(2, 90), unit=unit)])
