"""Throughput of each local step by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from figures import Figure, median

from theanine.embeddings.static import StaticEmbedder
from theanine.methods.shared.pairs import Pair
from theanine.methods.theanine.local_relate import local_relate
from theanine.summarization.local_summarize import local_summarize
from theanine.types import Memory, NewMemory, Turn

RUNS = 5
COUNT = 2_000
AT = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)


def steps() -> list[Figure]:
    """Embedding in a batch and one at a time, summarizing, relating, on similar sentences."""
    said = [f"We talked about boats in the harbour on day {n}." for n in range(COUNT)]
    turns = [_turn(n, f"I bought boat {n} in Porto last year. It was fun!") for n in range(COUNT)]
    pairs = [_pair(n) for n in range(COUNT)]
    embedder = StaticEmbedder()
    return [
        _rate("sentences embedded", lambda: embedder.vectors(said), goal=30_000),
        _rate("sentences embedded one by one", lambda: [embedder.vectors([one]) for one in said],
              goal=10_000),
        _rate("turns summarized", lambda: local_summarize(turns)),
        _rate("pairs of memories related", lambda: local_relate(pairs)),
    ]  # fmt: skip


def _rate(name: str, work: Callable[[], object], goal: float | None = None) -> Figure:
    work()  # excludes loading
    seconds: list[float] = []
    for _ in range(RUNS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return Figure(name=name, value=COUNT / median(seconds), unit="/s", goal=goal, at_least=True)


def _turn(number: int, text: str) -> Turn:
    at = AT + timedelta(minutes=number)
    return Turn(id=number, session=1, speaker="Ana", text=text, at=at)


def _pair(number: int) -> Pair:
    earlier = Memory(
        id=number,
        session=1,
        text=f"Ana sailed boat {number % 50} in the storm.",
        at=AT,
        session_ended_at=AT,
    )
    later = AT + timedelta(days=1)
    new = NewMemory(
        text=f"Ana sold boat {number}.", at=later, source_turns=(number,), speakers=("Ana",)
    )
    return Pair(earlier, number, new, 0.5)
