"""What sentence-transformers and fastembed do with models of their own, made on the spot."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from support.running import Terminal
from support.tiny_models import (
    cross_encoder,
    library,
    onnx_embedder,
    onnx_reranker,
    sentence_transformer,
)
from theanine.embeddings.base import Embedder, QueryEmbedder, Vectors
from theanine.embeddings.open import open_embedder, open_reranker
from theanine.errors import ModelRejected, SettingsError

pytestmark = [pytest.mark.anyio, pytest.mark.model]
PROMPTS = {"query": "query: ", "document": "passage: "}
TEXTS = ["a storm at sea", "a quiet evening"]


async def questions(embedder: Embedder, texts: list[str]) -> Vectors:
    """The texts embedded as questions."""
    assert isinstance(embedder, QueryEmbedder)
    return await embedder.embed_queries(texts)


@pytest.fixture(params=["sentence-transformers", "fastembed"])
def kind(request: pytest.FixtureRequest) -> str:
    wanted: str = request.param
    library("torch" if wanted == "sentence-transformers" else wanted)
    return wanted


def embedder_of(kind: str, folder: Path, prompts: dict[str, str]) -> Embedder:
    """A tiny embedder of a library, with prompts or none."""
    if kind == "sentence-transformers":
        return open_embedder(f"{kind}:{sentence_transformer(folder, prompts=prompts)}")
    config = {"prompts": prompts}
    onnx_embedder(folder).joinpath("config_sentence_transformers.json").write_text(
        json.dumps(config)
    )
    return open_embedder(f"{kind}:{folder}")


async def test_saved_prompts_go_before_questions_and_passages(kind: str, tmp_path: Path) -> None:
    plain = embedder_of(kind, tmp_path / "plain", {})
    prompted = embedder_of(kind, tmp_path / "prompted", PROMPTS)
    for asked, prefix in ((True, "query: "), (False, "passage: ")):
        embed = questions if asked else type(prompted).embed
        with_prefix = await plain.embed([prefix + text for text in TEXTS])
        np.testing.assert_allclose(await embed(prompted, TEXTS), with_prefix, atol=1e-6)
    np.testing.assert_allclose(await questions(plain, TEXTS), await plain.embed(TEXTS), atol=1e-6)


async def test_the_inner_product_of_unnormalized_vectors_ranks(tmp_path: Path) -> None:
    library("sentence_transformers")
    folder = sentence_transformer(tmp_path)
    texts = ["a storm", "a storm at sea, and the boat", "a quiet evening", "z"]
    embedder = open_embedder(f"sentence-transformers-dot:{folder}")
    vectors, asked = await embedder.embed(texts), await questions(embedder, ["boat", "storm"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    model = library("sentence_transformers").SentenceTransformer(str(folder))
    products = model.encode(["boat", "storm"]) @ model.encode(texts).T
    scale = np.linalg.norm(model.encode(["boat", "storm"]), axis=1, keepdims=True) * 64
    np.testing.assert_allclose(asked @ vectors.T, products / scale, atol=1e-6)
    assert embedder.name.startswith("sentence-transformers-dot:")


async def test_the_euclidean_distance_of_unnormalized_vectors_ranks(tmp_path: Path) -> None:
    library("sentence_transformers")
    folder = sentence_transformer(tmp_path)
    texts = ["a storm", "a storm at sea, and the boat", "a quiet evening", "z"]
    embedder = open_embedder(f"sentence-transformers-euclidean:{folder}")
    vectors, asked = await embedder.embed(texts), await questions(embedder, ["boat", "storm"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    model = library("sentence_transformers").SentenceTransformer(str(folder))
    rows, queries = model.encode(texts) / 64, model.encode(["boat", "storm"]) / 64
    squares = ((queries[:, None] - rows[None]) ** 2).sum(axis=2)
    norms = (queries**2).sum(axis=1, keepdims=True)
    expected = (norms - squares) / 2 / np.sqrt(norms + 1) / np.sqrt(2)
    np.testing.assert_allclose(asked @ vectors.T, expected, atol=1e-6)
    assert (np.argsort(-(asked @ vectors.T)) == np.argsort(squares)).all()


async def test_two_models_differ_in_name_and_vectors(kind: str, tmp_path: Path) -> None:
    make = sentence_transformer if kind == "sentence-transformers" else onnx_embedder
    one, other = (
        open_embedder(f"{kind}:{make(tmp_path / str(seed) / 'model', seed=seed)}")
        for seed in (1, 2)
    )
    assert one.name != other.name
    assert one.name.startswith(f"{kind}:model@")
    assert not np.allclose(await one.embed(TEXTS), await other.embed(TEXTS), atol=1e-3)


async def test_an_empty_folder_and_torn_weights_are_named(kind: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    model = (
        sentence_transformer(tmp_path / "st")
        if kind == "sentence-transformers"
        else onnx_embedder(tmp_path / "onnx")
    )
    weights = model / ("model.safetensors" if kind == "sentence-transformers" else "model.onnx")
    weights.write_bytes(weights.read_bytes()[:100])
    for folder in (tmp_path / "empty", model):
        with pytest.raises(ModelRejected, match=f"can't be loaded from {folder}: ") as raised:
            await open_embedder(f"{kind}:{folder}").embed(["a"])
        assert "\n" not in str(raised.value)


async def test_a_classifier_is_no_reranker(tmp_path: Path) -> None:
    classifier = open_reranker(f"cross-encoder:{cross_encoder(tmp_path / 'm', labels=3)}")
    with pytest.raises(ModelRejected, match="one score for each pair"):
        await classifier.score("a", ["b", "c"])


async def test_the_one_with_the_questions_words_is_rated_best(tmp_path: Path) -> None:
    library("fastembed")
    reranker = open_reranker(f"fastembed:{onnx_reranker(tmp_path / 'm')}")
    ratings = await reranker.score("storm on the sea", ["a boat", "the sea", "the storm at sea"])
    assert ratings.argsort().tolist() == [0, 1, 2]


async def test_tokens_are_pooled_as_the_folder_says(tmp_path: Path) -> None:
    library("fastembed")
    found = {
        pooling: await open_embedder(
            f"fastembed:{onnx_embedder(tmp_path / pooling, pooling=pooling)}"
        ).embed(TEXTS)
        for pooling in ("mean", "cls", "lasttoken")
    }
    assert not np.allclose(found["mean"], found["cls"], atol=1e-3)
    np.testing.assert_allclose(found["cls"][0], found["cls"][1], atol=1e-6)  # [CLS] is the same
    np.testing.assert_allclose(found["lasttoken"][0], found["lasttoken"][1], atol=1e-6)  # [SEP]
    older = onnx_embedder(tmp_path / "older")
    modes = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (older / "1_Pooling" / "config.json").write_text(json.dumps(modes))
    np.testing.assert_array_equal(
        await open_embedder(f"fastembed:{older}").embed(TEXTS), found["cls"]
    )


async def test_a_model_that_pools_by_itself_needs_no_word_on_it(tmp_path: Path) -> None:
    library("fastembed")
    folder = onnx_embedder(tmp_path / "m", pooling=None, one_vector=True)
    rows = await open_embedder(f"fastembed:{folder}").embed(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("pooling", "file", "words", "said"),
    [
        (None, "", "", "config.json is missing"),
        ("max", "", "", "config.json is max"),
        ("mean", "modules.json", '[{"type": "a.b.Dense"}]', "its dense layer is not in the ONNX"),
        ("mean", "other.onnx", "x", None),
        ("mean", "config_sentence_transformers.json", "{", "is not valid JSON"),
    ],
    ids=["none", "max", "dense", "two files", "torn"],
)
async def test_a_folder_that_leaves_a_doubt_is_refused(
    tmp_path: Path, pooling: str | None, file: str, words: str, said: str | None
) -> None:
    library("fastembed")
    folder = onnx_embedder(tmp_path / "m", pooling=pooling)
    if file:
        (folder / file).write_text(words)
    if said is None:  # model.onnx is the usual one, so that another beside it is no doubt
        await open_embedder(f"fastembed:{folder}").embed(["a"])
        (folder / "model.onnx").rename(folder / "renamed.onnx")
        said = "it needs one .onnx file"
    with pytest.raises((ModelRejected, SettingsError), match=said):
        await open_embedder(f"fastembed:{folder}").embed(["a"])


async def test_a_copy_of_a_folder_is_the_same_model(tmp_path: Path) -> None:
    library("fastembed")
    first = onnx_embedder(tmp_path / "a" / "m")
    second = shutil.copytree(first, tmp_path / "b" / "m")
    one, two = (open_embedder(f"fastembed:{folder}") for folder in (first, second))
    assert one.name == two.name
    np.testing.assert_array_equal(await one.embed(TEXTS), await two.embed(TEXTS))


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--embedder", "sentence-transformers:nobody/nothing"),
        ("--embedder", "fastembed:BAAI/bge-small-en-v1.5"),
        ("--reranker", "fastembed:nobody/nothing"),
    ],
)
def test_a_model_that_is_not_here_is_one_line_and_offline_stays_offline(
    run: Terminal, tmp_path: Path, option: str, name: str
) -> None:
    library("fastembed" if name.startswith("fastembed") else "torch")
    empty = str(tmp_path / "empty")
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": empty, "FASTEMBED_CACHE_PATH": empty}
    ran = run.typed("doctor", option, name, environment=offline, patience=300)
    assert ran.code == 1, ran
    assert f"{name} is not on this machine and could not be downloaded" in " ".join(ran.out.split())
    assert "give the path of a folder" in " ".join(ran.out.split())
    assert ran.err == ""
