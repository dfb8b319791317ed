"""One suite over every reranker."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import numpy as np
import pytest

from support.tiny_models import cross_encoder, library, onnx_reranker
from theanine.embeddings.base import Reranker
from theanine.embeddings.open import open_reranker

pytestmark = pytest.mark.anyio


def _fastembed(folder: Path) -> Reranker:
    library("fastembed")
    return open_reranker(f"fastembed:{onnx_reranker(folder)}")


RERANKERS: dict[str, Callable[[Path], Reranker]] = {
    "overlap": lambda _: open_reranker("overlap"),
    "cross-encoder": lambda folder: open_reranker(f"cross-encoder:{cross_encoder(folder)}"),
    "fastembed": _fastembed,
}
QUESTION = "storm on day 7"
TEXTS = ["a storm at sea", "a quiet evening", "", "the boat of day 7", "a storm at sea"]
MANY = [f"On day {number} we talked about boats." for number in range(150)]


@pytest.fixture(params=RERANKERS)
def reranker(request: pytest.FixtureRequest, tmp_path: Path) -> Reranker:
    return RERANKERS[request.param](tmp_path / "model")


async def test_one_score_per_text(reranker: Reranker) -> None:
    scores = await reranker.score(QUESTION, TEXTS)
    assert scores.shape == (len(TEXTS),)
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()
    assert scores[0] == pytest.approx(scores[4], abs=1e-6)
    assert scores[0] != pytest.approx(scores[1], abs=1e-6)


async def test_no_texts_give_no_scores(reranker: Reranker) -> None:
    none = await reranker.score(QUESTION, [])
    assert none.shape == (0,)
    assert none.dtype == np.float32


async def test_the_score_depends_on_the_question(reranker: Reranker) -> None:
    first = await reranker.score("a storm at sea", TEXTS)
    second = await reranker.score("a quiet evening", TEXTS)
    assert not np.allclose(first, second, atol=1e-6)


async def test_the_end_of_a_long_question_matters(reranker: Reranker) -> None:
    talk = "day " * 5_000
    first = await reranker.score(f"{talk} storm at sea", TEXTS)
    second = await reranker.score(f"{talk} quiet evening", TEXTS)
    assert not np.allclose(first, second, atol=1e-6)


async def test_it_is_deterministic(reranker: Reranker) -> None:
    np.testing.assert_array_equal(
        await reranker.score(QUESTION, TEXTS), await reranker.score(QUESTION, TEXTS)
    )


async def test_a_score_does_not_depend_on_other_texts(reranker: Reranker) -> None:
    scores = await reranker.score(QUESTION, MANY)
    backwards = await reranker.score(QUESTION, MANY[::-1])
    np.testing.assert_allclose(scores, backwards[::-1], atol=1e-5)
    for index in (0, 63, 64, 149):
        alone = await reranker.score(QUESTION, [MANY[index]])
        assert scores[index] == pytest.approx(alone[0], abs=1e-5)


@pytest.mark.parametrize(
    "text",
    ["", " ", "日本語の文", "🙂👩‍👩‍👧🏳️‍🌈", "a\x00b", "lone \ud800 surrogate", "x " * 500_000],
    ids=["empty", "blank", "japanese", "emoji", "nul", "surrogate", "1 MB"],
)
async def test_any_text_can_be_scored(reranker: Reranker, text: str) -> None:
    assert np.isfinite(await reranker.score(QUESTION, ["storm", text])).all()
    assert np.isfinite(await reranker.score(text, ["storm", text])).all()


async def test_concurrent_calls(reranker: Reranker) -> None:
    scores_by_number: dict[int, float] = {}

    async def ask(number: int) -> None:
        scores_by_number[number] = float((await reranker.score(QUESTION, [MANY[number]]))[0])

    async with anyio.create_task_group() as tasks:
        for number in range(12):
            tasks.start_soon(partial(ask, number))
    together = await reranker.score(QUESTION, MANY[:12])
    np.testing.assert_allclose(
        [scores_by_number[number] for number in range(12)], together, atol=1e-5
    )


async def test_the_name(reranker: Reranker) -> None:
    assert reranker.name
