"""Run the command line in this process or, with typed input, in its own process."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.forking import Python
from theanine.cli import main
from theanine.cli.rendering import console

START = "from theanine.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Ran:
    """A command's output and exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The standard output, parsed as JSON."""
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Terminal:
    """The command line with one store."""

    store: Path

    def __call__(self, *arguments: str, fine: bool = True) -> Ran:
        """Run a command in this process; with ``fine`` it must succeed."""
        return self.bare(*arguments, "--store", str(self.store), fine=fine)

    def bare(self, *arguments: str, fine: bool = True) -> Ran:
        """Run a command that has no store."""
        out, err = io.StringIO(), io.StringIO()
        code = 0
        console.cache_clear()  # a process of its own would look anew whether it has a terminal
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main(arguments)
            except SystemExit as stop:
                code = int(stop.code or 0)
            finally:
                console.cache_clear()
        ran = Ran(code, out.getvalue(), err.getvalue())
        assert not fine or code == 0, ran
        return ran

    def typed(
        self,
        *arguments: str,
        text: str = "",
        environment: Mapping[str, str] | None = None,
        patience: float = 60,
    ) -> Ran:
        """Run a process with ``text`` as standard input, for at most ``patience`` seconds."""
        command = [START, *arguments, "--store", str(self.store)]
        with Python(*command, environment=environment) as process:
            return Ran(*process.communicate(text, patience))
