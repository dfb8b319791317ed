"""Histories and helpers of the contract tests."""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import theanine
from theanine.demo import HARBOUR, load_questions
from theanine.importers import read_histories
from theanine.types import History, Memory, Transcript, Utterance

START = datetime(2024, 5, 8, 12, tzinfo=UTC)
SECRET = "cormorant-4417"
QUESTIONS = [question.question for question in load_questions()]
SESSIONS = 4
IN_FLIGHT = 8
"""Maximum calls in flight, whose replies are lost when their process is killed."""

if sys.platform == "win32":
    _CONTEXT = multiprocessing.get_context("spawn")
else:  # one process imports everything once; children are forked from it
    _CONTEXT = multiprocessing.get_context("forkserver")
    _CONTEXT.set_forkserver_preload(
        [
            "theanine.client.sync",
            "theanine.store.sqlite",
            "theanine.embeddings.static",
        ]
        + ["theanine.llm.pydantic_ai"] * (find_spec("pydantic_ai") is not None)
    )


def demo() -> History:
    """Return the first sessions of the bundled conversation."""
    whole = read_histories(HARBOUR).histories[0]
    return replace(whole, transcripts=whole.transcripts[:SESSIONS])


def one_session(*texts: str, key: str = "one", day: int = 0) -> History:
    """Return a history of one session with turns of a user."""
    at = START + timedelta(days=day)
    turns = [
        Utterance(text=text, speaker="Ana", at=at + timedelta(minutes=i))
        for i, text in enumerate(texts)
    ]
    return History(name="ana", transcripts=[Transcript(key=key, turns=turns, at=at)])


SMALL: Mapping[str, History] = {
    "empty": History(name="ana", transcripts=[]),
    "greeting": one_session("Hello."),
    "one turn": one_session("I am terrified of ships."),
    "no words": one_session("？", "🛶" * 50, "…"),
}
"""Tiny histories by name."""


def log_and_remember(client: Any, history: History, user: str = "ana") -> None:
    """Log and remember a history; fail if a session can't be remembered."""
    client.user(user).log(history)
    remember_pending(client, user)


def remember_pending(client: Any, user: str = "ana") -> None:
    """Remember all pending sessions; fail if one can't be remembered."""
    failures = [report.failure for report in client.user(user).remember() if report.failure]
    assert failures == [], failures
    assert client.user(user).pending() == []


def snapshot(client: Any, user: str = "ana") -> tuple[Any, ...]:
    """Return all memories, links and marks, and the recollections of some questions."""
    handle = client.user(user)
    recollections = [handle.recall(question) for question in QUESTIONS]
    return (handle.memories(), handle.links(), handle.marks(), recollections)


def source_turn_ids(memory: Memory, memories: Mapping[int, Memory]) -> set[int]:
    """Return all source turn ids of a memory, including those of ``derived_from``."""
    turns, seen, waiting = set[int](), set[int](), [memory.id]
    while waiting:
        id = waiting.pop()
        if id not in seen:
            seen.add(id)
            turns.update(memories[id].source_turns)
            waiting += memories[id].derived_from
    return turns


def in_files(path: Path, text: str) -> bool:
    """Return whether any file of a store contains a text."""
    files = path.parent.glob(f"{path.name}*")
    return any(text.encode() in file.read_bytes() for file in files)


def records_with(client: Any, text: str) -> list[dict[str, Any]]:
    """Return the exported records that contain a text."""
    records: Sequence[dict[str, Any]] = list(client.export())
    return [record for record in records if text in json.dumps(record, ensure_ascii=False)]


class Child:
    """A process that remembers the pending sessions of a store, to be killed."""

    def __init__(self, **options: Any) -> None:
        self._receiver, sender = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(target=_remember, args=(options, sender))
        self._process.start()
        sender.close()

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()

    def watch(self, on_session: Callable[[], None]) -> bool:
        """Call ``on_session`` after each session; return whether the process ended by itself."""
        with self._receiver as receiver:
            try:
                while True:
                    receiver.recv()
                    on_session()
            except (EOFError, ConnectionError):
                self._process.join(60)
        finished = self._process.exitcode == 0
        self._process.close()
        return finished


def _remember(options: dict[str, Any], sender: Connection) -> None:
    with theanine.open(**options) as client:
        client.remember(progress=lambda report: sender.send(report.session))
