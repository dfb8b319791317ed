"""The fitted encoder, the models on its vectors, and which stores use it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import numpy as np
import pytest

import theanine
from theanine.embeddings.base import Vectors
from theanine.embeddings.encoder import TOKENS, EncoderEmbedder, fitted_weights
from theanine.embeddings.open import open_embedder
from theanine.embeddings.static import NAME as STATIC
from theanine.errors import EmbedderMismatch, SettingsError
from theanine.retrieval.log_index import AT_ONCE
from theanine.retrieval.relevance import load_model
from theanine.store import open_store
from theanine.types import History, Scope, Transcript, Utterance

MODELS = [("theanine.retrieval", "relevance"), ("theanine.recall", "state_model")]
TOLD = [
    "The removal van has left, the keys are on the hook here in Delft.",
    "Biscuit limps again, the vet says nine is old for a labrador.",
    "Three hundred for the boiler man, and it still rattles.",
    "I scan boarding passes from five in the morning.",
    "Lena can't have nuts, not even traces.",
]
SHARED = "Where are the keys of the removal van?"
ASKED = {
    "Which town do I live in?": 0,
    "How old is my dog?": 1,
    "What did the heating repair cost?": 2,
    "What is my job?": 3,
    "Which snack is safe for my daughter?": 4,
}


@pytest.fixture
def encoder() -> EncoderEmbedder:
    return EncoderEmbedder()


@pytest.mark.parametrize(("package", "name"), MODELS)
def test_other_embedders_have_the_bundled_models(package: str, name: str) -> None:
    assert fitted_weights(STATIC, package, name) == fitted_weights("openai:x", package, name)


@pytest.mark.parametrize(("package", "name"), MODELS)
def test_its_models_are_its_own(encoder: EncoderEmbedder, package: str, name: str) -> None:
    assert fitted_weights(encoder.name, package, name) != fitted_weights(STATIC, package, name)
    assert load_model(encoder.name) is not load_model(STATIC)  # raises for other features


def test_what_answers_a_question_is_nearest(encoder: EncoderEmbedder) -> None:
    async def embed() -> tuple[Vectors, Vectors]:
        return await encoder.embed(TOLD), await encoder.embed_queries([*ASKED])

    told, asked = anyio.run(embed)
    assert (asked @ told.T).argmax(axis=1).tolist() == [*ASKED.values()]


def test_the_same_text_gives_the_same_bits_in_any_batch(encoder: EncoderEmbedder) -> None:
    whole = anyio.run(encoder.embed, TOLD)
    for text, row in zip(TOLD, whole, strict=True):
        np.testing.assert_array_equal(anyio.run(encoder.embed, [text])[0], row)


def test_each_distinct_text_is_encoded_once(encoder: EncoderEmbedder) -> None:
    read: list[str] = []

    class Counting(EncoderEmbedder):
        def vectors(self, model: Any, texts: Sequence[str], *, queries: bool) -> Any:
            read.extend(texts)
            return super().vectors(model, texts, queries=queries)

    texts = [*TOLD, *TOLD[::-1], "", *TOLD] * 4
    vectors = anyio.run(Counting().embed, texts)
    assert sorted(read) == sorted(TOLD)
    np.testing.assert_array_equal(vectors[: len(TOLD)], anyio.run(encoder.embed, TOLD))
    for text, row in zip(texts, vectors, strict=True):
        np.testing.assert_array_equal(row, vectors[texts.index(text)])


def test_clients_use_the_shared_model_at_once(encoder: EncoderEmbedder) -> None:
    texts = [*TOLD, *ASKED] * 3
    whole = anyio.run(encoder.embed, texts)

    def embed(_: int) -> Vectors:
        return anyio.run(EncoderEmbedder().embed, texts)

    with ThreadPoolExecutor(6) as pool:
        for vectors in pool.map(embed, range(12)):
            np.testing.assert_array_equal(vectors, whole)


FORKS = """
    import os
    from threading import Event, Thread
    from theanine.embeddings.encoder import cache_in_process

    loads = []
    load = cache_in_process(lambda: loads.append(1) or len(loads))

    def load_in_child():
        if child := os.fork():
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os._exit(load())

    load()
    done = Event()
    print(load_in_child())
    Thread(target=done.wait).start()
    print(load_in_child(), load())
    done.set()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no forks")
def test_a_fork_loads_a_model_again_that_another_thread_may_have_used() -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", dedent(FORKS)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout.splitlines() == ["1", "2 1"]


def test_a_long_query_counts_by_its_end(encoder: EncoderEmbedder) -> None:
    def vector(text: str) -> Any:
        return anyio.run(encoder.embed_queries, [text])[0]

    end = "and how old is my dog? " * TOKENS
    np.testing.assert_array_equal(vector("boats " * 90 + end), vector("kettles " * 40 + end))


def test_another_version_is_refused(encoder: EncoderEmbedder) -> None:
    assert open_embedder(encoder.name).name == encoder.name
    with pytest.raises(SettingsError, match=f"has {encoder.name}, not encoder:0"):
        open_embedder("encoder:0")


def test_recall_ranks_by_its_vectors(encoder: EncoderEmbedder, tmp_path: Path) -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    path = tmp_path / "m.db"
    for _ in range(2):  # as it was told, and read anew
        with theanine.open(path, embedder="encoder") as client:
            ana = client.user("ana")
            if not ana.turns():
                for day, text in enumerate(TOLD):
                    ana.add(text, at=at + timedelta(days=day))
            for question, place in ASKED.items():
                parts = ana.recall(question).parts
                best = max(parts, key=lambda part: part.relevance or 0)
                assert TOLD[place] in best.text, question


def test_a_new_store_has_its_vectors_and_others_keep_theirs(tmp_path: Path) -> None:
    for name, made_by in (("new.db", "local"), ("words.db", "wordllama")):
        with theanine.open(tmp_path / name, embedder=made_by) as client:
            client.user("ana").add(TOLD[0])
    for name, expected in (("new.db", "encoder:1"), ("words.db", STATIC)):
        with theanine.open(tmp_path / name) as client:
            assert client.embedder_name == client.stored_embedder() == expected
            assert TOLD[0] in client.user("ana").recall(SHARED).text


def test_vectors_of_statements_are_made_when_they_are_compared(tmp_path: Path) -> None:
    path = tmp_path / "m.db"

    async def stored() -> int:
        store = open_store(str(path))
        await store.open()
        try:
            return len((await store.vectors(Scope("ana")))[0])
        finally:
            await store.close()

    def add(text: str, method: str) -> None:
        with theanine.open(path, method=method) as client:
            client.user("ana").add(text)

    add(TOLD[0], "theanine")
    add(TOLD[1], "theanine")
    assert anyio.run(stored) == 0
    with theanine.open(path, method="theanine-paper") as client:
        assert client.stored_embedder() == "encoder:1"
        assert TOLD[0] in client.user("ana").recall(SHARED).text
    assert anyio.run(stored) == 2
    add(TOLD[2], "theanine")
    add(TOLD[3], "theanine-paper")
    assert anyio.run(stored) == 4
    with theanine.open(path, embedder="wordllama") as client, pytest.raises(EmbedderMismatch):
        client.user("ana").recall(SHARED)


def test_an_export_brings_its_embedder(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "words.db", embedder="wordllama") as client:
        client.user("ana").add(TOLD[0])
        records = list(client.export())
    with theanine.open(tmp_path / "new.db") as client:
        assert client.embedder_name == "encoder:1"
        client.restore(records)
        assert client.embedder_name == STATIC
        assert TOLD[0] in client.user("ana").recall(SHARED).text
        client.user("ana").add(TOLD[1])


def test_one_that_is_named_stays(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "words.db", embedder="wordllama") as client:
        client.user("ana").add(TOLD[0])
    with (
        theanine.open(tmp_path / "words.db", embedder="encoder") as client,
        pytest.raises(EmbedderMismatch),
    ):
        client.user("ana").recall("Which town do I live in?")


@pytest.mark.slow
def test_a_long_log_is_searchable_while_the_encoder_reads_it(tmp_path: Path) -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    lines = [f"On day {day} the kettle number {day * 7} whistled." for day in range(AT_ONCE)]
    turns = [
        Utterance(speaker="ana", text=text, role="user", at=at + timedelta(minutes=minute))
        for minute, text in enumerate([*TOLD, *lines])
    ]
    history = History(name="ana", transcripts=[Transcript(key="a", turns=turns, at=at)])
    with theanine.open(tmp_path / "m.db") as client:
        ana = client.user("ana")
        ana.log(history)
        assert TOLD[0] in ana.recall(SHARED).text
        by_words = _relevances(ana)
        patience = time.monotonic() + 120
        while _relevances(ana) == by_words:
            assert time.monotonic() < patience
            time.sleep(0.5)
        by_encoder = _relevances(ana)  # all of them: it may have ended between two questions
    with theanine.open(tmp_path / "m.db") as client:  # as it was stored, or read again
        client.user("ana").remember()
        assert _relevances(client.user("ana")) == by_encoder


def _relevances(ana: theanine.UserMemory) -> list[float | None]:
    return [ana.recall(question).best_relevance for question in ASKED]
