"""Run `theanine bench methods` with a model on this machine, for what methods ask of one.

It is a scripted model, whose replies are valid and say nothing new; with `--small`, SmolLM2-135M
behind llama.cpp (`make extras`). All other arguments are those of the command.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from small_model import small_model_server

from theanine.cli import main
from theanine.testing import ScriptedServer

SMALL = "--small"
TIMEOUT = "600"
"""Seconds for a reply of a model on one thread of a busy machine."""


@contextmanager
def scripted_server() -> Generator[str]:
    """Yield the base URL of a scripted model."""
    with ScriptedServer() as server:
        yield server.base_url


if __name__ == "__main__":
    arguments = sys.argv[1:]
    name, serve = "scripted", scripted_server
    if SMALL in arguments:
        arguments.remove(SMALL)
        name, serve = "smollm2-135m", small_model_server
    with serve() as url:
        model = ["--model", name, "--base-url", url, "--timeout", TIMEOUT]
        main(["bench", "methods", *arguments, *model])
