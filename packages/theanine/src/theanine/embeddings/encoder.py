"""The fitted encoder: a question and what answers it have vectors that are alike.

``tools/fit_encoder.py`` makes its weights, which are read by onnxruntime. Models that are fitted on
its vectors have weights of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.on_device import (
    OnDevice,
    OnDeviceEmbedder,
    onnx_errors,
)
from theanine.embeddings.on_disk import Source
from theanine.errors import SettingsError

NAME = "encoder:1"
"""Name of the vectors; another one whenever the weights of the encoder change."""
DIMENSION = 384
FOLDER = Path(str(files("theanine.embeddings"))) / "fitted_encoder"
TOKENS = 96
"""Tokens of a text that are read: of a passage the first, of a query the last."""
BATCH = 16
"""Texts for which others wait that use the model: up to .1 s."""


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


@cache
def _load() -> _Encoder:
    """Return the model, which all clients of a process share."""
    return _Encoder()


if hasattr(os, "register_at_fork"):  # another thread may have been in the runtime at the fork
    os.register_at_fork(after_in_child=_load.cache_clear)


class _Encoder:
    """The session and tokenizers; several threads may use them at once."""

    def __init__(self) -> None:
        from tokenizers import Tokenizer

        runtime = import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = runtime.InferenceSession(
            f"{FOLDER}/model.onnx", options, providers=["CPUExecutionProvider"]
        )
        self._tokenizers: list[Any] = []
        for direction in ("right", "left"):
            tokenizer: Any = Tokenizer.from_file(f"{FOLDER}/tokenizer.json")
            tokenizer.no_padding()
            tokenizer.enable_truncation(TOKENS, direction=direction)
            self._tokenizers.append(tokenizer)

    def encode(self, text: str, *, is_query: bool) -> NDArray[np.float32]:
        # One by one: the 8-bit arithmetic scales a batch as a whole.
        ids = np.array([self._tokenizers[is_query].encode(text).ids], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        return self._session.run(None, inputs)[0][0]
