"""One suite over every embedder."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path

import anyio
import numpy as np
import pytest

from support.tiny_models import library, onnx_embedder, sentence_transformer
from theanine.embeddings.base import Embedder, QueryEmbedder
from theanine.embeddings.on_device import OnDeviceEmbedder
from theanine.embeddings.open import open_embedder
from theanine.llm.base import Closable
from theanine.testing import HashEmbedder, ScriptedServer

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def _remote(_: Path) -> AsyncGenerator[Embedder]:
    with ScriptedServer() as server:
        embedder = open_embedder("openai:text-embedding-3-small", base_url=server.base_url)
        yield embedder
        assert isinstance(embedder, Closable)
        await embedder.close()


def _sentence_transformers(folder: Path) -> AbstractAsyncContextManager[Embedder]:
    prompts = {"query": "query: ", "document": "passage: "}
    model = sentence_transformer(folder, prompts=prompts)
    return nullcontext(open_embedder(f"sentence-transformers:{model}"))


def _fastembed(folder: Path) -> AbstractAsyncContextManager[Embedder]:
    library("fastembed")
    return nullcontext(open_embedder(f"fastembed:{onnx_embedder(folder)}"))


EMBEDDERS: dict[str, Callable[[Path], AbstractAsyncContextManager[Embedder]]] = {
    "built-in": lambda _: nullcontext(open_embedder("wordllama")),
    "hash": lambda _: nullcontext(HashEmbedder(48)),
    "remote": _remote,
    "sentence-transformers": _sentence_transformers,
    "fastembed": _fastembed,
    "encoder": lambda _: nullcontext(open_embedder("encoder")),
}
MANY = [f"On day {number} we talked about boats." for number in range(700)]


@pytest.fixture(params=EMBEDDERS)
async def embedder(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Embedder]:
    async with EMBEDDERS[request.param](tmp_path / "model") as embedder:
        yield embedder


@pytest.mark.slow
async def test_rows_are_float32_of_unit_norm(embedder: Embedder) -> None:
    rows = await embedder.embed(["a storm at sea", "a quiet evening", "a storm at sea"])
    assert rows.shape[0] == 3
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(rows[0], rows[2])
    assert not np.array_equal(rows[0], rows[1])


async def test_no_texts_give_an_empty_matrix(embedder: Embedder) -> None:
    width = (await embedder.embed(["a"])).shape[1]
    assert (await embedder.embed([])).shape == (0, width)


async def test_the_dimension_is_known_before_the_first_text(embedder: Embedder) -> None:
    none = await embedder.embed([])
    assert none.shape == (0, (await embedder.embed(["a"])).shape[1])
    assert none.dtype == np.float32


async def test_a_big_batch_keeps_the_order(embedder: Embedder) -> None:
    batch = await embedder.embed(MANY)
    assert len(batch) == len(MANY)
    for index in (0, 255, 256, 512, 699):
        alone = await embedder.embed([MANY[index]])
        np.testing.assert_allclose(batch[index], alone[0], atol=1e-6)


async def test_it_is_deterministic(embedder: Embedder) -> None:
    np.testing.assert_array_equal(await embedder.embed(MANY[:5]), await embedder.embed(MANY[:5]))


@pytest.mark.parametrize(
    "text",
    [
        "日本語の文",
        "مرحبا بالعالم",
        "Привет",
        "🙂👩‍👩‍👧🏳️‍🌈",
        "a\x00b",
        "lone \ud800 surrogate",
        "x " * 500_000,
    ],
    ids=["japanese", "arabic", "russian", "emoji", "nul", "surrogate", "1 MB"],
)
async def test_any_text_gives_a_unit_row(embedder: Embedder, text: str) -> None:
    (row,) = await embedder.embed([text])
    assert np.isfinite(row).all()
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


async def test_an_empty_text_is_a_row_of_zeros(embedder: Embedder) -> None:
    rows = await embedder.embed(["storm", "", "sea"])
    assert not rows[1].any()
    np.testing.assert_allclose(rows[[0, 2]], await embedder.embed(["storm", "sea"]), atol=1e-6)


async def test_the_name_identifies_the_vectors(embedder: Embedder) -> None:
    assert ":" in embedder.name


async def test_queries_have_the_same_dimension(embedder: Embedder) -> None:
    if not isinstance(embedder, QueryEmbedder):
        pytest.skip("questions are embedded as all texts are")
    passages = await embedder.embed(["a storm at sea", ""])
    questions = await embedder.embed_queries(["a storm at sea", ""])
    assert questions.shape == passages.shape
    assert questions.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(questions, axis=1), [1, 0], atol=1e-5)
    assert (await embedder.embed_queries([])).shape == (0, passages.shape[1])


async def test_the_end_of_a_long_question_matters_to_local_models(embedder: Embedder) -> None:
    if not isinstance(embedder, OnDeviceEmbedder):
        pytest.skip("it is asked with the whole text, up to its own limit")
    talk = "day " * 5_000
    first, second = await embedder.embed_queries([f"{talk} storm", f"{talk} quiet"])
    assert not np.allclose(first, second, atol=1e-6)


async def test_concurrent_calls(embedder: Embedder) -> None:
    vectors: dict[int, list[float]] = {}

    async def ask(number: int) -> None:
        vectors[number] = (await embedder.embed([MANY[number]]))[0].tolist()

    async with anyio.create_task_group() as tasks:
        for number in range(12):
            tasks.start_soon(partial(ask, number))
    rows = await embedder.embed(MANY[:12])
    np.testing.assert_allclose([vectors[number] for number in range(12)], rows, atol=1e-6)
