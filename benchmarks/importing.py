"""Importing a ChatGPT export: 200 conversations from start to end, and reading a long one."""

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
from uuid import UUID

from figures import Figure

from theanine.demo import HARBOUR
from theanine.importers import read_histories

CONVERSATIONS, SECONDS = 200, 5
LONG, RESIDENT = 100_000, 50
"""Turns of a long export, and the MB that reading it may add to a process."""
COMMAND = "from theanine.cli import main; main()"
_SETTINGS: dict[str, object] = {
    "plugin_ids": None,
    "gizmo_id": None,
    "is_archived": False,
    "safe_urls": [],
    "default_model_slug": "auto",
    "conversation_template_id": None,
}
READ = """
import sys, time
from pathlib import Path
from theanine.importers import read_histories
def peak():  # of this program alone; getrusage also counts what the process was before
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
before, started = peak(), time.process_time()
[history] = read_histories(Path(sys.argv[1])).histories
turns = sum(len(session.turns) for session in history.transcripts)
print(turns, peak() - before, time.process_time() - started)
"""


def importing() -> list[Figure]:
    """Measure both; the messages have all fields that ChatGPT writes."""
    # The process that the import leaves behind may write there a little longer.
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        turns = write_export(folder / "export.zip", CONVERSATIONS)
        command = [sys.executable, "-c", COMMAND, "import", str(folder / "export.zip")]
        busy, started = _processor_seconds(), time.perf_counter()
        subprocess.run(
            [*command, "--store", str(folder / "memory.db")], check=True, capture_output=True
        )
        seconds, busy = time.perf_counter() - started, _processor_seconds() - busy
        write_export(folder / "long.zip", LONG // 20, turns=20)
        _, _, read_some = _reading(folder / "export.zip")
        read, resident, read_all = _reading(folder / "long.zip")
    load = os.getloadavg()[0]
    return [
        Figure(name=f"import of a ChatGPT .zip, {CONVERSATIONS} conversations, until searchable",
               value=seconds, unit="s", goal=SECONDS,
               note=f"{turns:,} turns; {busy:.1f} s of processor time, load {load:.1f}; "
               f"{read_some:.1f} s to read it, the rest to log and remember"),
        Figure(name=f"reading a ChatGPT .zip of {read:,.0f} turns: memory", value=resident / 1e6,
               unit="MB", goal=RESIDENT, note=f"{read_all:.1f} s of processor time"),
    ]  # fmt: skip


def _reading(file: Path) -> tuple[float, ...]:
    """Return the turns of an export, the bytes that reading it adds, and processor seconds."""
    command = [sys.executable, "-c", READ, str(file)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    return tuple(map(float, ran.stdout.split()))


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
    nodes = ["root", *(str(UUID(int=number << 16 | i, version=4)) for i in range(len(texts)))]
    root = {"id": "root", "parent": None, "children": nodes[1:2], "message": None}
    mapping: dict[str, object] = {"root": root}
    for i, text in enumerate(texts):
        parent, node = nodes[i : i + 2]
        message: dict[str, object] = {
            "id": node,
            "author": {"role": ("user", "assistant")[i % 2], "name": None, "metadata": {}},
            "create_time": start + 30 * i,
            "update_time": None,
            "content": {"content_type": "text", "parts": [text]},
            "status": "finished_successfully",
            "end_turn": bool(i % 2),
            "weight": 1.0,
            "metadata": {
                "request_id": f"{number:x}-{i:x}-FRA",
                "message_source": None,
                "timestamp_": "absolute",
                "message_type": None,
                "model_slug": "gpt-4o",
                "default_model_slug": "auto",
                "parent_id": parent,
                "finish_details": {"type": "stop", "stop_tokens": [200_002]},
                "is_complete": True,
                "citations": [],
                "content_references": [],
            },
            "recipient": "all",
            "channel": None,
        }
        children = nodes[i + 2 : i + 3]
        mapping[node] = {"id": node, "parent": parent, "children": children, "message": message}
    yield "id", f"conversation-{number}"
    yield "title", f"Chat {number}"
    yield "create_time", start
    yield "mapping", mapping
    yield "current_node", nodes[-1]
    yield from _SETTINGS.items()
