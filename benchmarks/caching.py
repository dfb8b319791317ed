"""The share of a conversation's prompts that a provider's prompt cache can keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from figures import Figure

import theanine
from theanine.client.reply_options import ReplyArguments
from theanine.demo import HARBOUR
from theanine.importers import read_histories
from theanine.testing import ScriptedServer, by_step, step_of
from theanine.tokenizer import encode
from theanine.types import Transcript

EXCHANGES = 20
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
    return [
        Figure(
            name=f"cacheable share of {EXCHANGES} replies {name}",
            value=100 * cached / total,
            unit="%",
            note=f"{cached:,} of {total:,} prompt tokens",
        )
        for name, (cached, total) in share.items()
    ]


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
    prompts = [
        encode("\n".join(f"<{each['role']}>\n{each['content']}" for each in request["messages"]))
        for request in requests
    ]
    cached = sum(_common_prefix(*pair) for pair in pairwise(prompts))
    return cached, sum(map(len, prompts))


def _common_prefix(earlier: Sequence[int], later: Sequence[int]) -> int:
    pairs = zip(earlier, later, strict=False)
    same = (position for position, (one, other) in enumerate(pairs) if one != other)
    return next(same, min(len(earlier), len(later)))
