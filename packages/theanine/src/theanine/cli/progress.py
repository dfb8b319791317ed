"""How far a command is: a bar on standard error, and only where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

import typer

from theanine.cli.rendering import visible


@contextmanager
def progress(length: int, label: str = "") -> Generator[Callable[..., None]]:
    """Gives what is called after each of ``length`` steps; a text given to it is the new label."""
    hidden = not sys.stderr.isatty()  # elsewhere the bar would leave its bare label behind
    with typer.progressbar(
        length=length, label=visible(label), hidden=hidden, file=sys.stderr
    ) as bar:

        def step(label: str = "") -> None:
            bar.label = visible(label) or bar.label
            bar.update(1)

        yield step
