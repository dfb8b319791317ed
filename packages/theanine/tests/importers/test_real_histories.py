"""Real data sets, if available: counts of sessions, turns and memories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from theanine.importers import read_histories

DATA = Path(os.environ.get("THEANINE_DATA") or Path(__file__).parents[3] / "shared" / "data")

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason="no real data; set THEANINE_DATA to its folder"),
]

COUNTS = [
    ("locomo/locomo5_dev.json", "locomo", True, (5, 123, 2666, 1128)),
    ("msc/msc_dialogue/session_2/valid.jsonl", "msc", False, (120, 240, 3280, 0)),
    ("msc/msc_dialogue", "msc", False, (120, 360, 4702, 0)),
    ("memories/cc_session_memories_dev.json", "memories", True, (60, 300, 0, 1667)),
    ("memories/msc_session_memories_dev.json", "memories", True, (60, 300, 0, 1883)),
    ("memorybank/en/memory_bank_en.json", "memorybank", False, (15, 149, 1132, 0)),
    ("memorybank/cn/memory_bank_cn.json", "memorybank", False, (15, 150, 1132, 0)),
    ("beam100k", "beam", False, (10, 41, 2506, 0)),
    ("longmemeval/longmemeval_s_one_item.json", "longmemeval", False, (1, 53, 550, 0)),
]


@pytest.mark.parametrize(("path", "name", "memories", "counts"), COUNTS)
def test_real_files_are_read_whole(
    path: str, name: str, memories: bool, counts: tuple[int, int, int, int]
) -> None:
    if not (DATA / path).exists():
        pytest.skip(f"{path} is not among the real data")
    reading = read_histories(DATA / path, memories=memories)
    sessions = [t for h in reading.histories for t in h.transcripts]
    turns = sum(len(t.turns) for t in sessions)
    memory_count = sum(len(t.memories) for t in sessions)
    assert reading.format == name
    assert (len(reading.histories), len(sessions), turns, memory_count) == counts
    assert not reading.rejected
