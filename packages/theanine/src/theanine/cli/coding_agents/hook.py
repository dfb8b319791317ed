"""``theanine hook``: recall when a session starts and before a prompt, record what was said."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Annotated

import typer

from theanine.cli.coding_agents.events import Event, read_event
from theanine.cli.coding_agents.guard import log
from theanine.cli.detached import start_detached
from theanine.cli.memory_options import MemoryOptions
from theanine.cli.options import expand_options
from theanine.cli.resident.address import start as start_resident
from theanine.client import UserMemory
from theanine.errors import NotFound
from theanine.fences import REMEMBERED_RULES, remembered_block
from theanine.retrieval.budget import fit_prefix
from theanine.types import History

BUDGET = 400
"""Tokens that are added to a prompt."""
START_BUDGET = 300
"""Tokens that are added when a session starts."""
NEWEST = 20
"""Memories of the project that a session may start with."""
MAX_QUERY = 4_000
"""Characters of a prompt that memory is asked for."""
MAX_CONTEXT = 9_000
"""Characters of an answer: hosts cut what is longer than 10,000."""
FLUSH_LIMIT = 3.0
"""Seconds that the host may take to write its last message into the transcript."""
RECORD = "--record"


@expand_options
def hook(
    options: MemoryOptions,
    budget: Annotated[
        int, typer.Option(min=1, metavar="TOKENS", help="Maximum tokens to add to a prompt.")
    ] = BUDGET,
    profile: Annotated[
        bool,
        typer.Option(
            "--profile/--no-profile", help="Begin sessions with what is known of the user."
        ),
    ] = True,
    record: Annotated[bool, typer.Option(RECORD, hidden=True)] = False,
) -> None:
    """Recall and record for a coding agent, whose hook this is.

    `theanine install` sets it up. It reads the event on standard input, as Claude Code, Codex and
    Cursor write it, and writes what matters from earlier sessions, fenced as data, for the model.
    What is said is recorded by another process, which the agent doesn't wait for. It ends with 0
    within seconds, whatever happens; ~/.local/state/theanine/hook.log has what went wrong.

    \b
    theanine hook --user ana < event.json
    """
    text = sys.stdin.read()
    event = read_event(text)
    if event is None:
        return
    if record:
        with options.open() as client:
            record_event(client.user(options.user_name, agent=options.agent), event)
        log.info("%s: recorded", event.name)
        return
    if event.is_recorded:
        start_detached([*sys.argv[1:], RECORD], text)  # the agent doesn't wait for it
    if event.moment in ("start", "prompt"):
        try:
            with options.open(create=False) as client:
                user = client.user(options.user_name, agent=options.agent)
                context = find_context(user, event, budget, profile=profile)
        except NotFound:  # nothing was ever recorded
            context = ""
        log.info("%s: added %d characters", event.name, len(context))
        if context:
            print(event.answer(context))
    start_resident()  # for the next hooks


def find_context(user: UserMemory, event: Event, budget: int, *, profile: bool = True) -> str:
    """Return what a session, or the answer to a prompt, should begin with; empty for nothing.

    With ``profile``, a session begins with what is known of the user, rules first.
    """
    if event.moment == "start":
        if event.is_resumed:
            return ""
        known = [user.profile().text] if profile else []
        return _fenced([*filter(None, known), *_newest(user, event.project)])
    query = event.words[-MAX_QUERY:].strip()
    if not query or query.startswith("/"):
        return ""
    found = user.recall(query, budget=budget)
    # The model has what was said in its own session.
    return _fenced(
        [
            part.text
            for part in found.parts
            if not part.source_turns
            or any(turn.metadata.get("conversation") != event.session for turn in part.source_turns)
        ]
    )


def _newest(user: UserMemory, project: str) -> list[str]:
    """Return the pinned memories, and the newest ones of a project that are in effect."""
    gone = {mark.memory for mark in user.marks()}
    found = user.memories(pinned=True, newest_first=True, limit=NEWEST)
    if project:
        found += user.memories(where={"project": project}, newest_first=True, limit=NEWEST)
    texts = dict.fromkeys(memory.text for memory in found if memory.id not in gone)
    return fit_prefix(zip(texts, texts, strict=True), START_BUDGET)


def _fenced(texts: Sequence[str]) -> str:
    """Return texts, fenced as data, as many as a host takes."""
    block = remembered_block(texts, REMEMBERED_RULES)
    return block if len(block) <= MAX_CONTEXT else _fenced(texts[:-1])


def record_event(user: UserMemory, event: Event) -> None:
    """Log what was said; remember it when a session ends, and what is left when one starts."""
    if event.is_cursors:
        _record_words(user, event)
    elif event.moment != "start" and event.transcript is not None:
        for history in _read_transcript(event):
            user.log(history)
    if event.moment in ("start", "end"):
        user.remember()


def _record_words(user: UserMemory, event: Event) -> None:
    """Log the words that the event itself has."""
    metadata = {"source": "cursor", "conversation": event.session}
    if event.project:
        metadata["project"] = event.project
    session = user.session(event.session, metadata=metadata)
    if event.moment == "end":
        session.end(remember="later")
    elif event.words.strip() and event.moment in ("prompt", "reply"):
        log_words = session.hear if event.moment == "prompt" else session.say
        log_words(event.words)


def _read_transcript(event: Event) -> Sequence[History]:
    """Return the transcript, once the host has written its last reply into it."""
    from theanine.importers import read_histories  # what recalls needs none of it

    assert event.transcript is not None
    deadline = time.monotonic() + FLUSH_LIMIT
    while True:
        if not event.transcript.exists():  # a host may have removed it already
            return ()
        read = read_histories(event.transcript, keep_going=True)
        said = {turn.text for h in read.histories for each in h.transcripts for turn in each.turns}
        if not event.words or event.words.strip() in said or time.monotonic() > deadline:
            if read.rejected:
                log.warning("%d lines of the transcript could not be read", len(read.rejected))
            return read.histories
        time.sleep(0.2)
