"""Measure memory systems on the same texts, questions and vectors.

Each ``run_NAME.py`` beside this file adapts one system, and measures it when it is run; ``run.py``
measures all of them:

    python benchmarks/rivals/run_mem0.py locomo10.json
    python benchmarks/rivals/run.py corpus/diaries_report.jsonl locomo10.json --limit 20

The data are labeled conversations that ``theanine bench retrieval`` reads, such as LoCoMo's, where
the evidence is counted within so many turns and tokens; and files ``.jsonl`` or folders of
histories with questions that ``theanine bench methods`` reads, where each system is asked as it is
by default, and what it returns is judged as there. Each has a store of its own.

The system is installed from PyPI into an environment of its own below ``build/rivals``, and runs in
it as a process that is told the turns and asked the questions; no language model is called. The
others get theanine's own vectors (``--embedder``) from an endpoint on loopback, which has computed
them before, so that storage and ranking are compared, not embedders, and no model has to be
downloaded. Theanine computes its own, which is in its CPU time. The CPU time is that of the
system's processes.

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
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from theanine_bench.datasets.asked import AskedHistory, AskedQuestion
    from theanine_bench.statistics.intervals import Interval
    from theanine_bench.tasks.asked import Judged

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
    """A turn, as every system is told it; ``at`` is an ISO time with an offset."""

    id: str
    session: str
    speaker: str
    text: str
    at: str
    role: str = "user"

    @property
    def line(self) -> str:
        """The turn with its speaker, as a text that is stored."""
        return f"{self.speaker}: {self.text}"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, who asks it and when; ``at`` is an ISO time with an offset."""

    text: str
    speaker: str = ""
    at: str = ""


class System(Protocol):
    """A memory system in which one conversation is stored, to be searched."""

    def add(self, turns: Sequence[Said], user: str) -> None:
        """Store the turns, until all can be found; ``user`` is the speaker whose memory it is."""
        ...

    def ask(self, question: str, limit: int | None) -> list[str]:
        """Return the ids of the turns that were found, the best first.

        Without a limit, as many as the system returns by default.
        """
        ...

    def close(self) -> None:
        """End what runs for it."""
        ...


class Quoting(System, Protocol):
    """A system that quotes passages which fit into a prompt, not a number of turns."""

    def fill(self, question: str, tokens: int) -> list[str]:
        """Return the ids of the turns that it quotes within so many tokens."""
        ...

    def quote(self, question: Question) -> list[tuple[str, list[str]]]:
        """Return the passages that it quotes by default, the best first, with their turns' ids."""
        ...


Open = Callable[[Path, str, int], System]
"""Opens a system in an empty folder, with the endpoint's URL and the dimension of its vectors."""


@dataclass(frozen=True, slots=True)
class Rival:
    """A system that can be measured.

    Attributes:
        packages: what to install, the system itself first: with its version, or a folder.
        default: what it is asked by where it is asked as by default.
        script: the file that runs it when it is called as a program.
    """

    name: str
    packages: tuple[str, ...]
    default: str
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
    endpoint, dimension = os.environ[SIDE].split("|")
    system: System | None = None
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "open":
            if system is not None:
                system.close()
            system = open_system(Path(request["folder"]), endpoint, int(dimension))
            answer = None
        else:
            assert system is not None, "a system is opened first"
            answer = _answer(system, request)
        print(json.dumps(answer), file=answers, flush=True)
    if system is not None:
        system.close()


def _answer(system: System, request: Mapping[str, Any]) -> Any:
    quoting = cast("Quoting", system) if hasattr(system, "fill") else None
    match request["do"]:
        case "add":
            system.add([Said(**turn) for turn in request["turns"]], request["user"])
            return None
        case "ask":
            return [_timed(system.ask, text, FIRST) for text in request["questions"]]
        case "fill":
            texts = request["questions"]
            if quoting:
                return [True, [quoting.fill(text, TOKENS) for text in texts]]
            return [False, [system.ask(text, WIDE) for text in texts]]
        case "quote":
            questions = [Question(**question) for question in request["questions"]]
            if quoting:
                return [_timed(quoting.quote, question) for question in questions]
            found = [_timed(system.ask, question.text, None) for question in questions]
            return [([(None, [turn]) for turn in turns], seconds) for turns, seconds in found]
        case unknown:
            raise ValueError(f"no such request: {unknown}")


def _timed(ask: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    return ask(*arguments), time.perf_counter() - started


# In theanine's environment


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of one store, and the questions that it is asked.

    Attributes:
        user: the speaker whose memory it is.
        gold: for each question, the ids of the turns that answer it.
        history: where the answers are judged as those of a history with questions.
    """

    turns: list[Said]
    user: str
    questions: list[Question]
    gold: list[frozenset[str]]
    history: AskedHistory | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of one conversation.

    Attributes:
        first, within: share of each question's evidence among the first turns, within the tokens.
        judged: what was returned for each question of a history.
        seconds: elapsed, of each question.
        added, asked: CPU-seconds of the turns, and of the questions.
        resident: main memory of the system's processes, in bytes.
    """

    first: list[float]
    within: list[float]
    judged: list[Judged]
    seconds: list[float]
    added: float
    asked: float
    resident: int


def compare(rivals: Sequence[Rival]) -> None:
    """Measure systems on the same data, as the command line asks, and print their figures."""
    from theanine_bench.samples import spread

    parser = argparse.ArgumentParser(
        description="Measure memory systems on the same texts, questions and vectors.",
        epilog="Files .jsonl and folders hold histories with questions, other files labeled "
        "conversations.",
    )
    parser.add_argument("data", type=Path, nargs="+", metavar="DATA")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="of several systems")
    parser.add_argument("--limit", type=int, metavar="N", help="of each DATA, evenly spaced")
    parser.add_argument("--questions", type=int, metavar="N", help="of each, evenly spaced")
    parser.add_argument("--embedder", default="encoder", help="the vectors that the others get")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS, metavar="FOLDER")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    options = parser.parse_args()
    chosen = [rival for rival in rivals if not options.only or rival.name in options.only]
    tables: list[dict[str, Any]] = []
    result = {
        "date": f"{datetime.now().astimezone():%Y-%m-%d}",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "vectors": options.embedder,
        "data": tables,
    }
    print(f"{result['date']}; {result['machine']}; vectors for the others: {options.embedder}")
    environments: dict[str, Path] = {}
    for rival in chosen:
        python = _install(options.environments / rival.name, rival.packages)
        environments[rival.name] = python
        print(f"{_versions(python, rival.packages)}; by default: {rival.default}", flush=True)
    for path in options.data:
        conversations = [
            _space(conversation, options.questions)
            for conversation in spread(_read(path), options.limit)
        ]
        told = sum(len(conversation.turns) for conversation in conversations)
        asked = sum(len(conversation.questions) for conversation in conversations)
        table = {"name": path.stem, "stores": len(conversations), "turns": told, "asked": asked}
        print(f"\n{path.name}: {len(conversations)} stores, {told:,} turns, {asked:,} questions")
        systems: list[dict[str, Any]] = []
        with _endpoint(options.embedder, conversations) as (url, dimension):
            for rival in chosen:
                python = environments[rival.name]
                measured = _measure_all(rival, python, conversations, url, dimension)
                versions = {"system": rival.name, "versions": _versions(python, rival.packages)}
                systems.append({**versions, **_figures(measured, told, python)})
        _show(systems)
        tables.append({**table, "systems": systems})
        if options.json:  # after each, since the next one may fail
            options.json.write_text(json.dumps(result, indent=1) + "\n")


def _figures(measured: Sequence[Measured], told: int, python: Path) -> dict[str, Any]:
    """Return what is reported of a system, by label: numbers, and intervals as objects."""
    from theanine_bench.statistics.intervals import mean_interval
    from theanine_bench.tasks.asked import measure

    seconds = [second for one in measured for second in one.seconds]
    if judged := [each for one in measured for each in one.judged]:
        quality = {label: _interval(value) for label, value in measure(judged).items() if value}
        returned = {"tokens returned": round(fmean(each.tokens for each in judged))}
    else:
        firsts = [share for one in measured for share in one.first]
        quality = {f"evidence among the first {FIRST} turns": _interval(mean_interval(firsts))}
        within = fmean(share for one in measured for share in one.within)
        returned = {f"evidence within {TOKENS} tokens": round(within, 3)}
    return {
        **quality,
        **returned,
        "CPU a question, ms": round(1_000 * sum(one.asked for one in measured) / len(seconds), 1),
        "time a question, p50, ms": round(1_000 * median(seconds), 1),
        "CPU a turn stored, ms": round(1_000 * sum(one.added for one in measured) / told, 1),
        "main memory, MB": round(max(one.resident for one in measured) / 1e6),
        "installed, MB": round(_installed(python) / 1e6),
        "calls of a language model": 0,
        "load of the machine": round(os.getloadavg()[0], 1),
    }


def _interval(value: Interval) -> dict[str, float]:
    return {
        "mean": round(value.mean, 3),
        "low": round(value.low, 3),
        "high": round(value.high, 3),
        "n": value.n,
    }


def _show(systems: Sequence[Mapping[str, Any]]) -> None:
    """Print a row a label, and a column a system."""
    from theanine.cli.rendering import show_table

    names = [system["system"] for system in systems]
    labels = [label for label in systems[0] if label not in ("system", "versions")]
    show_table(
        ["", *names],
        [[label, *(_cell(system.get(label)) for system in systems)] for label in labels],
    )
    sys.stdout.flush()


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        interval = cast("dict[str, float]", value)
        return f"{interval['mean']:.3f} ± {(interval['high'] - interval['low']) / 2:.3f}"
    return str(value)


def _measure_all(
    rival: Rival, python: Path, conversations: Sequence[Conversation], url: str, dimension: int
) -> list[Measured]:
    """Measure one system in a process, which opens a store for each conversation."""
    measured: list[Measured] = []
    with _start([str(python), rival.script], f"{url}|{dimension}") as call:
        for conversation in conversations:
            with TemporaryDirectory() as folder:
                measured.append(_measure_one(call, folder, conversation))
            print(f"{rival.name}: {len(measured)} of {len(conversations)}", file=sys.stderr)
    return measured


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


def _read(data: Path) -> list[Conversation]:
    """Read labeled conversations, or histories with questions.

    Questions without an answer in a labeled conversation are left out, and those of a history by
    which nothing is measured.
    """
    if data.is_dir() or data.suffix == ".jsonl":
        from theanine_bench.datasets.asked import read_asked

        return [_of_history(history) for history in read_asked(data)]

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
        questions = [question for question in labeled.questions if question.answerable]
        gold = [frozenset(turn for _, turn in question.gold) for question in questions]
        asked = [Question(question.text) for question in questions]
        read.append(Conversation(turns, turns[0].speaker, asked, gold))
    return read


def _of_history(history: AskedHistory) -> Conversation:
    """Return the turns in order of time, with their places in the history as ids."""
    placed = sorted(enumerate(history.turns), key=lambda place: place[1].at)
    turns = [
        Said(
            str(place), str(turn.at.date()), turn.speaker, turn.text, turn.at.isoformat(), turn.role
        )
        for place, turn in placed
    ]
    asked = tuple(question for question in history.questions if _counts(question))
    return Conversation(
        turns,
        history.user,
        [Question(each.text, history.user, each.at.isoformat()) for each in asked],
        [frozenset(map(str, each.needed)) for each in asked],
        replace(history, questions=asked),
    )


def _counts(question: AskedQuestion) -> bool:
    return question.is_empty or question.asks == "now"


def _space(conversation: Conversation, limit: int | None) -> Conversation:
    """Return it with at most so many questions, evenly spaced."""
    from theanine_bench.samples import spread

    history = conversation.history
    return replace(
        conversation,
        questions=spread(conversation.questions, limit),
        gold=spread(conversation.gold, limit),
        history=history and replace(history, questions=tuple(spread(history.questions, limit))),
    )


Call = Callable[..., tuple[Any, float, int]]
"""Sends a request: the answer, the CPU-seconds of the process so far, and its main memory."""


@contextlib.contextmanager
def _start(command: Sequence[str], side: str) -> Generator[Call]:
    """Run a system's process, and yield what sends it requests."""
    import psutil

    with (
        TemporaryDirectory() as folder,
        (Path(folder) / "stderr").open("w") as stderr,
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

        def call(**request: Any) -> tuple[Any, float, int]:
            assert process.stdin
            assert process.stdout
            print(json.dumps(request), file=process.stdin, flush=True)
            line = process.stdout.readline()
            if not line:
                said = Path(stderr.name).read_text()
                raise SystemExit(f"{command[-1]} ended:\n{said[-2_000:]}")
            tree = [root, *root.children(recursive=True)]
            busy = sum(t.user + t.system for t in (one.cpu_times() for one in tree))
            return json.loads(line), busy, sum(one.memory_info().rss for one in tree)

        yield call
        assert process.stdin
        process.stdin.close()


def _measure_one(call: Call, folder: str, conversation: Conversation) -> Measured:
    """Tell one conversation to a new store of a system, and ask it."""
    _, opened, _ = call(do="open", folder=folder)
    turns = [asdict(turn) for turn in conversation.turns]
    _, added, _ = call(do="add", turns=turns, user=conversation.user)
    texts = [question.text for question in conversation.questions]
    # The first question is asked before, since it loads what the others find loaded.
    _, warm, _ = call(do="ask", questions=texts[:1])
    if conversation.history:
        questions = [asdict(question) for question in conversation.questions]
        answers, done, resident = call(do="quote", questions=questions)
        judged = _judge(conversation.history, [parts for parts, _ in answers])
        first, within = [], []
    else:
        answers, done, resident = call(do="ask", questions=texts)
        (quotes, filled), _, _ = call(do="fill", questions=texts)
        lines = {turn.id: turn.line for turn in conversation.turns}
        judged = []
        first = _shares(conversation.gold, (found[:FIRST] for found, _ in answers))
        within = _shares(
            conversation.gold, filled if quotes else (_cut(turns, lines) for turns in filled)
        )
    seconds = [seconds for _, seconds in answers]
    return Measured(first, within, judged, seconds, added - opened, done - warm, resident)


def _shares(gold: Sequence[frozenset[str]], found: Iterable[Sequence[str]]) -> list[float]:
    return [
        len(needed & set(turns)) / len(needed) for needed, turns in zip(gold, found, strict=True)
    ]


def _judge(history: AskedHistory, returned: Sequence[Any]) -> list[Judged]:
    """Judge passages with their turns; without a text, a passage is the turn itself."""
    from theanine.types import Part, Recollection, Turn
    from theanine_bench.tasks.asked import judge

    turns = {
        str(place): Turn(text=said.text, speaker=said.speaker, at=said.at, id=place + 1, session=1)
        for place, said in enumerate(history.turns)
    }
    judged: list[Judged] = []
    for question, passages in zip(history.questions, returned, strict=True):
        parts = [
            Part(
                text=turns[ids[0]].text if text is None else text,
                memories=(),
                source_turns=tuple(turns[turn] for turn in ids),
                score=-rank,
            )
            for rank, (text, ids) in enumerate(passages)
        ]
        found = Recollection(query=question.text, parts=tuple(parts))
        judged.append(judge(history, question, "default", found))
    return judged


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

    for conversation in conversations:
        remember([turn.line for turn in conversation.turns])
        remember([question.text for question in conversation.questions], asked=True)

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
