"""Which of the related memories a new one is linked to, without a model."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import theanine
from theanine import History, TheaninePaperConfig, Transcript, Utterance
from theanine.methods.theanine.local_relate import READ

FEES = (290, 305, 320, 335, 350)
TEXTS = tuple(f"The mooring fee of my boat Galeb is {fee} euros a month." for fee in FEES)
AT = datetime(2024, 3, 1, tzinfo=UTC)


def _incoming(path: Path, link_to: Literal["best", "recent", "all"]) -> Counter[int]:
    history = History(
        name="ana",
        transcripts=[
            Transcript(key=str(n), at=at, turns=[Utterance(text=text, speaker="Ana", at=at)])
            for n, text in enumerate(TEXTS)
            if (at := AT + timedelta(days=7 * n))
        ],
    )
    config = TheaninePaperConfig(link_to=link_to, retrieval="hybrid")
    with theanine.open(str(path / f"{link_to}.db"), config=config) as client:
        ana = client.user("ana")
        ana.log(history)
        ana.remember()
        assert len(ana.memories()) == len(TEXTS)
        return Counter(link.newer for link in ana.links())


def test_a_memory_is_linked_to_at_most_the_two_that_promise_most(tmp_path: Path) -> None:
    every, best = _incoming(tmp_path, "all"), _incoming(tmp_path, "best")
    assert max(best.values()) == READ
    assert best == every


def test_one_link_from_each_component(tmp_path: Path) -> None:
    every, recent = _incoming(tmp_path, "all"), _incoming(tmp_path, "recent")
    assert recent.keys() == every.keys()
    assert sum(recent.values()) == len(TEXTS) - 1
