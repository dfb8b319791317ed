"""Importing a ChatGPT export: 200 conversations from start to end, and the memory of a long one."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from figures import Figure

from theanine.demo import HARBOUR
from theanine.importers import read_histories

CONVERSATIONS, SECONDS = 200, 10
LONG, RESIDENT = 100_000, 50
"""Turns of a long export, and the MB that reading it may add to a process."""
COMMAND = "from theanine.cli import main; main()"
READ = """
import sys
from pathlib import Path
from theanine.importers import read_histories
def peak():  # of this program alone; getrusage also counts what the process was before
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
before = peak()
[history] = read_histories(Path(sys.argv[1])).histories
turns = sum(len(session.turns) for session in history.transcripts)
print(turns, peak() - before)
"""


def importing() -> list[Figure]:
    """Measure both."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        turns = write_export(folder / "export.zip", CONVERSATIONS)
        command = [sys.executable, "-c", COMMAND, "import", str(folder / "export.zip")]
        busy, started = _processor_seconds(), time.perf_counter()
        subprocess.run(
            [*command, "--store", str(folder / "memory.db")], check=True, capture_output=True
        )
        seconds, busy = time.perf_counter() - started, _processor_seconds() - busy
        write_export(folder / "long.zip", LONG // 20, turns=20)
        ran = subprocess.run(
            [sys.executable, "-c", READ, str(folder / "long.zip")],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
    load = os.getloadavg()[0]
    read, resident = map(int, ran.stdout.split())
    return [
        Figure(name=f"import of a ChatGPT .zip, {CONVERSATIONS} conversations", value=seconds,
               unit="s", goal=SECONDS,
               note=f"{turns:,} turns; {busy:.1f} s of processor time, load {load:.1f}"),
        Figure(name=f"reading a ChatGPT .zip of {read:,} turns: memory", value=resident / 1e6,
               unit="MB", goal=RESIDENT),
    ]  # fmt: skip


def _processor_seconds() -> float:
    """Return the processor time of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def write_export(file: Path, conversations: int, turns: int | None = None) -> int:
    """Write an export with ``turns`` turns a conversation, or 4 to 24; return their number."""
    rng, total = Random(0), 0
    said = [
        turn.text
        for history in read_histories(HARBOUR).histories
        for session in history.transcripts
        for turn in session.turns
    ]
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("conversations.json", "w") as stream,
    ):
        stream.write(b"[")
        for number in range(conversations):
            count = turns or rng.randrange(4, 26, 2)
            total += count
            texts = [" ".join(rng.sample(said, (1, 4)[i % 2])) for i in range(count)]
            stream.write(b"," if number else b"")
            stream.write(json.dumps(dict(_conversation(number, texts))).encode())
        stream.write(b"]")
    return total


def _conversation(number: int, texts: list[str]) -> Iterator[tuple[str, object]]:
    start = 1_600_000_000 + 86_400 * number
    mapping: dict[str, object] = {"root": {"parent": None, "message": None}}
    parent = "root"
    for i, text in enumerate(texts):
        node = f"{number}-{i}"
        message = {
            "author": {"role": ("user", "assistant")[i % 2]},
            "create_time": start + 30 * i,
            "content": {"content_type": "text", "parts": [text]},
        }
        mapping[node] = {"parent": parent, "message": message}
        parent = node
    yield "id", f"conversation-{number}"
    yield "title", f"Chat {number}"
    yield "create_time", start
    yield "mapping", mapping
    yield "current_node", parent
