"""Many users in one store, on SQLite, PostgreSQL and Citus, side by side: `make bench-postgres`.

    python benchmarks/postgres.py --sizes 100x1000 300x1000 1000x1000 --json figures.json

Users are loaded in bulk (bulk.py). Then processes with a client each recall for them and hear them,
by the library's own calls. The load's generator, the clients and the servers share this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent))

from bulk import TEMPLATES, Loaded, Template, load, make_templates, user_name
from columns import Column, save, show_cell, show_columns, show_load
from figures import Figure, percentile
from natural import material, turn_text
from offering import Done, Job, Processes, Request, start_processes
from servers import Missing, Target, citus, counting, postgres, sqlite

import theanine
from theanine.cli.rendering import console, show_table
from theanine.store import open_store
from theanine.types import Scope

RATE, CONNECTIONS = 100, 50
FIRST = 40
"""Users whose first recall is timed."""
WARM_UP = 1_500
"""Recalls before the load is offered, at most."""

Start = Callable[[], AbstractContextManager[Target]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is measured: users with memories each, in so many processes, for so many seconds."""

    users: int
    memories: int
    processes: int
    seconds: float

    def __str__(self) -> str:
        processes = "1 process" if self.processes == 1 else f"{self.processes} processes"
        return f"{self.users:,} × {self.memories:,}, {processes}"


class Draw:
    """Draws users and texts, the same in every run; few users make most requests (Zipf's law)."""

    def __init__(self, users: int) -> None:
        self._rng = Random(0)
        self._sentences, self._questions = material()
        self._names = [user_name(number) for number in range(users)]
        self._weights = list(accumulate(1 / rank for rank in range(1, users + 1)))

    def users(self, count: int) -> list[str]:
        return self._rng.choices(self._names, cum_weights=self._weights, k=count)

    def questions(self, users: Sequence[str], dues: Sequence[float] = ()) -> list[Request]:
        """Return a question of each user, with the times at which they are due, if given."""
        texts = self._rng.choices(self._questions, k=len(users))
        dues = dues or [0.0] * len(users)
        return list(map(Request, users, texts, dues))

    def turns(self, users: Sequence[str]) -> list[Request]:
        return [Request(user, turn_text(self._sentences, self._rng)) for user in users]

    def arrivals(self, rate: float, seconds: float) -> list[float]:
        """Return times of independent arrivals, from a second from now on."""
        due, dues = time.perf_counter() + 1, list[float]()
        end = due + seconds
        while (due := due + self._rng.expovariate(rate)) < end:
            dues.append(due)
        return dues


def measure(target: Target, setting: Setting, templates: Sequence[Template]) -> list[Figure]:
    """Load the store and measure everything."""
    empty = target.size()
    _say("loading")
    loaded = asyncio.run(_load(target, setting.users, templates))
    disk = (target.size() - empty) / loaded.memories
    location = target.with_connections(max(1, CONNECTIONS // setting.processes))
    draw = Draw(setting.users)
    figures = [
        Figure(name="loaded in bulk", value=loaded.rows / loaded.seconds, unit="rows/s",
               note=f"{loaded.rows:,} rows"),
        Figure(name="disk for a memory and its turn", value=disk, unit="bytes"),
    ]  # fmt: skip
    with start_processes(location, setting.processes) as processes:
        _say("first recalls")
        figures += _measure_first(processes, draw, setting)
        users = draw.users(min(WARM_UP, 5 * setting.users))
        warm = processes.spread("recall", draw.questions(users), CONNECTIONS)
        _say("offered recalls")
        figures += _measure_offered(processes, draw, setting, target)
        _say("saturation")
        full = _measure_saturation(processes, draw, setting, target)
        figures += full.figures
        _say("hearing")
        figures += _measure_hearing(processes, draw, setting, target)
        growth = full.done.resident / warm.resident - 1
        figures += [
            Figure(name="main memory of the processes", value=full.done.resident / 1e6, unit="MB"),
            Figure(name="its growth over all recalls", value=100 * growth, unit="%", goal=5),
        ]
    if target.is_server:
        figures += asyncio.run(_count_round_trips(target, setting.users))
    return figures


async def _load(target: Target, users: int, templates: Sequence[Template]) -> Loaded:
    store = open_store(target.location)
    await store.open()  # its tables belong to its role
    await store.close()
    return await load(target.loading, users, templates)


def _measure_first(processes: Processes, draw: Draw, setting: Setting) -> list[Figure]:
    """Time the first recall of users, one after the other, in a process that works for others."""
    names = [user_name(setting.users - 1 - at) for at in range(min(FIRST, setting.users - 1) + 1)]
    once = [Job("recall", draw.questions([user_name(0)] * 3), 1) for _ in range(len(processes))]
    processes.run(once)  # loads modules, opens connections
    done = processes.run([Job("recall", draw.questions(names), 1)])
    _require(done)
    times = [1_000 * answer.seconds for answer in done.answers if answer.cold]
    return [
        Figure(name="a user's first recall, p50", value=percentile(times, 0.5), unit="ms", goal=40),
        Figure(name="a user's first recall, p95", value=percentile(times, 0.95), unit="ms"),
    ]


def _measure_offered(
    processes: Processes, draw: Draw, setting: Setting, target: Target
) -> list[Figure]:
    """Offer recalls at fixed times."""
    dues = draw.arrivals(RATE, setting.seconds)
    used = target.cpu()
    done = processes.spread("recall", draw.questions(draw.users(len(dues)), dues), CONNECTIONS)
    used = target.cpu() - used
    _require(done)
    times, cached, cold = (
        [1_000 * answer.seconds for answer in done.answers if answer.cold in kinds]
        for kinds in ((False, True), (False,), (True,))
    )
    name = f"recall, {RATE} a second offered"
    share = f"{len(cold) / len(times):.0%} not cached"
    return [
        Figure(name=f"{name}, p50", value=percentile(times, 0.5), unit="ms", goal=10, note=share),
        Figure(name=f"{name}, p95", value=percentile(times, 0.95), unit="ms", goal=40),
        *(
            Figure(name=f"{name}, {kind}, p{share}", value=percentile(some, share / 100), unit="ms")
            for kind, some in (("cached", cached), ("not cached", cold))
            for share in (50, 95)
            if some
        ),
        *_cpu(name, done, used),
    ]


@dataclass(frozen=True, slots=True)
class _Saturation:
    figures: list[Figure]
    done: Done


def _measure_saturation(
    processes: Processes, draw: Draw, setting: Setting, target: Target
) -> _Saturation:
    """Recall as often as all callers can."""
    requests = draw.questions(draw.users(10_000))
    used = target.cpu()
    done = processes.spread("recall", requests, CONNECTIONS, setting.seconds)
    used = target.cpu() - used
    name = "recall, saturated"
    figures = [
        Figure(name=f"{name}", value=done.rate, unit="/s", goal=400, at_least=True),
        Figure(name=f"{name}, errors", value=len(done.errors), unit="", goal=0,
               note=", ".join(done.errors[:1])),
        Figure(name=f"{name}, p95", value=_percentile(done, 0.95), unit="ms"),
        *_cpu(name, done, used),
    ]  # fmt: skip
    return _Saturation(figures, done)


def _measure_hearing(
    processes: Processes, draw: Draw, setting: Setting, target: Target
) -> list[Figure]:
    """Hear as many turns as all callers can, and count afterwards what the store has."""
    requests = draw.turns(draw.users(10_000))
    before = asyncio.run(_count_turns(target.location, {request.user for request in requests}))
    used = target.cpu()
    done = processes.spread("hear", requests, CONNECTIONS, setting.seconds)
    used = target.cpu() - used
    heard = asyncio.run(_count_turns(target.location, {request.user for request in requests}))
    name = "turns heard"
    return [
        Figure(name=f"{name}, on disk", value=done.rate, unit="/s", goal=500, at_least=True),
        Figure(name=f"{name}, p95", value=_percentile(done, 0.95), unit="ms"),
        Figure(name=f"{name}, errors", value=len(done.errors), unit="", goal=0,
               note=", ".join(done.errors[:1])),
        Figure(name=f"{name}, lost or doubled", value=abs(heard - before - len(done.good)),
               unit="", goal=0),
        *_cpu(name, done, used),
    ]  # fmt: skip


async def _count_turns(location: str, users: set[str]) -> int:
    store = open_store(location)
    await store.open()
    try:
        return sum([(await store.scope_version(Scope(user))).turns for user in users])
    finally:
        await store.close()


async def _count_round_trips(target: Target, users: int) -> list[Figure]:
    """Count how often each call waits for the server, on the way through a counter."""
    figures: list[Figure] = []
    _, questions = material()
    with counting(target.location) as trips:
        async with theanine.aopen(trips.location) as client:
            await client.user(user_name(0)).recall(questions[0])
            user = client.user(user_name(users - 1))
            live = user.session("round trips")
            await client.user(user_name(0)).session("round trips").hear("Hello.")
            calls = {
                "a first recall": lambda: user.recall(questions[1]),
                "a recall": lambda: user.recall(questions[2]),
                "a recall of the same": lambda: user.recall(questions[2]),
                "a first turn": lambda: live.hear("Good morning."),
                "a turn": lambda: live.hear("We moved to Porto in May."),
                "a recall after a turn": lambda: user.recall(questions[2]),
            }
            for name, call in calls.items():
                before = trips.count
                await call()
                count = trips.count - before
                figures.append(Figure(name=f"round trips of {name}", value=count, unit=""))
    return figures


def _percentile(done: Done, share: float) -> float:
    return percentile([1_000 * answer.seconds for answer in done.answers], share)


def _cpu(name: str, done: Done, servers: float) -> list[Figure]:
    """Return the CPU time of one call, of the clients' processes and of the servers'."""
    count = len(done.answers) / 1_000
    return [
        Figure(name=f"{name}, CPU of the clients", value=done.cpu / count, unit="ms"),
        *([Figure(name=f"{name}, CPU of the servers", value=servers / count, unit="ms")]
          if servers else []),
    ]  # fmt: skip


def _require(done: Done) -> None:
    """Raise RuntimeError for an error where none may occur."""
    if errors := [answer.error for answer in done.answers if answer.error]:
        raise RuntimeError(
            f"{len(errors)} of {len(done.answers)} calls failed, such as: {errors[0]}"
        )


# output


def _say(doing: str) -> None:
    print(f"  {doing} …", file=sys.stderr)


def _show_growth(columns: Sequence[Column]) -> None:
    """Show each store's figures at all settings."""
    for target in dict.fromkeys(column.target for column in columns if column.figures):
        own = [column for column in columns if column.target == target]
        if len(own) > 1:
            console().print(f"\n{target}")
            names = [figure.name for figure in own[0].figures]
            by_name = [{figure.name: figure for figure in column.figures} for column in own]
            show_table(
                ["figure", *(str(column.setting) for column in own)],
                ([name, *(show_cell(f.get(name)) for f in by_name)] for name in names),
            )


def main() -> None:
    """Measure every store at every size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add(
        "--sizes",
        nargs="+",
        type=_read_size,
        default=[(1_000, 1_000)],
        metavar="USERSxMEMORIES",
        help="users, and memories of each (default: 1000x1000)",
    )
    add(
        "--processes",
        nargs="+",
        type=int,
        default=[2],
        metavar="N",
        help="processes with a client each (default: 2)",
    )
    add(
        "--workers",
        nargs="+",
        type=int,
        default=[2],
        metavar="N",
        help="workers of the Citus cluster (default: 2)",
    )
    add(
        "--stores",
        nargs="+",
        choices=("sqlite", "postgres", "citus"),
        default=["sqlite", "postgres", "citus"],
        help="stores to measure (default: all)",
    )
    add("--seconds", type=float, default=30, metavar="S", help="of each load (default: 30)")
    add("--quick", action="store_true", help="a few seconds, to see that it works")
    add("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args()
    if options.quick:
        options.sizes, options.seconds = [(4, 40)], 0.5
    starts: list[tuple[str, Start]] = [
        ("SQLite", sqlite),
        ("PostgreSQL", postgres),
        *((f"Citus, {n} workers", partial(citus, n)) for n in options.workers),
    ]
    starts = [
        start
        for start in starts
        if start[0].split(",")[0].lower().startswith(tuple(options.stores))
    ]
    columns: list[Column] = []
    for users, memories in options.sizes:
        print(f"making {users:,} × {memories:,} …", file=sys.stderr)
        templates = asyncio.run(make_templates(min(TEMPLATES, users), memories))
        for processes in options.processes:
            setting = Setting(
                users=users, memories=memories, processes=processes, seconds=options.seconds
            )
            found: list[Column] = []
            for name, start in starts:
                print(f"{name}, {setting} …", file=sys.stderr)
                found.append(_measure_store(name, start, setting, templates))
            show_columns(setting, found)
            columns += found
            if options.json:
                save(columns, options.json)
    _show_growth(columns)
    show_load()
    figures = [figure for column in columns for figure in column.figures]
    missed = [figure for figure in figures if figure.verdict == "MISSED"]
    console().print(f"{len(missed)} of {sum(f.goal is not None for f in figures)} goals missed")


def _measure_store(
    name: str, start: Start, setting: Setting, templates: Sequence[Template]
) -> Column:
    try:
        with start() as target:
            return Column(name, setting, measure(target, setting, templates))
    except Missing as error:
        return Column(name, setting, [], str(error))


def _read_size(text: str) -> tuple[int, int]:
    users, _, memories = text.partition("x")
    if not (users.isdecimal() and memories.isdecimal() and int(users) > 1 and int(memories) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write 1000x1000")
    return int(users), int(memories)


if __name__ == "__main__":
    main()
