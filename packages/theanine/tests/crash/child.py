"""The process that is killed. It reports each acknowledged turn at once, as a JSON line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import theanine
from theanine.demo import HARBOUR
from theanine.errors import NotFound
from theanine.importers import read_histories
from theanine.types import History

Report = Callable[..., None]

# Imported once, in the process that all children are forked from.
import_module("theanine.llm.pydantic_ai")

USER = "ana"
SPOKEN_SESSIONS = 4
SPOKEN_TURNS = 6


def work(kind: str, store: str, base_url: str, acknowledged: str) -> None:
    """Run one kind of work to its end, unless killed; each line is flushed as it is written."""
    with theanine.open(store, model="openai:scripted", base_url=base_url) as client:
        user = client.user(USER)
        file = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

        def report(*texts: str) -> None:
            os.write(file, "".join(json.dumps(text) + "\n" for text in texts).encode())

        if kind == "remember":  # log everything before the time to the kill starts
            _log(user, report)
        report("ready")
        if kind in ("hear", "beside"):
            guest = client.user("guest") if kind == "beside" else None
            _speak(user, report, Path(acknowledged), guest)
        if kind == "import":
            _log(user, report)
        user.remember()


def visit(store: str, stop: str) -> None:
    """Open a store, say something, forget it and close it, again and again until a file exists."""
    while not Path(stop).exists():
        with theanine.open(store, remembering="later") as client:
            _come_and_go(client.user("visitor"))


def _come_and_go(user: theanine.UserMemory) -> None:
    with suppress(NotFound):  # what was left by a kill
        user.forget_all()
    user.session("door").hear("Hello and goodbye.")
    user.forget_all()


def _speak(
    user: theanine.UserMemory,
    report: Report,
    acknowledged: Path,
    guest: theanine.UserMemory | None,
) -> None:
    """Run sessions of a few turns; after a kill, continue with the next session.

    A guest comes between the turns and is forgotten.
    """
    texts = [
        turn.text for t in read_histories(HARBOUR).histories[0].transcripts for turn in t.turns
    ]
    user.remember()
    done = acknowledged.read_text("utf-8").count("session ends")
    for number in range(done, SPOKEN_SESSIONS):
        # Every other one has a key: the next process continues it where this one was killed.
        session = user.session(f"thread-{number}" if number % 2 else None)
        for turn in range(SPOKEN_TURNS):
            text = f"{texts[number * SPOKEN_TURNS + turn]} ({os.getpid()}, {number}.{turn})"
            session.hear(text)
            report(text)
            if guest is not None:
                _come_and_go(guest)
        session.end()
        report("session ends")


def _log(user: theanine.UserMemory, report: Report) -> None:
    """Import the sessions of the bundled conversation one by one."""
    for transcript in read_histories(HARBOUR).histories[0].transcripts:
        user.log(History(name=USER, transcripts=[transcript]))
        report(*(turn.text for turn in transcript.turns))
