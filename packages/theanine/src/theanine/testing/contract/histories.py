"""Test data and helpers of the contract."""

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
ASKED = [question.question for question in load_questions()]
SESSIONS = 4
IN_FLIGHT = 8
"""Calls under way at once, at most: so many may be lost with the process that made them."""

if sys.platform == "win32":
    _CONTEXT = multiprocessing.get_context("spawn")
else:  # one process imports everything, once, and children branch off from it
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
    """The bundled conversation's first sessions, in which both sides speak."""
    whole = read_histories(HARBOUR).histories[0]
    return replace(whole, transcripts=whole.transcripts[:SESSIONS])


def single(*texts: str, key: str = "one", day: int = 0) -> History:
    """One session of a user's turns."""
    at = START + timedelta(days=day)
    turns = [
        Utterance(text=text, speaker="Ana", at=at + timedelta(minutes=i))
        for i, text in enumerate(texts)
    ]
    return History(name="ana", transcripts=[Transcript(key=key, turns=turns, at=at)])


SMALL: Mapping[str, History] = {
    "empty": History(name="ana", transcripts=[]),
    "greeting": single("Hello."),
    "one turn": single("I am terrified of ships."),
    "nothing to say": single("？", "🛶" * 50, "…"),
}
"""Histories of next to nothing, by name."""


def learn(agent: Any, history: History, user: str = "ana") -> None:
    """Log and remember a history; nothing may fail."""
    agent.user(user).log(history)
    settle(agent, user)


def settle(agent: Any, user: str = "ana") -> None:
    """Remember all pending sessions; nothing may fail."""
    failures = [report.failure for report in agent.user(user).remember() if report.failure]
    assert failures == [], failures
    assert agent.user(user).pending() == []


def everything(agent: Any, user: str = "ana") -> tuple[Any, ...]:
    """Return all memories, links and marks, and the recollections of some questions."""
    memory = agent.user(user)
    recollections = [memory.recall(question) for question in ASKED]
    return (memory.memories(), memory.links(), memory.marks(), recollections)


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


def in_files(path: Path, words: str) -> bool:
    """Return whether a text is in any file of a store."""
    files = path.parent.glob(f"{path.name}*")
    return any(words.encode() in file.read_bytes() for file in files)


def records_of(agent: Any, words: str) -> list[dict[str, Any]]:
    """Return the exported records that contain a text."""
    records: Sequence[dict[str, Any]] = list(agent.export())
    return [record for record in records if words in json.dumps(record, ensure_ascii=False)]


class Child:
    """A process that remembers the pending sessions of a store, to be killed."""

    def __init__(self, **options: Any) -> None:
        self._told, telling = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(target=_remember, args=(options, telling))
        self._process.start()
        telling.close()

    def kill(self) -> None:
        """Kill the process, without any cleanup."""
        self._process.kill()

    def watch(self, seen: Callable[[], None]) -> bool:
        """Call ``seen`` after each session; return whether the process ended by itself."""
        with self._told as told:
            try:
                while True:
                    told.recv()
                    seen()
            except (EOFError, ConnectionError):
                self._process.join(60)
        lived = self._process.exitcode == 0
        self._process.close()
        return lived


def _remember(options: dict[str, Any], telling: Connection) -> None:
    with theanine.open(**options) as agent:
        agent.remember(progress=lambda report: telling.send(report.session))
