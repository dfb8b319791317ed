"""What one reply states twice is stored once, supported by the turns of both, in every method."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.testing import ScriptedServer, answer, by_step
from theanine.types import LOCAL_MODEL, History, Transcript, Utterance

AT = datetime(2024, 5, 8, 12, tzinfo=UTC)
TEXT, AGAIN = "Ana sold her boat.", "Ana sold  her Boat."
NOTES: list[dict[str, Any]] = [{"text": TEXT, "turns": [1]}, {"text": AGAIN, "turns": [2]}]
RECORD: dict[str, Any] = {"related": [], "context": "Ana told it.", "knowledge": TEXT}
MEMO = {"topic": "Boats", "summary": TEXT}
REPLIES: dict[str, Any] = {
    "summarize": {"statements": [{**note, "speakers": ["Ana"]} for note in NOTES]},
    "update-summary": {"sentences": NOTES, "outdated": []},
    "rewrite-summary": {"sentences": NOTES},
    "session-memory": {"events": NOTES, "portrait": [], "relation": []},
    "compress": {
        "events": [{"text": TEXT, "notes": [1]}, {"text": AGAIN, "notes": [1]}],
        "portrait": [],
        "relation": [],
    },
    "bank-day": {"events": NOTES, "traits": []},
    "conditional-decide": {"worth": [1, 2]},
    "conditional-record": {"records": [{**RECORD, "turn": 1}, {**RECORD, "turn": 2}]},
    "memos": {"memos": [{**MEMO, "first": 1, "last": 1}, {**MEMO, "first": 2, "last": 2}]},
}


@pytest.mark.parametrize(
    ("method", "config"),
    [
        ("theanine", {}),
        ("memory-retrieval", {}),
        ("memory-update", {}),
        ("recursive-summary", {}),
        ("recursive-summary", {"rewrite": True}),
        ("summary-buffer", {"buffer": 0}),
        ("comedy", {}),
        ("memorybank", {}),
        ("conditional", {}),
        ("memochat", {}),
    ],
)
def test_a_repeated_statement_is_stored_once(
    tmp_path: Path, method: str, config: dict[str, Any]
) -> None:
    turns = [
        Utterance(text=text, speaker="Ana", at=AT)
        for text in ("I sold my boat last week.", "Yes, the old boat is sold now.")
    ]
    replies = {step: json.dumps(reply) for step, reply in REPLIES.items()}
    with (
        ScriptedServer(by_step(replies, answer)) as server,
        theanine.open(
            str(tmp_path / "m.db"),
            method=method,
            model="openai:scripted",
            base_url=server.base_url,
            config=config,
        ) as client,
    ):
        ana = client.user("ana")
        ana.log(History(name="ana", transcripts=[Transcript(key="s", turns=turns, at=AT)]))
        assert [report.failure for report in ana.remember()] == [None]
        made = [memory for memory in ana.memories() if memory.made_by != LOCAL_MODEL]
        stored = [
            (memory.kind, line.casefold()) for memory in made for line in memory.text.splitlines()
        ]
        assert len(stored) == len(set(stored)) > 0
        assert (1, 2) in [memory.source_turns for memory in made]
