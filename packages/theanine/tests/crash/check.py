"""Invariants of a store after a kill and at the end. Each check yields its violations."""

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
_INCONSISTENCIES = {
    "memories of a session that is not remembered": """
        SELECT count(*) FROM memory m WHERE NOT EXISTS (SELECT 1 FROM remembering r
        WHERE r.scope = m.scope AND r.session = m.session AND r.method = m.method
        AND r.remembered_at IS NOT NULL)""",
    "vectors of a missing memory": """
        SELECT count(*) FROM vector v WHERE NOT EXISTS (SELECT 1 FROM memory m
        WHERE m.scope = v.scope AND m.id = v.memory)""",
    "links to a missing memory": """
        SELECT count(*) FROM link l WHERE NOT EXISTS (SELECT 1 FROM memory m
        WHERE m.scope = l.scope AND m.id = l.newer) OR NOT EXISTS (SELECT 1 FROM memory m
        WHERE m.scope = l.scope AND m.id = l.older)""",
    "duplicate memories": """
        SELECT count(*) FROM (SELECT 1 FROM memory GROUP BY scope, method, session, text, at
        HAVING count(*) > 1)""",
}


def check_consistency(store: Path) -> Iterator[str]:
    """Check invariants that hold at any time."""
    if not store.exists():
        return
    with closing(sqlite3.connect(store)) as db:
        if (message := db.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
            yield f"the database is damaged: {message}"
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'memory'").fetchone():
            return
        for what, query in _INCONSISTENCIES.items():
            if count := db.execute(query).fetchone()[0]:
                yield f"{count} {what}"


def load_texts(store: Path) -> list[str]:
    """Return the logged turns' texts in order."""
    with closing(sqlite3.connect(store)) as db:
        return [row[0] for row in db.execute("SELECT text FROM turn ORDER BY id")]


def check_acknowledged(acknowledged: Sequence[str], store: Path) -> Iterator[str]:
    """Check that every acknowledged turn is stored once and in order."""
    stored = load_texts(store)
    counts = Counter(stored)
    expected = list(dict.fromkeys(acknowledged))
    for text in expected:
        if counts[text] != 1:
            yield f"an acknowledged turn is stored {counts[text]} times: {text!r}"
    index = {text: i for i, text in enumerate(stored)}
    order = [index[text] for text in expected if text in index]
    if order != sorted(order):
        yield "acknowledged turns are not in their order"


def load_journaled_prompts(store: Path) -> set[str]:
    """Return the prompts of usable journal entries."""
    if not store.exists():
        return set()
    with closing(sqlite3.connect(store)) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'journal'").fetchone():
            return set()
        rows = db.execute("SELECT prompt FROM journal WHERE NOT rejected AND prompt <> ''")
        return {json.loads(row[0])["messages"][-1]["text"] for row in rows}


def check_not_repeated(requests: Iterable[Any], journaled: set[str]) -> Iterator[str]:
    """Check that no request repeats a prompt that the journal has a reply to."""
    for body in requests:
        prompt = body["messages"][-1]["content"]
        if any(prompt.startswith(start) for start in journaled):
            yield f"repeated although its reply was journaled: {prompt[:60]!r} …"


def check_journaled(requests: Iterable[Any], journaled: set[str], limit: int) -> Iterator[str]:
    """Check that all replies were journaled but for ``limit`` requests in flight at the kill."""
    prompts = [body["messages"][-1]["content"] for body in requests]
    lost = [p for p in prompts if not any(p.startswith(start) for start in journaled)]
    if len(lost) > limit:
        yield f"{len(lost)} replies were not journaled; at most {limit} were in flight"


def check_same_as_uninterrupted(store: Path, other: Path, base_url: str) -> Iterator[str]:
    """Check that an uninterrupted run on the same log makes the same memories and links."""
    with theanine.open(str(store)) as client:
        user = client.user(USER)
        actual = _load_graph(user)
        transcripts = [
            Transcript(
                key=session.key,
                turns=user.turns(session=session.id),
                at=session.started_at,
                dated=session.dated,
            )
            for session in user.sessions()
        ]
        pending = len(client.pending())
    if pending:
        yield f"{pending} sessions are still pending"
    with theanine.open(str(other), model="openai:scripted", base_url=base_url) as client:
        user = client.user(USER)
        user.log(History(name=USER, transcripts=transcripts))
        client.remember()
        expected = _load_graph(user)
    for what, mine, theirs in zip(("memories", "links"), actual, expected, strict=True):
        if mine != theirs:
            yield f"{len(mine)} {what} differ from the {len(theirs)} of an uninterrupted run"


def _load_graph(user: theanine.UserMemory) -> tuple[list[Any], list[Any]]:
    memories = user.memories()
    keys = {memory.id: (memory.text, memory.at) for memory in memories}
    nodes = [(m.text, m.at, len(m.source_turns)) for m in memories]
    links = [(keys[k.older], keys[k.newer], k.relation) for k in user.links()]
    return sorted(nodes), sorted(links, key=str)
