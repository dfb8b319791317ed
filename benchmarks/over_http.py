"""The service under load, on SQLite and PostgreSQL, beside mem0's library: `make bench-server`.

    python benchmarks/over_http.py --systems sqlite --seconds 10

Users are loaded in bulk (bulk.py); mem0 is given the same turns, as they are, without a model. The
load comes from a process of its own, on the same machine. mem0 is installed from PyPI into an
environment of its own, in build/, with an embedding endpoint on loopback that answers at once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "packages" / "theanine-server" / "tests"))

import psutil
from bulk import TEMPLATES, Template, load, make_templates, user_name
from columns import Column, save, show_columns, show_load
from figures import Figure, median, percentile
from http_load import HttpRequest, Load, Sent, send
from natural import material, sessions, turn_text
from server.processes import serving
from server.providers import Provider
from servers import Missing, Target, postgres, sqlite

import theanine
from support.debian_postgres import free_port
from support.running import Terminal
from theanine.cli.rendering import console
from theanine.testing import ScriptedServer

RATE, CONNECTIONS, BUDGET = 100, 50, 1_000
PROXIED_RATE, PROXIED_CONNECTIONS = 20, 10
WARM_UP = 300
"""Recalls, and later messages, before they are measured."""
HERE = Path(__file__).parent
ENVIRONMENT = HERE.parent / "build" / "mem0"
DIMENSION = 1_536

Measure = Callable[["Setting", Sequence[Template]], list[Figure]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The size of a measurement: users, turns of each, and the seconds of each load."""

    users: int
    turns: int
    seconds: float
    processes: int

    def __str__(self) -> str:
        processes = "1 process" if self.processes == 1 else f"{self.processes} processes"
        return (
            f"{self.users:,} users × {self.turns:,} turns, {processes}, {self.seconds:g} s a load"
        )


@dataclass(frozen=True, slots=True)
class Service:
    """A running service, by the paths and bodies of its own API."""

    url: str
    headers: Mapping[str, str]
    process: psutil.Process
    recall: Callable[[str, str], HttpRequest]
    hear: Callable[[str, str, str], HttpRequest]

    def send(
        self, requests: Sequence[HttpRequest], connections: int, seconds: float | None = None
    ) -> tuple[Sent, float]:
        """Send requests; return also the seconds of CPU time that the service took for them."""
        before = self._cpu()
        sent = send(Load(self.url, self.headers, requests, connections, seconds))
        return sent, self._cpu() - before

    def _tree(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)]

    def _cpu(self) -> float:
        return sum(sum(each.cpu_times()[:2]) for each in self._tree())

    def resident(self) -> int:
        """Bytes of main memory."""
        return sum(each.memory_info().rss for each in self._tree())


class Draw:
    """Draws users and what they say, the same in every run."""

    def __init__(self, setting: Setting) -> None:
        self._rng = Random(0)
        self._sentences, self._questions = material()
        self._users = [user_name(number) for number in range(setting.users)]

    def recalls(self, service: Service, count: int) -> list[HttpRequest]:
        users = self._rng.choices(self._users, k=count)
        return [service.recall(user, self._rng.choice(self._questions)) for user in users]

    def arrivals(self, rate: float, seconds: float) -> list[float]:
        """Return times of independent arrivals."""
        due, dues = 0.0, list[float]()
        while (due := due + self._rng.expovariate(rate)) < seconds:
            dues.append(due)
        return dues

    def messages(self, service: Service, count: int, name: str) -> list[HttpRequest]:
        users = self._rng.choices(self._users, k=count)
        return [
            service.hear(user, turn_text(self._sentences, self._rng), f"{name}-{number}")
            for number, user in enumerate(users)
        ]


def measure_load(service: Service, setting: Setting) -> tuple[list[Figure], list[HttpRequest]]:
    """Offer recalls and then messages; return also the messages that were acknowledged."""
    draw = Draw(setting)
    service.send(draw.recalls(service, WARM_UP), CONNECTIONS, setting.seconds)
    resident = service.resident()
    dues = draw.arrivals(RATE, setting.seconds)
    offered = [
        replace(request, due=due)
        for request, due in zip(draw.recalls(service, len(dues)), dues, strict=True)
    ]
    _say("offered recalls")
    recalled, cpu = service.send(offered, CONNECTIONS)
    name = f"recall, {RATE} a second offered over {CONNECTIONS} connections"
    figures = [
        *_latencies(name, recalled, p50=15, p95=50),
        _cpu(name, recalled, cpu),
        Figure(name=f"{name}, errors", value=len(recalled.answers) - len(recalled.good), unit="",
               goal=0, note=_statuses(recalled)),
    ]  # fmt: skip
    _say("messages")
    grown = service.resident() - resident
    service.send(draw.messages(service, WARM_UP, "warm-up"), CONNECTIONS)
    grown -= service.resident()
    messages = draw.messages(service, int(2_000 * setting.seconds), "bench")
    heard, cpu = service.send(messages, CONNECTIONS, setting.seconds)
    name = "messages acknowledged on disk"
    growth = 100 * (grown + service.resident()) / resident
    figures += [
        Figure(name=name, value=len(heard.good) / heard.seconds, unit="/s", goal=300,
               at_least=True, note=_statuses(heard)),
        *_latencies(name, heard),
        _cpu(name, heard, cpu),
        Figure(name="main memory after a warm-up", value=resident / 1e6, unit="MB"),
        Figure(name="its growth over both loads", value=growth, unit="%", goal=5),
    ]  # fmt: skip
    return figures, [messages[answer.number] for answer in heard.good]


def _latencies(
    name: str, sent: Sent, p50: float | None = None, p95: float | None = None
) -> list[Figure]:
    times = sent.milliseconds or [float("nan")]
    return [
        Figure(name=f"{name}, p50", value=percentile(times, 0.5), unit="ms", goal=p50),
        Figure(name=f"{name}, p95", value=percentile(times, 0.95), unit="ms", goal=p95),
    ]


def _cpu(name: str, sent: Sent, seconds: float) -> Figure:
    return Figure(
        name=f"{name}, CPU of the service", value=1_000 * seconds / len(sent.answers), unit="ms"
    )


def _statuses(sent: Sent) -> str:
    """Return the statuses that are no success, with their numbers."""
    counts = Counter(answer.status for answer in sent.answers if answer not in sent.good)
    return ", ".join(f"{count} × {status or 'lost'}" for status, count in counts.items())


# ours


def measure_ours(
    start: Callable[[], AbstractContextManager[Target]],
    setting: Setting,
    templates: Sequence[Template],
) -> list[Figure]:
    """Measure the service on a store."""
    with start() as target, Provider() as provider:
        _say("loading")
        theanine.open(target.location).close()
        asyncio.run(load(target.loading, setting.users, templates))
        key = Terminal(Path()).bare(
            "keys", "create", "--name", "bench", "--store", target.location
        )  # fmt: skip
        headers = {"Authorization": f"Bearer {key.out.strip()}"}
        arguments = ["--processes", str(setting.processes), "--log-level", "warning"]
        urls = ["--openai-url", provider.url]
        with serving(target.location, *arguments, *urls) as running:
            process = psutil.Process(running.process.pid)
            service = Service(running.url, headers, process, _recall, _hear)
            figures, acknowledged = measure_load(service, setting)
            _say("proxied calls")
            figures += _measure_proxy(service, provider, setting)
        figures.append(_compare(target.location, acknowledged))
        return figures


def _recall(user: str, question: str) -> HttpRequest:
    body = json.dumps({"dialogue": question, "budget": BUDGET}).encode()
    return HttpRequest(f"/v1/users/{user}/recall", body)


def _hear(user: str, text: str, number: str) -> HttpRequest:
    body = json.dumps({"content": text, "id": number}).encode()
    return HttpRequest(f"/v1/users/{user}/threads/bench/hear", body)


def _measure_proxy(service: Service, provider: Provider, setting: Setting) -> list[Figure]:
    """Send the same calls to the provider and through the proxy, each in its own conversation.

    Each user calls once before that: the first call indexes the messages of the load before.
    """
    _, questions = material()
    rng = Random(3)

    def call(user: int, number: int, due: float | None) -> HttpRequest:
        body = _chat(f"{rng.choice(questions)} ({number})")
        headers = {"Theanine-User": user_name(user)}
        return HttpRequest("/v1/chat/completions", body, due, headers)

    dues = Draw(setting).arrivals(PROXIED_RATE, setting.seconds)
    calls = [call(rng.randrange(setting.users), number, due) for number, due in enumerate(dues)]
    before = [call(user, len(calls) + user, None) for user in range(setting.users)]
    first, _ = service.send(before, 1)
    base = provider.url.removesuffix("/v1")
    direct = send(Load(base, {}, calls, PROXIED_CONNECTIONS))
    through, cpu = service.send(calls, PROXIED_CONNECTIONS)
    alone, _ = service.send([call(user, -1, None) for user in range(setting.users)], 1)
    usual = median(direct.milliseconds)
    name = f"a proxied call, {PROXIED_RATE} a second"
    return [
        Figure(name="a call of the provider, p50", value=usual, unit="ms"),
        Figure(name="a user's first proxied call after the messages, added to that, p50",
               value=median(first.milliseconds) - usual, unit="ms"),
        Figure(name=f"{name}, added to that, p50",
               value=percentile(through.milliseconds, 0.5) - usual, unit="ms"),
        Figure(name=f"{name}, added to that, p95",
               value=percentile(through.milliseconds, 0.95) - usual, unit="ms", goal=15),
        Figure(name="a proxied call, one after the other, added to that, p50",
               value=percentile(alone.milliseconds, 0.5) - usual, unit="ms"),
        Figure(name="a proxied call, one after the other, added to that, p95",
               value=percentile(alone.milliseconds, 0.95) - usual, unit="ms"),
        _cpu(name, through, cpu),
    ]  # fmt: skip


def _chat(words: str) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": words}]}).encode()


def _compare(location: str, acknowledged: Sequence[HttpRequest]) -> Figure:
    """Count what the store lacks of what was acknowledged, and what it has twice."""
    sent = Counter(str(json.loads(request.body)["id"]) for request in acknowledged)
    users = {request.path.split("/")[3] for request in acknowledged}
    logged: Counter[str] = Counter()
    with theanine.open(location) as client:
        for user in users:
            logged.update(str(turn.key) for turn in client.user(user).turns(thread="bench"))
    return Figure(
        name="messages lost or doubled",
        value=sum((sent - logged).values()) + sum(count - 1 for count in logged.values()),
        unit="",
        goal=0,
    )


# mem0


def measure_mem0(setting: Setting, templates: Sequence[Template]) -> list[Figure]:
    """Measure mem0 on the same turns. Raises Missing if it can't be installed."""
    python = _install_mem0()
    with TemporaryDirectory() as folder, _run_mem0(python, Path(folder)) as service:
        _say("loading")
        sentences, _ = material()
        turns = [
            service.hear(user_name(number), turn.text, "")
            for number in range(setting.users)
            for transcript in sessions(sentences, setting.turns, number % TEMPLATES)
            for turn in transcript.turns
        ]
        loaded, _ = service.send(turns, 1)
        if len(loaded.good) < len(turns):
            raise Missing(f"it did not store all turns: {_statuses(loaded)}")
        figures, _ = measure_load(service, setting)
        return figures


def _install_mem0() -> Path:
    python = ENVIRONMENT / "bin" / "python"
    requirements = HERE / "mem0_service" / "requirements.txt"
    commands = [
        [sys.executable, "-m", "venv", str(ENVIRONMENT)],
        [str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)],
    ]
    for command in commands[python.exists() :]:
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            raise Missing(f"mem0 could not be installed: {ran.stderr.strip()[-200:]}")
    return python


@contextmanager
def _run_mem0(python: Path, folder: Path) -> Generator[Service]:
    port = free_port()
    with ScriptedServer(dimension=DIMENSION) as server:
        process = subprocess.Popen(
            [python, "-m", "uvicorn", "service:app", "--port", str(port), "--no-access-log"],
            cwd=HERE / "mem0_service",
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(folder),
                "FOLDER": str(folder),
                "ENDPOINT": server.base_url,
                "MEM0_TELEMETRY": "false",
            },
            stderr=subprocess.DEVNULL,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            service = Service(url, {}, psutil.Process(process.pid), _recall_mem0, _hear_mem0)
            _wait_for(service, process)
            yield service
        finally:
            process.terminate()
            process.wait()


def _recall_mem0(user: str, question: str) -> HttpRequest:
    return HttpRequest("/recall", json.dumps({"user": user, "text": question}).encode())


def _hear_mem0(user: str, text: str, number: str) -> HttpRequest:
    return HttpRequest("/hear", json.dumps({"user": user, "text": text}).encode())


def _wait_for(service: Service, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        sent, _ = service.send([service.recall("nobody", "Is it up?")], 1)
        if sent.good:
            return
        time.sleep(1)
    raise Missing("its service did not start")


# output


def _say(doing: str) -> None:
    print(f"  {doing} …", file=sys.stderr)


def main() -> None:
    """Measure every system, and show them side by side."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    systems: dict[str, tuple[str, Measure]] = {
        "sqlite": ("SQLite", partial(measure_ours, sqlite)),
        "postgres": ("PostgreSQL", partial(measure_ours, postgres)),
        "mem0": ("mem0", measure_mem0),
    }
    add("--systems", nargs="+", choices=tuple(systems), default=[*systems], metavar="NAME",
        help="of sqlite, postgres and mem0 (default: all)")  # fmt: skip
    add("--users", type=int, default=50, metavar="N", help="(default: 50)")
    add("--turns", type=int, default=200, metavar="N", help="of each user (default: 200)")
    add("--processes", type=int, default=1, metavar="N", help="of our service (default: 1)")
    add("--seconds", type=float, default=30, metavar="S", help="of each load (default: 30)")
    add("--quick", action="store_true", help="a few seconds, to see that it works")
    add("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args()
    if options.quick:
        options.users, options.turns, options.seconds = 4, 40, 2.0
    setting = Setting(
        users=options.users,
        turns=options.turns,
        seconds=options.seconds,
        processes=options.processes,
    )
    templates = asyncio.run(make_templates(min(TEMPLATES, setting.users), setting.turns))
    columns: list[Column] = []
    for name, measure in (systems[system] for system in options.systems):
        _say(f"{name}, {setting}")
        try:
            columns.append(Column(name, setting, measure(setting, templates)))
        except Missing as error:
            columns.append(Column(name, setting, [], str(error)))
        except KeyboardInterrupt:  # what was measured until then took minutes
            columns.append(Column(name, setting, [], "interrupted"))
            break
    show_columns(setting, columns)
    if options.json:
        save(columns, options.json)
    show_load()
    missed = [f for column in columns[:2] for f in column.figures if f.verdict == "MISSED"]
    console().print(f"{len(missed)} goals missed")


if __name__ == "__main__":
    main()
