"""MT-Bench+ (MemoChat): turns with topic ids, and a closing question about one or two topics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from theanine.conversation import Utterance

START = datetime(2000, 1, 1, tzinfo=UTC)
_TOPIC = re.compile(r"[a-z]+-\d+")


def read_mtbench(
    records: list[Any],
) -> Iterator[tuple[str, str, list[Utterance], str, list[str]]]:
    """Name, category, turns, the closing question, and the keys of the turns on its topics."""
    for record in records:
        said: list[Utterance] = []
        gold: list[str] = []
        rows = [row for row in record["conversations"] if str(row["value"]).strip()]
        asked = rows[-1]
        topics = set(_TOPIC.findall(str(asked["turn-info"])))
        for place, row in enumerate(rows[:-1], 1):
            person = row["from"] == "human"
            said.append(
                Utterance(
                    text=str(row["value"]),
                    speaker="user" if person else "assistant",
                    role="user" if person else "agent",
                    at=START + timedelta(minutes=place),
                    key=f"t{place}",
                )
            )
            if topics & set(_TOPIC.findall(str(row.get("turn-info") or ""))):
                gold.append(f"t{place}")
        yield str(record["id"]), str(record.get("type", "")), said, str(asked["value"]), gold
