"""Models that run in this process: loaded when needed, off the loop, their failures translated."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from theanine.embeddings.on_device import OnDevice, OnDeviceEmbedder, OnDeviceReranker
from theanine.embeddings.on_disk import Source
from theanine.embeddings.open import open_embedder, open_reranker
from theanine.errors import ModelRejected, ModelUnavailable, SettingsError

pytestmark = pytest.mark.anyio
HERE = Source("toy:here", "here", Path("here"))
HUB = Source("toy:hub", "hub", None)


class _OwnError(Exception):
    """An error of the toy's library."""


def toy(source: Source = HERE, **what: object) -> OnDevice[object]:
    """Make a model whose loading raises the error ``load``, if given."""

    def load() -> object:
        loads.append(threading.get_ident())
        if isinstance(error := what.get("load"), Exception):
            raise error
        return object()

    return OnDevice(source, load, lambda: (_OwnError,))


loads: list[int] = []


@pytest.fixture(autouse=True)
def unloaded() -> None:
    loads.clear()


async def test_the_model_is_loaded_once_in_a_worker_thread() -> None:
    model = toy()
    assert loads == []
    threads: list[int] = []

    async def use() -> None:
        threads.append(await model.run(lambda _: threading.get_ident()))

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(use)
    assert len(loads) == 1
    assert threading.get_ident() not in {*loads, *threads}


async def test_only_one_thread_at_a_time_uses_the_model() -> None:
    model, inside, most = toy(), [0], [0]

    def use(_: object) -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        threading.Event().wait(0.005)
        inside[0] -= 1

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(model.run, use)
    assert most == [1]


@pytest.mark.parametrize("error", [OSError("torn\nin two"), ValueError("no"), _OwnError("own")])
async def test_an_error_names_the_model_on_one_line(error: Exception) -> None:
    with pytest.raises(ModelRejected, match=r"toy:here can't be loaded from here: ") as rejected:
        await toy(load=error).run(lambda _: None)
    with pytest.raises(ModelUnavailable, match="toy:hub is not on this machine") as unavailable:
        await toy(HUB, load=error).run(lambda _: None)
    for raised in (rejected, unavailable):
        assert "\n" not in str(raised.value)
        assert raised.value.__cause__ is error

    def fail(_: object) -> None:
        raise error

    with pytest.raises(ModelRejected, match="toy:here failed"):
        await toy().run(fail)


async def test_loading_is_tried_again_after_a_failure() -> None:
    what: dict[str, object] = {"load": OSError("away")}
    model = toy(HUB, **what)
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            await model.run(lambda _: None)
    assert len(loads) == 2


class _Broken(OnDeviceEmbedder[object]):
    def __init__(self, rows: NDArray[np.float32]) -> None:
        super().__init__(toy())
        self._rows = rows

    def vectors(self, model: object, texts: Sequence[str], *, queries: bool) -> NDArray[np.float32]:
        return self._rows


class _BrokenReranker(OnDeviceReranker[object]):
    def __init__(self, scores: NDArray[np.float32]) -> None:
        super().__init__(toy())
        self._scores = scores

    def scores(self, model: object, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._scores


@pytest.mark.parametrize(
    "rows",
    [np.zeros((2, 3)), np.zeros(3), np.full((1, 3), np.nan), np.full((1, 3), np.inf)],
    ids=["too many", "flat", "nan", "infinite"],
)
async def test_unusable_vectors_are_rejected(rows: NDArray[np.float32]) -> None:
    with pytest.raises(ModelRejected, match="Is it an embedder"):
        await _Broken(rows).embed(["one"])


@pytest.mark.parametrize(
    "scores",
    [np.zeros(3), np.zeros((2, 1)), np.array([0, np.nan])],
    ids=["too many", "two to a text", "nan"],
)
async def test_unusable_scores_are_rejected(scores: NDArray[np.float32]) -> None:
    with pytest.raises(ModelRejected, match="Is it a reranker"):
        await _BrokenReranker(scores).score("question", ["one", "two"])


@pytest.mark.parametrize("name", ["", "overlap:", "openai:gpt-4o-mini", "ms-marco"])
def test_an_unknown_reranker_names_the_valid_ones(name: str) -> None:
    with pytest.raises(SettingsError, match="cross-encoder:NAME"):
        open_reranker(name)


@pytest.mark.parametrize("kind", ["sentence-transformers", "fastembed"])
def test_a_missing_folder_is_reported_at_once(kind: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=f"{kind}:{tmp_path}/none names no model"):
        open_embedder(f"{kind}:{tmp_path}/none")


ABSENT = """
import sys
for package in ("sentence_transformers", "fastembed"):
    sys.modules[package] = None  # as if it were not installed
from theanine.errors import MissingExtra
from theanine.embeddings.open import open_embedder, open_reranker
for build, name in [
    (open_embedder, "sentence-transformers:a/b"), (open_reranker, "cross-encoder:a/b"),
    (open_embedder, "fastembed:a/b"), (open_reranker, "fastembed:a/b"),
]:
    try: build(name)
    except MissingExtra as error: print(error)
"""


def test_a_missing_library_names_its_extra() -> None:
    shown = _python(ABSENT).stdout.splitlines()
    assert [line.partition(" (in a checkout: 'packages/")[0] for line in shown] == [
        "the embedder sentence-transformers:a/b needs an optional part: "
        "pip install 'theanine[sentence-transformers]'",
        "the reranker cross-encoder:a/b needs an optional part: "
        "pip install 'theanine[sentence-transformers]'",
        "the embedder fastembed:a/b needs an optional part: pip install 'theanine[fastembed]'",
        "the reranker fastembed:a/b needs an optional part: pip install 'theanine[fastembed]'",
    ]


def _python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
