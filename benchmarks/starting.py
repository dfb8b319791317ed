"""What a user pays before anything happens: import, --help, the installed size."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from figures import Figure, median
from packaging.requirements import Requirement

RUNS = 7


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
        Figure(
            name="installed size",
            value=sum(sizes.values()) / 1e6,
            unit="MB",
            goal=150,
            peer="179",
            note=", ".join(f"{name} {size / 1e6:.0f}" for name, size in largest),
        ),
    ]


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
