"""A store changes to an on-device embedder and back; a model that fails to load loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import theanine
from support.running import Terminal
from support.tiny_models import library, onnx_embedder, sentence_transformer
from theanine.errors import EmbedderMismatch, RememberingFailed

pytestmark = pytest.mark.model

START = datetime(2026, 3, 1, tzinfo=UTC)
TEXTS = ("A storm took the roof of our boat house.", "The evening was quiet after it.")
QUESTION = "What did the storm take?"


def _fastembed(folder: Path) -> str:
    library("fastembed")
    return f"fastembed:{onnx_embedder(folder)}"


MODELS: dict[str, Callable[[Path], str]] = {
    "sentence-transformers": lambda folder: f"sentence-transformers:{sentence_transformer(folder)}",
    "fastembed": _fastembed,
    "encoder": lambda _: "encoder",
}


@pytest.fixture(params=MODELS)
def name(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return MODELS[request.param](tmp_path / "tiny")


def _open(folder: Path, embedder: str) -> theanine.Client:
    return theanine.open(
        str(folder / "memory.db"), method="utterance", embedder=embedder, clock=lambda: START
    )


def _tell(client: theanine.Client) -> None:
    with client.user("ana").session() as session:
        for number, line in enumerate(TEXTS):
            session.hear(line, at=START + timedelta(minutes=number))


def _scores(folder: Path, embedder: str) -> list[tuple[int, float]]:
    with _open(folder, embedder) as client:
        parts = client.user("ana").recall(QUESTION).parts
    return [(part.memories[0].id, part.score) for part in parts]


def test_a_store_can_change_its_embedder_and_back(name: str, run: Terminal, tmp_path: Path) -> None:
    with _open(tmp_path, "wordllama") as client:
        _tell(client)
    before = _scores(tmp_path, "wordllama")
    assert len(before) == len(TEXTS)

    moved = run("reembed", "--embedder", name)
    assert "vectors made by" in moved.out
    assert len(_scores(tmp_path, name)) == len(TEXTS)
    with pytest.raises(EmbedderMismatch, match="theanine reembed"):
        _scores(tmp_path, "wordllama")
    kind, _, model = name.partition(":")
    if model:  # the default is no other than that of the store, if it is bundled
        output = " ".join(run("doctor", fine=False).out.split())
        stored = f"--embedder {kind}:…/{Path(model).name}"
        assert f"{stored}, or run `theanine reembed`" in output
    assert run("doctor", "--embedder", name).code == 0

    run("reembed", "--embedder", "wordllama")
    assert _scores(tmp_path, "wordllama") == before


def test_remembering_and_recall(name: str, tmp_path: Path) -> None:
    with _open(tmp_path, name) as client:
        _tell(client)
        assert client.embedder_name.startswith(name.partition(":")[0])
        assert "roof of our boat house" in client.user("ana").recall(QUESTION).text
    assert _scores(tmp_path, name) == _scores(tmp_path, name)


@pytest.mark.parametrize("kind", ["sentence-transformers", "fastembed"])
def test_a_model_that_fails_to_load_loses_nothing(kind: str, tmp_path: Path) -> None:
    library("torch" if kind == "sentence-transformers" else kind)
    (tmp_path / "empty").mkdir()
    with _open(tmp_path, f"{kind}:{tmp_path / 'empty'}") as client:
        with pytest.raises(RememberingFailed, match=r"safe in the log.*can't be loaded from"):
            _tell(client)
        assert [turn.full_text for turn in client.user("ana").turns()] == list(TEXTS)
    with _open(tmp_path, "local") as client:
        [report] = client.user("ana").remember()
        assert (report.memories, report.failure) == (len(TEXTS), None)
