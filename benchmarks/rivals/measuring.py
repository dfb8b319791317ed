"""Measure one system on labeled conversations: the same texts, questions and vectors for all.

Each ``run_NAME.py`` beside this file adapts one system, and measures it when it is run; ``run.py``
measures all of them:

    python benchmarks/rivals/run_mem0.py locomo10.json
    python benchmarks/rivals/run.py locomo10.json --only theanine mem0

The data are a file that ``theanine bench retrieval`` reads, such as LoCoMo's. The system is
installed from PyPI into an environment of its own below ``build/rivals``, and runs in it as a
process that is told the turns and asked the questions; no language model is called. The others get
theanine's own vectors (``--embedder``) from an endpoint on loopback, which has computed them
before, so that storage and ranking are compared, not embedders, and no model has to be downloaded.
Theanine computes its own, which is in its CPU time. The CPU time is that of the system's processes.

Only the standard library is imported at the top: this file runs in the environments of the others,
too.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import platform
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from pathlib import Path
from statistics import fmean, median, stdev
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import Any, Protocol, cast

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = ROOT / "build" / "rivals"
FIRST = 10
"""Turns whose evidence counts."""
TOKENS = 600
"""Tokens within which evidence counts: the default budget of theanine's recall."""
WIDE = 50
"""Turns that a system is asked for which can't pack, until they fill the tokens."""
MODEL = "bundled"
"""The name of the embedding model on the endpoint."""
SIDE = "THEANINE_RIVAL"
"""Set in the process that runs the system."""


@dataclass(frozen=True, slots=True)
class Said:
    """A turn, as every system is told it; ``at`` is an ISO time."""

    id: str
    session: str
    speaker: str
    text: str
    at: str

    @property
    def line(self) -> str:
        """The turn with its speaker, as a text that is stored."""
        return f"{self.speaker}: {self.text}"


class System(Protocol):
    """A memory system in which one conversation is stored, to be searched."""

    def add(self, turns: Sequence[Said]) -> None:
        """Store the turns, until all can be found."""
        ...

    def ask(self, question: str, limit: int) -> list[str]:
        """Return the ids of the turns that were found, the best first."""
        ...


class Packing(System, Protocol):
    """A system that is asked for what fits into a prompt, not for a number of turns."""

    def fill(self, question: str, tokens: int) -> list[str]:
        """Return the ids of the turns that it quotes within so many tokens."""
        ...


Open = Callable[[Path, str, int], System]
"""Opens a system in an empty folder, with the endpoint's URL and the dimension of its vectors."""


@dataclass(frozen=True, slots=True)
class Rival:
    """A system that can be measured.

    Attributes:
        packages: what to install, the system itself first: with its version, or a folder.
        script: the file that runs it when it is called as a program.
    """

    name: str
    packages: tuple[str, ...]
    open: Open
    script: str


def main(rival: Rival) -> None:
    """Measure one system as the command line asks or, in the process that runs it, be it."""
    if SIDE in os.environ:
        _serve(rival.open)
    else:
        compare([rival])


# In the system's environment


def _serve(open_system: Open) -> None:
    """Answer requests, one JSON line each, until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # What the system prints is no answer.
    folder, endpoint, dimension = os.environ[SIDE].split("|")
    system = open_system(Path(folder), endpoint, int(dimension))
    for line in sys.stdin:
        request = json.loads(line)
        answer: Any
        if request["do"] == "add":
            system.add([Said(**turn) for turn in request["turns"]])
            answer = None
        elif request["do"] == "ask":
            answer = []
            for question in request["questions"]:
                started = time.perf_counter()
                found = system.ask(question, FIRST)
                answer.append([found, time.perf_counter() - started])
        else:
            packing = cast("Packing", system) if hasattr(system, "fill") else None
            answer = [
                packing is not None,
                [
                    packing.fill(text, TOKENS) if packing else system.ask(text, WIDE)
                    for text in request["questions"]
                ],
            ]
        print(json.dumps(answer), file=answers, flush=True)


# In theanine's environment


@dataclass(frozen=True, slots=True)
class Asked:
    """The measurements of one question: its evidence found, and the seconds that it took."""

    first: float
    within: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU-seconds of a conversation's turns and questions, and main memory in bytes."""

    added: float
    asked: float
    resident: int


def compare(rivals: Sequence[Rival]) -> None:
    """Measure systems on the same data, as the command line asks, and print their figures."""
    parser = argparse.ArgumentParser(description="Measure systems on labeled conversations.")
    parser.add_argument("data", type=Path, help="such as LoCoMo's file")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="of several systems")
    parser.add_argument("--conversations", type=int, help="the first ones of the data")
    parser.add_argument("--questions", type=int, help="of each conversation, evenly spaced")
    parser.add_argument("--embedder", default="encoder", help="the vectors that the others get")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS, metavar="FOLDER")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    options = parser.parse_args()
    chosen = [rival for rival in rivals if not options.only or rival.name in options.only]
    conversations = _read(options.data, options.questions)[: options.conversations]
    told = sum(len(turns) for turns, _ in conversations)
    asked = sum(len(questions) for _, questions in conversations)
    print(f"{options.data.name}: {told:,} turns, {asked:,} questions")
    print(f"{datetime.now().astimezone():%d %B %Y}; {platform.machine()}, {os.cpu_count()} cores")
    print(f"vectors for the others: {options.embedder}")
    measured: list[dict[str, Any]] = []
    with _endpoint(options.embedder, conversations) as (url, dimension):
        for rival in chosen:
            python = _install(options.environments / rival.name, rival.packages)
            figures = _measure_all(rival, python, conversations, url, dimension)
            measured.append(figures)
            print()
            for label, value in figures.items():
                print(f"{label:36} {value}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(measured, indent=1))


def _measure_all(
    rival: Rival, python: Path, conversations: Sequence[Conversation], url: str, dimension: int
) -> dict[str, Any]:
    """Measure one system, a new process for each conversation."""
    asked: list[Asked] = []
    costs: list[Cost] = []
    for turns, questions in conversations:
        with TemporaryDirectory() as folder:
            side = f"{folder}|{url}|{dimension}"
            one, cost = _measure_one([str(python), rival.script], side, turns, questions)
        asked += one
        costs.append(cost)
        print(f"{rival.name}: {len(costs)} of {len(conversations)}", file=sys.stderr)
    told = sum(len(turns) for turns, _ in conversations)
    firsts = [one.first for one in asked]
    interval = 1.96 * stdev(firsts) / len(firsts) ** 0.5
    return {
        "system": rival.name,
        "versions": _versions(python, rival.packages),
        f"evidence among the first {FIRST} turns": f"{fmean(firsts):.3f} ± {interval:.3f}",
        f"evidence within {TOKENS} tokens": round(fmean(one.within for one in asked), 3),
        "CPU a question, ms": round(1_000 * sum(c.asked for c in costs) / len(asked), 1),
        "time a question, p50, ms": round(1_000 * median(one.seconds for one in asked), 1),
        "load of the machine": round(os.getloadavg()[0], 1),
        "CPU a turn stored, ms": round(1_000 * sum(c.added for c in costs) / told, 1),
        "main memory, MB": round(max(cost.resident for cost in costs) / 1e6),
        "installed, MB": round(_installed(python) / 1e6),
        "calls of a language model": 0,
    }


def _install(folder: Path, packages: Sequence[str]) -> Path:
    """Return the Python of an environment with the packages; a folder is installed anew."""
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        if packages:
            subprocess.run([*pip, *packages], check=True)
    elif folders := [package for package in packages if Path(package).is_dir()]:
        subprocess.run([*pip, "--no-deps", "--force-reinstall", *folders], check=True)
    return python


Conversation = tuple[list[Said], list[tuple[str, frozenset[str]]]]
"""The turns, and questions with the ids of the turns that answer them."""


def _read(data: Path, limit: int | None) -> list[Conversation]:
    """Read labeled conversations; questions without an answer in them are left out."""
    from theanine_bench.datasets.evidence import read_evidence

    read: list[Conversation] = []
    for labeled in read_evidence(data):
        turns = [
            Said(turn.key or "", session.key, turn.speaker, turn.text, turn.at.isoformat())
            for session in labeled.history.transcripts
            for turn in session.turns
        ]
        told = {turn.id for turn in turns}
        if "" in told or len(told) < len(turns):
            raise SystemExit(f"{data}: its turns have no ids that are unique in a conversation")
        questions = [
            (question.text, frozenset(turn for _, turn in question.gold))
            for question in labeled.questions
            if question.answerable
        ]
        count = len(questions) if limit is None else min(limit, len(questions))
        spaced = [questions[number * len(questions) // count] for number in range(count)]
        read.append((turns, spaced))
    return read


def _measure_one(
    command: Sequence[str],
    side: str,
    turns: Sequence[Said],
    questions: Sequence[tuple[str, frozenset[str]]],
) -> tuple[list[Asked], Cost]:
    """Tell one conversation to a new process of a system, and ask it."""
    import psutil

    lines = {turn.id: turn.line for turn in turns}
    folder = side.partition("|")[0]
    said = Path(folder) / "stderr"
    with (
        said.open("w") as stderr,
        subprocess.Popen(
            command,
            env={**os.environ, SIDE: side, "HOME": folder, "HF_HUB_OFFLINE": "1"},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as process,
    ):
        root = psutil.Process(process.pid)

        def ask(**request: Any) -> tuple[Any, float, int]:
            """Return the answer, the CPU-seconds of the process so far, and its main memory."""
            assert process.stdin
            assert process.stdout
            print(json.dumps(request), file=process.stdin, flush=True)
            line = process.stdout.readline()
            if not line:
                raise SystemExit(f"{command[-1]} ended:\n{said.read_text()[-2_000:]}")
            tree = [root, *root.children(recursive=True)]
            busy = sum(t.user + t.system for t in (one.cpu_times() for one in tree))
            return json.loads(line), busy, sum(one.memory_info().rss for one in tree)

        _, opened, _ = ask(do="ask", questions=[])
        _, added, _ = ask(do="add", turns=[asdict(turn) for turn in turns])
        # The first question is asked before, since it loads what the others find loaded.
        _, warm, _ = ask(do="ask", questions=[questions[0][0]])
        texts = [text for text, _ in questions]
        answers, done, resident = ask(do="ask", questions=texts)
        (packs, filled), _, _ = ask(do="fill", questions=texts)
        assert process.stdin
        process.stdin.close()
    asked: list[Asked] = []
    for (_, gold), (found, seconds), full in zip(questions, answers, filled, strict=True):
        within = set(full if packs else _cut(full, lines))
        first = len(gold & set(found[:FIRST])) / len(gold)
        asked.append(Asked(first, len(gold & within) / len(gold), seconds))
    return asked, Cost(added - opened, done - warm, resident)


def _cut(turns: Sequence[str], lines: Mapping[str, str]) -> list[str]:
    """Return the first turns whose lines fit into the tokens."""
    from theanine.tokenizer import count_tokens

    used = accumulate(count_tokens(lines[turn]) for turn in turns)
    return [turn for turn, tokens in zip(turns, used, strict=True) if tokens <= TOKENS]


@contextlib.contextmanager
def _endpoint(name: str, conversations: Sequence[Conversation]) -> Generator[tuple[str, int]]:
    """Serve an embedder as OpenAI's API on loopback; yield the URL and the dimension."""
    import asyncio

    from theanine.embeddings import QueryEmbedder, open_embedder

    embedder = open_embedder(name)
    vectors: dict[str, list[float]] = {}
    lock = Lock()

    def remember(texts: Sequence[str], *, asked: bool = False) -> None:
        embed = embedder.embed
        if asked and isinstance(embedder, QueryEmbedder):
            embed = embedder.embed_queries
        for start in range(0, len(texts), 64):
            part = texts[start : start + 64]
            rows = asyncio.run(embed(part))
            vectors.update(zip(part, rows.tolist(), strict=True))

    for turns, questions in conversations:
        remember([turn.line for turn in turns])
        remember([text for text, _ in questions], asked=True)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            with lock:
                remember([text for text in texts if text not in vectors])
                rows = [vectors[text] for text in texts]
            packed = body.get("encoding_format") == "base64"
            data = [
                {"object": "embedding", "index": i, "embedding": _pack(row) if packed else row}
                for i, row in enumerate(rows)
            ]
            usage = {"prompt_tokens": 0, "total_tokens": 0}
            answer = {"object": "list", "data": data, "model": MODEL, "usage": usage}
            content = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", len(next(iter(vectors.values())))
        server.shutdown()


def _pack(row: Sequence[float]) -> str:
    from array import array

    return base64.b64encode(array("f", row).tobytes()).decode()


def _versions(python: Path, packages: Sequence[str]) -> str:
    names = [Path(package).name.partition("==")[0] for package in packages]
    code = f"from importlib.metadata import version\nfor n in {names!r}: print(n, version(n))"
    ran = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return ", ".join(ran.stdout.split("\n")[:-1])


def _installed(python: Path) -> int:
    """Return the bytes of all that is installed, without pip."""
    site = Path(sysconfig.get_path("purelib", vars={"base": str(python.parents[1])}))
    return sum(
        file.stat().st_size
        for file in site.rglob("*")
        if file.is_file()
        and not file.relative_to(site).parts[0].startswith(("pip", "setuptools", "_distutils"))
    )
