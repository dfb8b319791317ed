"""The share of a conversation's prompts that a provider's prompt cache can keep."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "packages" / "theanine-server" / "tests"))

from figures import Figure, median
from server.conftest import running
from server.providers import Answer, Provider

import theanine
from theanine.client.reply_options import ReplyArguments
from theanine.demo import HARBOUR
from theanine.importers import read_histories
from theanine.testing import ScriptedServer, by_step, step_of
from theanine.tokenizer import encode
from theanine.types import Message, Transcript
from theanine_server import ServerOptions

EXCHANGES = 20
LONG = 100
"""Exchanges after which a thread is long."""
WINDOW = 20
ANSWER = (
    "I see. Tell me more about it, and what you would like me to do next, if there is anything."
)
SYSTEM = "You are a concierge. " + "Be brief, warm and exact; ask before you book anything. " * 20
"""About 300 tokens, as applications have."""


def caching() -> list[Figure]:
    """The bundled conversation's last 20 user turns as one session, after all before it."""
    (history,) = read_histories(HARBOUR).histories
    said = [turn.text for each in history.transcripts for turn in each.turns if turn.role == "user"]
    past, asked = history.transcripts[:-3], said[-EXCHANGES:]
    share = {
        name: _cacheable(_requests(method, past, asked, options, window))
        for name, method, options, window in (
            ("without memory", "no-memory", ReplyArguments(), None),
            ("with memory", "theanine", ReplyArguments(), None),
            (
                "with memory, system prompt of 300 tokens",
                "theanine",
                ReplyArguments(system=SYSTEM),
                None,
            ),
            (
                "with memory, over a transcript",
                "theanine",
                ReplyArguments(prompt="transcript"),
                None,
            ),
            ("without memory, window of 20", "no-memory", ReplyArguments(), WINDOW),
            ("with memory, window of 20", "theanine", ReplyArguments(), WINDOW),
        )
    }
    figures = [
        Figure(
            name=f"cacheable share of {EXCHANGES} replies {name}",
            value=100 * cached / total,
            unit="%",
            note=f"{cached:,} of {total:,} prompt tokens",
        )
        for name, (cached, total) in share.items()
    ]
    shared = _shared(_proxied(past, said * (2 * LONG // len(said) + 1))[LONG:])
    return [
        *figures,
        Figure(
            name=f"shared prefix of a proxied prompt with the one before, after {LONG} exchanges",
            value=100 * median(shared),
            unit="%",
            goal=90,
            at_least=True,
            note=f"from {100 * min(shared):.0f} to {100 * max(shared):.0f} %",
        ),
    ]


def _proxied(past: Sequence[Transcript], asked: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the requests that the proxy sends in a thread whose application sends all of it."""
    with (
        Provider(lambda request: Answer(ANSWER)) as provider,
        TemporaryDirectory() as folder,
    ):
        location = str(Path(folder) / "memory.db")
        with theanine.open(location) as client:
            client.user("ana").log(theanine.History(name="ana", transcripts=past))
            client.remember()
        options = ServerOptions(
            theanine.OpenOptions(location),
            dev=True,
            openai_url=provider.url,
            memory_deadline=60,  # not the subject: every prompt has what was recalled
        )
        messages: list[Message] = []
        with running(options) as service, service.client("") as http:
            for text in asked[: 2 * LONG]:
                messages.append({"role": "user", "content": text})
                http.post(
                    "/v1/chat/completions",
                    headers={"Theanine-User": "ana"},
                    json={"model": "m", "messages": messages},
                ).raise_for_status()
                messages.append({"role": "assistant", "content": ANSWER})
        return [json.loads(body) for body in provider.bodies]


def _requests(
    method: str,
    past: Sequence[Transcript],
    asked: Sequence[str],
    options: ReplyArguments,
    window: int | None,
) -> list[Mapping[str, Any]]:
    with (
        ScriptedServer(by_step({"respond": ANSWER})) as server,
        TemporaryDirectory() as folder,
        theanine.open(
            str(Path(folder) / "memory.db"),
            method=method,
            model="openai:scripted",
            base_url=server.base_url,
        ) as client,
    ):
        ana = client.user("ana")
        ana.log(theanine.History(name="ana", transcripts=past))
        client.remember()
        session = ana.session(window=window)
        for text in asked:
            session.hear(text)
            session.reply(**options)
        return [request for request in server.requests if step_of(request) == "respond"]


def _cacheable(requests: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Return the tokens that each request shares with the one before, and all tokens.

    Counted by the bundled tokenizer; a role counts as text of its own.
    """
    prompts = _tokens(requests)
    cached = sum(_common_prefix(*pair) for pair in pairwise(prompts))
    return cached, sum(map(len, prompts))


def _shared(requests: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the share of each prompt with which the next one begins."""
    return [
        _common_prefix(earlier, later) / len(earlier)
        for earlier, later in pairwise(_tokens(requests))
    ]


def _tokens(requests: Sequence[Mapping[str, Any]]) -> list[Sequence[int]]:
    return [
        encode("\n".join(f"<{each['role']}>\n{each['content']}" for each in request["messages"]))
        for request in requests
    ]


def _common_prefix(earlier: Sequence[int], later: Sequence[int]) -> int:
    pairs = zip(earlier, later, strict=False)
    same = (position for position, (one, other) in enumerate(pairs) if one != other)
    return next(same, min(len(earlier), len(later)))
