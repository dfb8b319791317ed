"""Remembering: whole histories with the local steps, and 20-turn sessions with a 200 ms model."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from figures import Figure

import theanine
from theanine import RememberReport, TheaninePaperConfig
from theanine.demo import HARBOUR
from theanine.importers import read_histories
from theanine.methods.theanine.config import Relating
from theanine.testing import ScriptedServer, answer
from theanine.types import History, Transcript

DATA = "THEANINE_DATA"
LATENCY = 0.2
TURNS = 20
SESSIONS = 5
WRITTEN = 8
CHAIN: Mapping[Relating, int] = {"session": 2, "memory": 2, "pairs": 2}
"""Calls that wait for each other: summarize, then relate (side by side)."""


def histories() -> list[Figure]:
    """Turns a second over LoCoMo's conversations, log and commit included."""
    name = "LoCoMo remembered with local steps"
    file = Path(os.environ.get(DATA, "")) / "locomo" / "locomo5_dev.json"
    if not os.environ.get(DATA) or not file.is_file():
        note = f"set {DATA} to a folder with locomo/locomo5_dev.json"
        return [Figure(name=name, value=None, unit="turns/s", goal=500, at_least=True, note=note)]
    found = read_histories(file).histories
    with TemporaryDirectory() as folder, theanine.open(f"{folder}/m.db") as agent:
        started = time.perf_counter()
        turns = sum(agent.user(history.name).log(history).turns_new for history in found)
        reports = agent.remember()
        seconds = time.perf_counter() - started
    memories = sum(report.memories for report in reports)
    note = f"{turns} turns, {memories} memories in {seconds:.1f} s"
    return [
        Figure(name=name, value=turns / seconds, unit="turns/s", goal=500, at_least=True, note=note)
    ]


def sessions() -> list[Figure]:
    """The bundled conversation cut into sessions of 20 turns, in all three ways of relating."""
    figures: list[Figure] = []
    for relating, chain in CHAIN.items():
        seconds, reports = _remembered(relating)
        last = reports[-1]
        tokens = [report.usage.input_tokens for report in reports]
        mine = relating == "session"
        bound = 2 * chain * LATENCY
        name = f"a 20-turn session by {relating}"
        figures += [
            Figure(name=f"{name}, wall", value=seconds[-1], unit="s", goal=bound if mine else None,
                   peer="0.36" if mine else "",
                   note=f"{last.memories} memories, {last.pairs} pairs"),
            Figure(name=f"{name}, model calls", value=last.usage.calls, unit="calls",
                   goal=2 if mine else None),
            Figure(name=f"{name}, prompt tokens (largest of {SESSIONS})", value=max(tokens),
                   unit="tokens", goal=3_000 if mine else None),
            Figure(name=f"{SESSIONS} such sessions by {relating}, prompt tokens",
                   value=sum(tokens), unit="tokens", goal=12_000 if mine else None,
                   peer="14,100" if mine else ""),
        ]  # fmt: skip
    return figures


def _summarize(request: Mapping[str, Any]) -> str:
    """Eight statements, evenly over the session; a model writes six on average, eleven at most."""
    statements = json.loads(answer(request))["statements"]
    kept = [statements[i * len(statements) // WRITTEN] for i in range(WRITTEN)]
    return json.dumps({"statements": kept})


def _remembered(relating: Relating) -> tuple[list[float], list[RememberReport]]:
    seconds, reports = list[float](), list[RememberReport]()
    with (
        ScriptedServer({"summarize": _summarize}, latency=LATENCY) as server,
        TemporaryDirectory() as folder,
        theanine.open(
            f"{folder}/m.db",
            model="openai:scripted",
            base_url=server.base_url,
            config=TheaninePaperConfig(
                relating=relating, link_to="best", retrieval="hybrid", temperature=None
            ),
        ) as agent,
    ):
        for transcript in _cut(read_histories(HARBOUR).histories[0].transcripts):
            agent.user("ana").log(History(name="ana", transcripts=[transcript]))
            started = time.perf_counter()
            reports += agent.user("ana").remember()
            seconds.append(time.perf_counter() - started)
    return seconds, reports


def _cut(transcripts: Sequence[Transcript]) -> list[Transcript]:
    turns = [turn for transcript in transcripts for turn in transcript.turns]
    pieces = [turns[start : start + TURNS] for start in range(0, TURNS * SESSIONS, TURNS)]
    return [
        Transcript(key=f"part-{number}", turns=piece, at=piece[0].at)
        for number, piece in enumerate(pieces)
    ]
