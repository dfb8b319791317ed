"""The metrics and probes of `theanine worker`, and folders that a killed process leaves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

import theanine
from server.processes import START_LIMIT
from support.debian_postgres import free_port
from support.forking import Python
from support.running import START


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 2 * START_LIMIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.server
@pytest.mark.slow
def test_a_worker_has_metrics_and_probes(tmp_path: Path) -> None:
    store, port = str(tmp_path / "memory.db"), free_port()
    with theanine.open(store, remembering="later") as client:
        client.user("anastasia").add("I sold the boat because the engine died.")
    url = f"http://127.0.0.1:{port}"

    def answers(path: str, status: int) -> bool:
        try:
            return httpx2.get(f"{url}{path}", timeout=START_LIMIT).status_code == status
        except httpx2.TransportError:
            return False

    options = ("--poll", "0.1", "--metrics-port", str(port))
    with Python(START, "worker", "--store", store, *options) as worker:
        wait_until(lambda: answers("/ready", 200))
        assert answers("/health", 200)
        remembered = 'theanine_worker_sessions_total{result="remembered"} 1.0'
        wait_until(lambda: remembered in httpx2.get(f"{url}/metrics").text)
        metrics = httpx2.get(f"{url}/metrics").text
        assert re.search(r'theanine_operation_seconds_count.*"upsert_memory"', metrics)
        assert "theanine_webhook_messages_waiting 0.0" in metrics
        assert "anastasia" not in metrics
        worker.terminate()
        assert worker.wait() == 0


def test_a_worker_says_what_is_wrong(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        worker = client.worker()
        assert worker.problem == "starting" and worker.responds()
        worker.run(once=True)
        assert worker.problem == "" and worker.responds()
        worker.stop()
        assert worker.problem == "stopping"


@pytest.mark.skipif(os.name == "nt", reason="folders can't be locked")
def test_folders_of_killed_processes_go_and_no_others(tmp_path: Path) -> None:
    def run(code: str) -> subprocess.Popen[str]:
        program = f"from theanine.temporary_folders import *\n{code}"
        variables = {**os.environ, "TMPDIR": str(tmp_path)}
        command = [sys.executable, "-c", program]
        return subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True)

    def make(kind: str) -> tuple[subprocess.Popen[str], Path]:
        process = run(
            f"with temporary_folder({kind!r}) as folder:\n"
            "    (folder / 'words.txt').write_text('x')\n"
            "    print(folder, flush=True)\n"
            "    import time; time.sleep(600)"
        )
        assert process.stdout
        return process, Path(process.stdout.readline().strip())

    makers = [make("metrics"), make("import"), make("import")]
    (_, living), (killed, left), (other, new) = makers
    try:
        for process in (killed, other):
            process.kill()
            process.wait()
        for folder in (living, left):
            os.utime(folder, (1_700_000_000, 1_700_000_000))
        (tmp_path / "theanine-import-link").symlink_to(living)
        with run("remove_leftovers()") as removing:
            assert removing.wait(START_LIMIT) == 0
        assert living.exists() and new.exists() and not left.exists()
    finally:
        for process, _ in makers:
            process.kill()
            process.wait()
            assert process.stdout
            process.stdout.close()
