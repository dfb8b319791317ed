"""The page on trying the memory proxy does what it shows: commands, curl and two clients."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from support.blocks import Block, blocks_of, commands_of, environment, matches
from support.debian_postgres import free_port

PAGE = Path(__file__).parents[2] / "docs" / "trying-the-proxy.md"
PORTS = ("8099", "8321")
LIMIT, TRIES = 120, 10

pytestmark = pytest.mark.slow


@contextmanager
def started(words: str, url: str, folder: Path, variables: dict[str, str]) -> Generator[None]:
    """Run a server by its command line until the block ends; it answers at a URL when it begins."""
    command = shlex.split(words)
    process = subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + LIMIT
        while process.poll() is None and time.monotonic() < deadline:
            try:
                urlopen(url, timeout=5).close()
                break
            except URLError:
                time.sleep(0.1)
        assert process.poll() is None, words
        yield
    finally:
        process.terminate()
        process.wait(LIMIT)


def test_what_the_page_shows_happens(tmp_path: Path) -> None:
    pytest.importorskip("anthropic")
    own = {port: str(free_port()) for port in PORTS}

    def with_own_ports(text: str) -> str:
        for port, other in own.items():
            text = text.replace(port, other)
        return text

    blocks: list[Block] = blocks_of(PAGE)
    servers = [
        command.words
        for block in blocks
        if block.language == "console"
        for command in commands_of(block)
    ]
    variables = environment(tmp_path)
    python = tmp_path / ".tools" / "python"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', "utf-8")
    python.chmod(0o755)
    variables["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    runs = {"bash": ["/bin/sh", "-c"], "py": [sys.executable, "-c"]}
    with ExitStack() as running:
        for words, path in zip(servers, ("v1/models", "ready"), strict=True):
            port = next(port for port in PORTS if port in words or path == "ready")
            url = f"http://127.0.0.1:{own['8321' if path == 'ready' else port]}/{path}"
            words = with_own_ports(words)
            if path == "ready":
                words += f" --port {own['8321']}"
            running.enter_context(started(words, url, tmp_path, variables))
        examples = [block for block in blocks if block.language != "console"]
        for example, shown in zip(examples[::2], examples[1::2], strict=True):
            command = [*runs[example.language], with_own_ports(example.text)]
            assert eventually(command, shown.text, tmp_path, variables), example


def eventually(command: list[str], shown: str, folder: Path, variables: dict[str, str]) -> bool:
    """Return whether a command prints what is shown: on a busy machine, memory may be late."""
    for _ in range(TRIES):
        ran = subprocess.run(
            command,
            cwd=folder,
            env=variables,
            stdout=subprocess.PIPE,
            text=True,
            timeout=LIMIT,
            check=True,
        )
        if matches(shown, ran.stdout):
            return True
    return False
