"""A view that grew with the store finds what one that was read anew finds, bit for bit."""

from __future__ import annotations

from pathlib import Path

import anyio
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from theanine.demo import HARBOUR, load_questions
from theanine.importers import read_histories
from theanine.retrieval.growing_array import GrowingArray
from theanine.types import History


@pytest.mark.slow
@given(st.lists(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)))))
def test_rows_are_all_that_came_in_order(batches: list[list[tuple[int, int]]]) -> None:
    rows: GrowingArray[np.int64] = GrowingArray(np.int64)
    for batch in batches:
        rows.extend(batch)
    flat = [row for batch in batches for row in batch]
    assert len(rows) == len(flat)
    assert [tuple(row) for row in rows.values] == flat


@pytest.mark.slow
@pytest.mark.parametrize("method", ["theanine", "utterance"])
def test_grown_and_read_anew_find_the_same(tmp_path: Path, method: str) -> None:
    path = str(tmp_path / "m.db")
    history = read_histories(HARBOUR).histories[0]
    asked = [question.question for question in load_questions()]
    with theanine.open(path, method=method) as grown:
        for transcript in history.transcripts:
            grown.user("ana").log(History(name="ana", transcripts=[transcript]))
            grown.user("ana").remember()
            for question in asked:
                with theanine.open(path, method=method) as fresh:
                    assert fresh.user("ana").recall(question) == grown.user("ana").recall(question)


@pytest.mark.slow
@pytest.mark.anyio
async def test_recalls_side_by_side_take_in_what_is_new_once(tmp_path: Path) -> None:
    path = str(tmp_path / "m.db")
    history = read_histories(HARBOUR).histories[0]
    async with theanine.aopen(path) as reader, theanine.aopen(path) as writer:
        for transcript in history.transcripts:
            await writer.user("ana").log(History(name="ana", transcripts=[transcript]))
            await writer.user("ana").remember()
            found: list[theanine.Recollection] = []

            async def recall(found: list[theanine.Recollection] = found) -> None:
                found.append(await reader.user("ana").recall("Why does Ana fear ships?"))

            async with anyio.create_task_group() as tasks:
                for _ in range(4):
                    tasks.start_soon(recall)
            for one in found:
                assert one == found[0]
                numbers = [memory.id for memory in one.memories]
                assert len(set(numbers)) == len(numbers)
