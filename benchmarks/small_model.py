"""Let a small local model remember, recall and reply, and print how much of it can be used.

Without `--base-url` it is SmolLM2-135M behind llama.cpp (`make extras`): weak, so a hard test of
bounds, schemas and repairs. What it says is not judged.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import theanine
from theanine import Limits
from theanine.demo import HARBOUR
from theanine.errors import ModelError
from theanine.importers import read_histories
from theanine.llm.base import (
    DEFAULT_REQUEST,
    ChatModel,
    Message,
    RawReply,
    RequestOptions,
)
from theanine.llm.open import open_chat
from theanine.llm.parsing import InvalidReply, find_object
from theanine.types import Transcript
from theanine_bench.targets.models import ModelWrapper

IMPORTED = 8
"""Turns of the session that is imported before the conversation."""
EXCHANGES = 5
"""Exchanges of a session of the conversation."""
BUDGET = 200
"""Tokens of a recollection; docs/models.md recommends it and these settings to small models."""
SETTINGS = {"associates": 1}
GOAL = 0.95
PATIENT = Limits(concurrency=1, timeout=240, patience=480, retries=1)
"""For a model on one thread of a busy machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request to the model; ``valid`` is whether a JSON reply is JSON, None for a text."""

    valid: bool | None
    prompt: int
    tokens: int
    bound: int
    seconds: float


class RecordingModel(ModelWrapper):
    """A chat model that keeps a record of its calls."""

    def __init__(self, inner: ChatModel) -> None:
        super().__init__(inner)
        self.calls: list[Call] = []

    async def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        options: RequestOptions = DEFAULT_REQUEST,
    ) -> RawReply:
        started = time.perf_counter()
        reply = await super().complete(messages, schema, options)
        bound = self.settings["max_tokens"] or (options.bounds.tokens if options.bounds else 0)
        self.calls.append(
            Call(
                valid=None if schema is None else _is_json(reply.text),
                prompt=reply.input_tokens,
                tokens=reply.output_tokens,
                bound=bound,
                seconds=time.perf_counter() - started,
            )
        )
        return reply


def _is_json(text: str) -> bool:
    try:
        find_object(text)
    except InvalidReply:
        return False
    return True


@contextmanager
def small_model_server() -> Generator[str]:
    """Yield the base URL of SmolLM2 in another process."""
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("small_model_server.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdin
    assert server.stdout
    try:
        url = next((line for line in server.stdout if line.startswith("http")), "")
        if not url:
            sys.exit("the server of the small model did not start: make extras")
        yield url.strip()
    finally:
        server.stdin.close()
        server.wait(timeout=30)


def trial(replying: RecordingModel, remembering: RecordingModel, turns: int) -> dict[str, Any]:
    """Import a session, hold a conversation of ``turns`` turns, remember it; return the figures."""
    first, *others = read_histories(HARBOUR).histories[0].transcripts
    said = [turn.text for one in others for turn in one.turns if turn.role == "user"]
    replies, usable, failures = 0, 0, list[str]()
    started = time.perf_counter()
    with (
        TemporaryDirectory() as folder,
        theanine.open(
            f"{folder}/m.db",
            model=replying,
            memory_model=remembering,
            limits=PATIENT,
            config=SETTINGS,
        ) as client,
    ):
        ana = client.user("ana")
        ana.log(_beginning(first))
        reports = ana.remember()
        for at in range(0, turns // 2, EXCHANGES):
            session = ana.session()
            for text in said[at : min(at + EXCHANGES, turns // 2)]:
                session.hear(text)
                replies += 1
                try:
                    usable += bool(session.reply(budget=BUDGET).text.strip())
                except ModelError as error:
                    failures.append(str(error))
            session.end(remember=False)
            reports += ana.remember()
        links = len(ana.links())
    calls = replying.calls + remembering.calls
    documents = [call.valid for call in calls if call.valid is not None]
    return {
        "turns": 2 * replies,
        "replies": replies,
        "usable_replies": usable,
        "json_calls": len(documents),
        "valid_json": sum(documents),
        "sessions": len(reports),
        "remembered": sum(report.failure is None for report in reports),
        "memories": sum(report.memories for report in reports),
        "links": links,
        "calls": len(calls),
        "within_bound": sum(call.tokens <= call.bound for call in calls),
        "slowest_call": max(call.seconds for call in calls),
        "seconds": time.perf_counter() - started,
        "prompt_tokens": sum(call.prompt for call in calls),
        "output_tokens": sum(call.tokens for call in calls),
        "failures": failures + [report.failure for report in reports if report.failure],
    }


def _beginning(transcript: Transcript) -> theanine.History:
    return theanine.History(
        name="ana", transcripts=(replace(transcript, turns=tuple(transcript.turns[:IMPORTED])),)
    )


def missed(figures: Mapping[str, Any]) -> list[str]:
    """Return what falls short of its goal."""
    goals = {
        "usable replies": figures["usable_replies"] >= GOAL * figures["replies"],
        "valid JSON": figures["valid_json"] >= GOAL * figures["json_calls"],
        "calls within their bound": figures["within_bound"] == figures["calls"],
    }
    return [name for name, reached in goals.items() if not reached]


def show(figures: Mapping[str, Any]) -> None:
    """Print the figures beside their goals."""
    rows = [
        ("usable replies", "usable_replies", "replies", "≥ 95 %"),
        ("valid JSON, of all replies that should be", "valid_json", "json_calls", "≥ 95 %"),
        ("sessions remembered (the next run tries again)", "remembered", "sessions", ""),
        ("calls within their bound of tokens", "within_bound", "calls", "100 %"),
    ]
    for label, part, whole, goal in rows:
        share = 100 * figures[part] / figures[whole]
        print(f"{label:<47}{figures[part]:>4} of {figures[whole]:<4}{share:>6.1f} %   {goal}")
    print(
        f"{figures['turns']} turns, {figures['memories']} memories, {figures['links']} links in "
        f"{figures['seconds']:.0f} s; {figures['calls']} calls of {figures['prompt_tokens']:,} "
        f"prompt and {figures['output_tokens']:,} output tokens, the slowest in "
        f"{figures['slowest_call']:.1f} s"
    )
    for failure in figures["failures"]:
        print(f"failed: {failure}")


def main() -> None:
    """Run the trial; exit with 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=50, help="turns of the conversation")
    parser.add_argument("--model", default="smollm2-135m", help="the model's name at its server")
    parser.add_argument("--base-url", help="an OpenAI-compatible server (default: SmolLM2, here)")
    parser.add_argument("--max-tokens", type=int, default=60, help="bound of a reply")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()

    def run(url: str) -> dict[str, Any]:
        replying = open_chat(
            options.model, base_url=url, settings={"max_tokens": options.max_tokens}
        )
        remembering = open_chat(options.model, base_url=url)
        assert replying
        assert remembering
        return trial(RecordingModel(replying), RecordingModel(remembering), options.turns)

    if options.base_url:
        figures = run(options.base_url)
    else:
        with small_model_server() as url:
            figures = run(url)
    show(figures)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    sys.exit(bool(missed(figures)))


if __name__ == "__main__":
    main()
