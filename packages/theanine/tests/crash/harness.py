"""Start a child, kill it at a random moment, look at what it left; go on until all is done."""

from __future__ import annotations

import json
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from theanine.testing import ScriptedServer

from . import check
from .child import work

KINDS = ("hear", "remember", "import")
LATENCY = 0.03
LONGEST = 60.0
IN_FLIGHT = 2
"""Calls at once at most: a session's pairs are related in batches of 24, and it has 13 turns."""
KILLS_A_STORE = 8
SOONEST = 0.3
"""Seconds of work within which a kill falls; the whole work takes several times as long."""
# Forked from one process that has loaded everything: a kill costs no start of a Python.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([work.__module__])


@dataclass(slots=True)
class Tally:
    """What was done, and what went wrong."""

    kills: Counter[str] = field(default_factory=Counter[str])
    stores: int = 0
    acknowledged: int = 0
    found: int = 0
    calls: int = 0
    repeated: int = 0
    violations: list[str] = field(default_factory=list[str])


def crash(kills: int, seed: int, progress: Callable[[Tally], None] = lambda _: None) -> Tally:
    """Kill ``kills`` times over as many stores as it takes."""
    tally, rng = Tally(), Random(seed)
    with ScriptedServer(latency=LATENCY) as server, TemporaryDirectory() as folder:
        while sum(tally.kills.values()) < kills:
            kind = min(KINDS, key=lambda kind: tally.kills[kind])
            place = Path(folder) / str(tally.stores)
            place.mkdir()
            left = min(kills - sum(tally.kills.values()), KILLS_A_STORE)
            _Store(kind, place, server, rng, tally).run(left, progress)
            tally.stores += 1
    return tally


class _Store:
    """One store, from the first word to the last, through all its kills."""

    def __init__(
        self, kind: str, place: Path, server: ScriptedServer, rng: Random, tally: Tally
    ) -> None:
        self.kind, self.server, self.rng, self.tally = kind, server, rng, tally
        self.store, self.told = place / "memory.db", place / "told.jsonl"
        self.other = place / "other.db"
        self.kept: set[str] = set()
        self.seen = self.begin = len(server.calls)

    def run(self, most: int, progress: Callable[[Tally], None]) -> None:
        """Kill and start again, at most ``most`` times, then let it finish."""
        for _ in range(most):
            if self._once(self.rng.uniform(0, SOONEST)):
                break
            self.tally.kills[self.kind] += 1
            self._look(IN_FLIGHT)
            progress(self.tally)
        else:
            if not self._once(LONGEST):
                self._violated([f"it was not done after {LONGEST:g} s"])
            self._look()
        self._judge()

    def _once(self, delay: float) -> bool:
        """Run it and kill it after ``delay`` seconds of work; whether it finished before."""
        ready = self._said().count("ready")
        child = _CONTEXT.Process(
            target=work,
            args=(self.kind, str(self.store), self.server.base_url, str(self.told)),
        )
        child.start()
        deadline = time.monotonic() + LONGEST
        while self._said().count("ready") == ready and child.is_alive():
            assert time.monotonic() < deadline, "the child did not begin"
            time.sleep(0.002)
        child.join(delay)
        finished = not child.is_alive()
        if not finished:
            child.kill()
            child.join()
            time.sleep(2 * LATENCY)  # its last request may still be on its way to the server
        elif child.exitcode:
            self._violated([f"the child failed by itself with exit code {child.exitcode}"])
        child.close()
        return finished

    def _said(self) -> list[str]:
        if not self.told.exists():
            return []
        lines = self.told.read_text("utf-8").split("\n")[:-1]  # the last may be cut short
        return [json.loads(line) for line in lines]

    def _look(self, in_flight: int = 0) -> None:
        fresh = [call.body for call in self.server.calls[self.seen :]]
        self._violated(check.after_a_kill(self.store))
        self._violated(check.paid_again(fresh, self.kept))
        self.kept = check.journalled(self.store)
        self._violated(check.not_journalled(fresh, self.kept, in_flight))
        self.seen = len(self.server.calls)

    def _judge(self) -> None:
        told = [text for text in self._said() if text not in ("ready", "session ends")]
        calls = [json.dumps(call.body) for call in self.server.calls[self.begin :]]
        self._look()
        self._violated(check.acknowledged_turns(told, self.store))
        self._violated(check.as_if_never_killed(self.store, self.other, self.server.base_url))
        self.tally.acknowledged += len(set(told))
        self.tally.found += len(set(told) & set(check.turns_of(self.store)))
        self.tally.calls += len(calls)
        self.tally.repeated += len(calls) - len(set(calls))

    def _violated(self, sentences: Iterable[str]) -> None:
        where = f"{self.kind}, store {self.tally.stores}"
        self.tally.violations += [f"{where}: {sentence}" for sentence in sentences]
