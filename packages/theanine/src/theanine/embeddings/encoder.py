"""The fitted encoder: a question and what answers it have vectors that are alike.

``tools/fit_encoder.py`` makes its weights, which are read by onnxruntime. Models that are fitted on
its vectors have weights of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from threading import active_count
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.on_device import (
    OnDevice,
    OnDeviceEmbedder,
    keep_runtime_quiet,
    onnx_errors,
)
from theanine.embeddings.on_disk import Source
from theanine.errors import SettingsError

M = TypeVar("M")

NAME = "encoder:1"
"""Name of the vectors; another one whenever the weights of the encoder change."""
DIMENSION = 384
FOLDER = Path(str(files("theanine.embeddings"))) / "fitted_encoder"
TOKENS = 96
"""Tokens of a text that are read: of a passage the first, of a query the last."""
BATCH = 16
"""Texts for which others wait that use the model: up to .1 s."""
CACHED = 500
"""Latest texts whose vectors are kept: what is asked is logged next, and has the same one then."""


def has_runtime() -> bool:
    """Whether onnxruntime is installed; it has no builds for some machines."""
    return find_spec("onnxruntime") is not None


def fitted_weights(embedder: str, package: str, name: str) -> bytes:
    """Return the weights of a model that is fitted on the vectors of an embedder.

    Those for the bundled word vectors are ``name.npz`` in ``package``; embedders without weights of
    their own get them too.
    """
    own = "_encoder" if embedder == NAME else ""
    return (files(package) / f"{name}{own}.npz").read_bytes()


class EncoderEmbedder(OnDeviceEmbedder["_Encoder"]):
    """Sentence vectors of 384 numbers, by onnxruntime in one thread; some 4 ms for a text.

    The same text gives the same bits, alone or in any batch.

    Raises SettingsError without onnxruntime.
    """

    def __init__(self) -> None:
        if not has_runtime():
            raise SettingsError(
                f"{NAME} needs the package onnxruntime, which is not installed: install it, or use "
                "the embedder wordllama (`theanine reembed --embedder wordllama`)"
            )
        super().__init__(OnDevice(Source(NAME, str(FOLDER), FOLDER), _load, onnx_errors))

    def batches(self, texts: Sequence[str]) -> Iterable[Sequence[str]]:
        """Split texts: others may use the model after each batch, such as a waiting recall."""
        return [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]

    def vectors(self, model: _Encoder, texts: Sequence[str], *, queries: bool) -> NDArray[Any]:
        return np.stack([model.encode(text, is_query=queries) for text in texts])


def cache_in_process(load: Callable[[], M]) -> Callable[[], M]:
    """Have a function that loads a model return the same one in all of a process.

    A fork has it too, unless another thread was there, which may have been in the runtime.
    """
    loaded = cache(load)
    was_alone = True

    def look() -> None:
        nonlocal was_alone
        was_alone = active_count() == 1

    def forget() -> None:
        if not was_alone:
            loaded.cache_clear()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=look, after_in_child=forget)
    return loaded


@cache_in_process
def _load() -> _Encoder:
    """Return the model, which all clients of a process share."""
    return _Encoder()


def open_model(name: str) -> Any:
    """Return a session of one of the models that share the vectors of words in ``words.bin``."""
    keep_runtime_quiet()
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return runtime.InferenceSession(
        f"{FOLDER}/{name}.onnx", options, providers=["CPUExecutionProvider"]
    )


def open_tokenizer(tokens: int, **truncation: str) -> Any:
    """Return the tokenizer of these models, which cuts what is longer."""
    from tokenizers import Tokenizer

    tokenizer: Any = Tokenizer.from_file(f"{FOLDER}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(tokens, **truncation)
    return tokenizer


class _Encoder:
    """The session and tokenizers; several threads may use them at once."""

    def __init__(self) -> None:
        self._session = open_model("model")
        self._tokenizers = [
            open_tokenizer(TOKENS, direction=direction) for direction in ("right", "left")
        ]
        self._encode_tokens = lru_cache(CACHED)(self._encode)

    def encode(self, text: str, *, is_query: bool) -> NDArray[np.float32]:
        return self._encode_tokens(tuple(self._tokenizers[is_query].encode(text).ids))

    def _encode(self, tokens: tuple[int, ...]) -> NDArray[np.float32]:
        # One by one: the 8-bit arithmetic scales a batch as a whole.
        ids = np.array([tokens], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        return self._session.run(None, inputs)[0][0]
