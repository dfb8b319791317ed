"""A memory's day is the day where it was said, whatever the day in UTC."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest

import theanine
from theanine.methods.registry import names

WEST = timezone(timedelta(hours=-8))
EVENING = datetime(2024, 5, 8, 20, tzinfo=WEST)  # the 9th in UTC
SAID = ["My dog Rex died today, and I cried.", "I moved to Paris in 2019 and I love boats."]


@pytest.mark.slow
@pytest.mark.parametrize("method", names())
def test_every_method_keeps_the_speakers_own_day(tmp_path: Path, method: str) -> None:
    with theanine.open(str(tmp_path / "m.db"), method=method, embedder="hash:64") as agent:
        with agent.user("ana").session() as talk:
            for minute, text in enumerate(SAID):
                talk.hear(text, at=EVENING + timedelta(minutes=minute))
        memories = agent.user("ana").memories()
        assert all(memory.at.utcoffset() == timedelta(hours=-8) for memory in memories)
        assert {memory.at.date() for memory in memories} <= {date(2024, 5, 8)}
        assert bool(memories) == (method not in ("no-memory", "full-history"))
        recollection = agent.user("ana").recall("What happened to the dog?")
        assert "9 May" not in recollection.text
        assert ("8 May" in recollection.text) == (method != "no-memory")
