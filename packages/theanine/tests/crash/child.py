"""The process that is killed: what it was told is safe, it writes down at once as a JSON line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import theanine
from theanine.demo import HARBOUR
from theanine.importers import read_histories
from theanine.types import History

Tell = Callable[..., None]

# Loaded once, in the process that all children are forked from.
import_module("theanine.llm.pydantic_ai")

USER = "ana"
SPOKEN_SESSIONS = 4
SPOKEN_TURNS = 6


def work(kind: str, store: str, base_url: str, acknowledged: str) -> None:
    """Work until all is done, or until the end comes."""
    with theanine.open(store, model="openai:scripted", base_url=base_url) as agent:
        told = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

        def tell(*texts: str) -> None:
            os.write(told, "".join(json.dumps(text) + "\n" for text in texts).encode())

        if kind == "remember":  # all is logged before the clock runs
            _log(agent, tell)
        tell("ready")
        if kind == "hear":
            _speak(agent, tell, Path(acknowledged))
        if kind == "import":
            _log(agent, tell)
        agent.user(USER).remember()


def _speak(agent: theanine.Client, tell: Tell, acknowledged: Path) -> None:
    """Sessions of a few turns each; a killed run goes on with the session after."""
    words = [
        turn.text for t in read_histories(HARBOUR).histories[0].transcripts for turn in t.turns
    ]
    agent.user(USER).remember()
    done = acknowledged.read_text("utf-8").count("session ends")
    for number in range(done, SPOKEN_SESSIONS):
        talk = agent.user(USER).session()
        for turn in range(SPOKEN_TURNS):
            text = f"{words[number * SPOKEN_TURNS + turn]} ({os.getpid()}, {number}.{turn})"
            talk.hear(text)
            tell(text)
        talk.end()
        tell("session ends")


def _log(agent: theanine.Client, tell: Tell) -> None:
    """Every session of the bundled conversation, one by one."""
    for transcript in read_histories(HARBOUR).histories[0].transcripts:
        agent.user(History(name=USER, transcripts=[transcript]).name).log(
            History(name=USER, transcripts=[transcript])
        )
        tell(*(turn.text for turn in transcript.turns))
