"""Start a child, kill it at a random moment and check its store, until its work is done."""

from __future__ import annotations

import json
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from theanine.testing import ScriptedServer

from . import check
from .child import visit, work

KINDS = ("hear", "remember", "import", "beside")
"""What a child does when it is killed: ``beside`` is to hear and to forget while another process
opens the store, forgets something and closes it, all the time."""
LATENCY = 0.03
TIMEOUT = 60.0
MAX_IN_FLIGHT = 2
"""Most concurrent calls: pairs are related in batches of 24, and a session has 13 turns."""
KILLS_PER_STORE = 8
MAX_DELAY = 0.3
"""Seconds of work after which a kill comes at the latest; the whole work takes much longer."""
# Children are forked from a process that has imported everything, so a kill costs no start-up.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([work.__module__])


@dataclass(slots=True)
class Tally:
    """Counts of what was done, and the violations."""

    kills: Counter[str] = field(default_factory=Counter[str])
    stores: int = 0
    acknowledged: int = 0
    stored: int = 0
    calls: int = 0
    repeated: int = 0
    violations: list[str] = field(default_factory=list[str])


def crash(kills: int, seed: int, progress: Callable[[Tally], None] = lambda _: None) -> Tally:
    """Kill ``kills`` times, over as many stores as needed."""
    tally, rng = Tally(), Random(seed)
    with ScriptedServer(latency=LATENCY) as server, TemporaryDirectory() as folder:
        while sum(tally.kills.values()) < kills:
            kind = min(KINDS, key=lambda kind: tally.kills[kind])
            store_folder = Path(folder) / str(tally.stores)
            store_folder.mkdir()
            left = kills - sum(tally.kills.values())
            limit = min(left, KILLS_PER_STORE, ceil(kills / len(KINDS)))
            run = _StoreRun(kind, store_folder, server, rng, tally)
            with _visitor(run.store) if kind == "beside" else nullcontext():
                run.run(limit, progress)
            run.check_result()
            tally.stores += 1
    return tally


@contextmanager
def _visitor(store: Path) -> Generator[None]:
    """Have another process open and close a store, and forget something of it."""
    stop = store.with_name("stop")
    visitor = _CONTEXT.Process(target=visit, args=(str(store), str(stop)))
    visitor.start()
    try:
        yield
    finally:
        stop.touch()
        visitor.join(TIMEOUT)
        assert visitor.exitcode == 0, "the other process failed"


class _StoreRun:
    """The work on one store, through all its kills."""

    def __init__(
        self, kind: str, folder: Path, server: ScriptedServer, rng: Random, tally: Tally
    ) -> None:
        self.kind, self.server, self.rng, self.tally = kind, server, rng, tally
        self.store, self.acknowledged = folder / "memory.db", folder / "acknowledged.jsonl"
        self.other = folder / "other.db"
        self.journaled: set[str] = set()
        self.seen = self.start = len(server.calls)

    def run(self, max_kills: int, progress: Callable[[Tally], None]) -> None:
        """Kill and restart up to ``max_kills`` times, then let it finish."""
        for _ in range(max_kills):
            if self._run_child(self.rng.uniform(0, MAX_DELAY)):
                break
            self.tally.kills[self.kind] += 1
            self._check(MAX_IN_FLIGHT)
            progress(self.tally)
        else:
            if not self._run_child(TIMEOUT):
                self._add_violations([f"not done after {TIMEOUT:g} s"])
            self._check()

    def _run_child(self, delay: float) -> bool:
        """Kill the child after ``delay`` seconds of work; return whether it finished before."""
        ready = self._load_reports().count("ready")
        child = _CONTEXT.Process(
            target=work,
            args=(self.kind, str(self.store), self.server.base_url, str(self.acknowledged)),
        )
        child.start()
        deadline = time.monotonic() + TIMEOUT
        while self._load_reports().count("ready") == ready and child.is_alive():
            assert time.monotonic() < deadline, "the child did not start"
            time.sleep(0.002)
        child.join(delay)
        finished = not child.is_alive()
        if not finished:
            child.kill()
            child.join()
            time.sleep(2 * LATENCY)  # its last request may still be in flight
        elif child.exitcode:
            self._add_violations([f"the child failed with exit code {child.exitcode}"])
        child.close()
        return finished

    def _load_reports(self) -> list[str]:
        if not self.acknowledged.exists():
            return []
        lines = self.acknowledged.read_text("utf-8").split("\n")[:-1]  # the last may be torn
        return [json.loads(line) for line in lines]

    def _check(self, in_flight: int = 0) -> None:
        """Check the store and the calls since the last check."""
        calls = [call.body for call in self.server.calls[self.seen :]]
        self._add_violations(check.check_consistency(self.store))
        self._add_violations(check.check_not_repeated(calls, self.journaled))
        self.journaled = check.load_journaled_prompts(self.store)
        self._add_violations(check.check_journaled(calls, self.journaled, in_flight))
        self.seen = len(self.server.calls)

    def check_result(self) -> None:
        """Check the finished store."""
        texts = [text for text in self._load_reports() if text not in ("ready", "session ends")]
        calls = [json.dumps(call.body) for call in self.server.calls[self.start :]]
        self._check()
        self._add_violations(check.check_acknowledged(texts, self.store))
        base_url = self.server.base_url
        self._add_violations(check.check_same_as_uninterrupted(self.store, self.other, base_url))
        self.tally.acknowledged += len(set(texts))
        self.tally.stored += len(set(texts) & set(check.load_texts(self.store)))
        self.tally.calls += len(calls)
        self.tally.repeated += len(calls) - len(set(calls))

    def _add_violations(self, violations: Iterable[str]) -> None:
        where = f"{self.kind}, store {self.tally.stores}"
        self.tally.violations += [f"{where}: {violation}" for violation in violations]
