"""What must hold of a store after a kill, and after all is done. Violations come as sentences."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import theanine
from theanine.types import History, Transcript

USER = "ana"
_HALF_SEEN = {
    "memories of a session that is not remembered": """
        SELECT count(*) FROM memory m WHERE NOT EXISTS (SELECT 1 FROM remembering r
        WHERE r.scope = m.scope AND r.session = m.session AND r.method = m.method
        AND r.remembered_at IS NOT NULL)""",
    "memories without a vector": """
        SELECT count(*) FROM memory m WHERE NOT EXISTS (SELECT 1 FROM vector v
        WHERE v.scope = m.scope AND v.memory = m.id)""",
    "links to a memory that is not there": """
        SELECT count(*) FROM link l WHERE NOT EXISTS (SELECT 1 FROM memory m
        WHERE m.scope = l.scope AND m.id = l.newer) OR NOT EXISTS (SELECT 1 FROM memory m
        WHERE m.scope = l.scope AND m.id = l.older)""",
    "memories that are there twice": """
        SELECT count(*) FROM (SELECT 1 FROM memory GROUP BY scope, method, session, text, at
        HAVING count(*) > 1)""",
}


def after_a_kill(store: Path) -> Iterator[str]:
    """Holds at any moment."""
    if not store.exists():
        return
    with closing(sqlite3.connect(store)) as db:
        if (found := db.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
            yield f"the database is damaged: {found}"
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'memory'").fetchone():
            return
        for what, query in _HALF_SEEN.items():
            if count := db.execute(query).fetchone()[0]:
                yield f"{count} {what}"


def turns_of(store: Path) -> list[str]:
    """The words in the log, in order."""
    with closing(sqlite3.connect(store)) as db:
        return [row[0] for row in db.execute("SELECT text FROM turn ORDER BY id")]


def acknowledged_turns(acknowledged: Sequence[str], store: Path) -> Iterator[str]:
    """Every turn that was acknowledged is there, once, in order."""
    kept = turns_of(store)
    counts = Counter(kept)
    told = list(dict.fromkeys(acknowledged))
    for text in told:
        if counts[text] != 1:
            yield f"an acknowledged turn is there {counts[text]} times: {text!r}"
    place = {text: i for i, text in enumerate(kept)}
    order = [place[text] for text in told if text in place]
    if order != sorted(order):
        yield "acknowledged turns are not in the order in which they were said"


def journalled(store: Path) -> set[str]:
    """The prompts whose replies are kept."""
    if not store.exists():
        return set()
    with closing(sqlite3.connect(store)) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'journal'").fetchone():
            return set()
        rows = db.execute("SELECT prompt FROM journal WHERE NOT rejected AND prompt <> ''")
        return {json.loads(row[0])["messages"][-1]["text"] for row in rows}


def paid_again(requests: Iterable[Any], kept: set[str]) -> Iterator[str]:
    """Requests that ask what the journal had an answer to."""
    for body in requests:
        prompt = body["messages"][-1]["content"]
        if any(prompt.startswith(known) for known in kept):
            yield f"asked again although its reply was journalled: {prompt[:60]!r} …"


def not_journalled(requests: Iterable[Any], kept: set[str], most: int) -> Iterator[str]:
    """Of a run's requests only those in flight when it was killed may lack a kept reply."""
    prompts = [body["messages"][-1]["content"] for body in requests]
    lost = [p for p in prompts if not any(p.startswith(known) for known in kept)]
    if len(lost) > most:
        yield f"{len(lost)} replies were not journalled, at most {most} can have been in flight"


def as_if_never_killed(store: Path, other: Path, base_url: str) -> Iterator[str]:
    """The same memories and links as a run without a kill makes of the same log."""
    with theanine.open(str(store)) as agent:
        made = _graph(agent)
        transcripts = [
            Transcript(
                key=session.key,
                turns=agent.user(USER).turns(session=session.id),
                at=session.started_at,
                dated=session.dated,
            )
            for session in agent.user(USER).sessions()
        ]
        waiting = len(agent.pending())
    if waiting:
        yield f"{waiting} sessions still wait"
    with theanine.open(str(other), model="openai:scripted", base_url=base_url) as agent:
        agent.user(History(name=USER, transcripts=transcripts).name).log(
            History(name=USER, transcripts=transcripts)
        )
        agent.remember()
        expected = _graph(agent)
    for what, mine, theirs in zip(("memories", "links"), made, expected, strict=True):
        if mine != theirs:
            yield f"{len(mine)} {what} differ from the {len(theirs)} of a run without a kill"


def _graph(agent: theanine.Client) -> tuple[list[Any], list[Any]]:
    memories = agent.user(USER).memories()
    words = {memory.id: (memory.text, memory.at) for memory in memories}
    sources = [(m.text, m.at, len(m.source_turns)) for m in memories]
    links = [(words[k.older], words[k.newer], k.relation) for k in agent.user(USER).links()]
    return sorted(sources), sorted(links, key=str)
