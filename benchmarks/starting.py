"""Measure start-up: importing, single commands, an MCP server, and the installed size."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory

from figures import Figure, median
from natural import material, sessions
from packaging.requirements import Requirement

import theanine
from theanine.cli.resident.client import SERVED
from theanine.types import History

RUNS = 7
TURNS = 1_000
COMMANDS = {
    "log": (("log", "--user", "ana"), 0.25),
    "recall": (("recall", "Who feeds the cat?", "--user", "ana", "--min-relevance", "0"), 0.35),
    "hook of a coding agent": (("hook", "--user", "ana"), 0.25),
    "mcp": (("mcp", "--user", "ana"), 0.6),
}
"""Commands on a store of ``TURNS`` turns, and their goals in seconds of CPU time."""
PROMPT = (
    '{"hook_event_name": "UserPromptSubmit", "session_id": "a", "prompt": "Who feeds the cat?"}'
)
"""Standard input of each command: the hook reads it, and the MCP server ends when it does."""


def starting() -> list[Figure]:
    """Whole processes, less an empty one of the same Python for the import."""
    empty = _seconds("pass")
    imported = _seconds("import theanine")
    helped = _seconds(
        "import sys; sys.argv[1:] = ['--help']; from theanine.cli import main; main()"
    )
    sizes = {name: _size(name) for name in _needed("theanine")}
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:4]
    return [
        Figure(name="import theanine", value=imported - empty, unit="s", goal=0.25, peer="0.7"),
        Figure(name="theanine --help", value=helped, unit="s", goal=0.5),
        *_commands(),
        Figure(
            name="installed size",
            value=sum(sizes.values()) / 1e6,
            unit="MB",
            goal=150,
            peer="179",
            note=", ".join(f"{name} {size / 1e6:.0f}" for name, size in largest),
        ),
    ]


def _commands() -> Iterator[Figure]:
    """Yield the CPU-seconds that commands take, and with a resident process, its own included."""
    with TemporaryDirectory() as folder:
        path, sentences = f"{folder}/memory.db", material()[0]
        with theanine.open(path) as client:
            transcripts = tuple(sessions(sentences, TURNS, 0))
            client.user("ana").log(History(name="ana", transcripts=transcripts))
            client.user("ana").remember()
            client.user("ana").warm_up()
        environment = {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "",  # else each run would compile all of it again
            "PYTHONPYCACHEPREFIX": f"{folder}/compiled",
            "THEANINE_RESIDENT": "off",
            "THEANINE_STORE": path,
            "XDG_RUNTIME_DIR": folder,
            "XDG_STATE_HOME": folder,
        }
        for name, (arguments, goal) in COMMANDS.items():
            value = _processor_seconds(arguments, environment)
            yield Figure(name=f"theanine {name}, CPU", value=value, unit="s", goal=goal)
        if sys.platform == "linux":
            yield from _resident_commands({**environment, "THEANINE_RESIDENT": "on"}, Path(folder))


def _resident_commands(environment: Mapping[str, str], folder: Path) -> Iterator[Figure]:
    server = [sys.executable, "-P", "-m", "theanine.cli.resident.server"]
    with subprocess.Popen(server, env=environment, stdout=DEVNULL, stderr=DEVNULL) as process:
        while not [*folder.glob("theanine/*.sock")] and process.poll() is None:
            time.sleep(0.05)
        status = Path(f"/proc/{process.pid}/statm").read_text().split()
        megabytes = int(status[1]) * resource.getpagesize() / 1e6
        spent = _spent(process.pid)
        yield Figure(name="start of the resident process, CPU", value=spent, unit="s")
        yield Figure(name="main memory of the resident process", value=megabytes, unit="MB")
        for name, (arguments, goal) in COMMANDS.items():
            if arguments[0] in SERVED:
                before = _spent(process.pid)
                value = _processor_seconds(arguments, environment)
                value += (_spent(process.pid) - before) / (1 + RUNS)
                yield Figure(
                    name=f"theanine {name}, CPU, resident", value=value, unit="s", goal=goal
                )
        process.terminate()


def _spent(process: int) -> float:
    """Return the CPU-seconds that a process and its children have spent."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _processor_seconds(arguments: Sequence[str], environment: Mapping[str, str]) -> float:
    """Return the CPU-seconds that a command takes, the median of ``RUNS`` after a first one."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def once() -> float:
        before = used()
        command = [sys.executable, "-m", "theanine", *arguments]
        subprocess.run(
            command, input=PROMPT, env=environment, check=True, text=True, stdout=DEVNULL
        )
        return used() - before

    once()  # compiles what it imports, as an installer does
    return median([once() for _ in range(RUNS)])


def _seconds(code: str) -> float:
    def once() -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - started

    once()
    return median([once() for _ in range(RUNS)])


def _needed(name: str) -> set[str]:
    """A distribution and all that it needs without extras."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop().lower().replace("_", "-")
        if one not in found:
            found.add(one)
            waiting += _requirements(one)
    return found


def _requirements(name: str) -> Iterator[str]:
    try:
        texts = distribution(name).requires or []
    except PackageNotFoundError:
        return
    for requirement in map(Requirement, texts):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield requirement.name


def _size(name: str) -> int:
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:
        return 0
    places = {Path(str(file.locate())) for file in files}
    return sum(place.stat().st_size for place in places if place.is_file())
