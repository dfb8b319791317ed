"""Measure start-up: importing, single commands, an MCP server, and the installed size."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory

from figures import Figure, median
from packaging.requirements import Requirement

import theanine

RUNS = 7
COMMANDS = {
    "log": (("log", "--user", "ana"), 0.25),
    "recall": (("recall", "Who feeds the cat?", "--user", "ana"), 0.35),
    "hook of a coding agent": (("hook", "--user", "ana"), 0.25),
    "mcp": (("mcp", "--user", "ana"), 0.6),
}
"""Commands on a store of a few turns, and their goals in seconds of CPU time."""
PROMPT = (
    '{"hook_event_name": "UserPromptSubmit", "session_id": "a", "prompt": "Who feeds the cat?"}'
)
"""Standard input of each command: the hook reads it, and the MCP server ends when it does."""
TOLD = "My neighbor feeds the cat while we are away."


def starting() -> list[Figure]:
    """Whole processes, less an empty one of the same Python for the import."""
    empty = _seconds("pass")
    imported = _seconds("import theanine")
    helped = _seconds(
        "import sys; sys.argv[1:] = ['--help']; from theanine.cli import main; main()"
    )
    commands = [
        Figure(name=f"theanine {name}, CPU", value=seconds, unit="s", goal=goal)
        for name, seconds, goal in _commands()
    ]
    sizes = {name: _size(name) for name in _needed("theanine")}
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:4]
    return [
        Figure(name="import theanine", value=imported - empty, unit="s", goal=0.25, peer="0.7"),
        Figure(name="theanine --help", value=helped, unit="s", goal=0.5),
        *commands,
        Figure(
            name="installed size",
            value=sum(sizes.values()) / 1e6,
            unit="MB",
            goal=150,
            peer="179",
            note=", ".join(f"{name} {size / 1e6:.0f}" for name, size in largest),
        ),
    ]


def _commands() -> Iterator[tuple[str, float, float]]:
    """Yield commands with the CPU-seconds that they take, and their goals."""
    with TemporaryDirectory() as folder:
        path = f"{folder}/memory.db"
        with theanine.open(path) as client:
            client.user("ana").add(TOLD)
        for name, (arguments, goal) in COMMANDS.items():
            command = [sys.executable, "-m", "theanine", *arguments]
            used = [_processor_seconds(command, path) for _ in range(RUNS)]
            yield name, median(used), goal


def _processor_seconds(command: Sequence[str], store: str) -> float:
    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before, environment = used(), {**os.environ, "THEANINE_STORE": store}
    subprocess.run(command, input=PROMPT, env=environment, check=True, text=True, stdout=DEVNULL)
    return used() - before


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
