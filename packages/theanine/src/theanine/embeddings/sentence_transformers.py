"""Embedders and rerankers of the sentence-transformers library, in this process.

Imported only when configured; the library itself, and torch with it, only when a model is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError

from theanine.embeddings.on_device import (
    OnDevice,
    OnDeviceEmbedder,
    OnDeviceReranker,
    hub_errors,
    require_package,
)
from theanine.embeddings.on_disk import Source, resolve_source

EXTRA = "sentence-transformers"
EMBEDDER, RERANKER = "sentence-transformers", "cross-encoder"
DOT_PRODUCT = "sentence-transformers-dot"
EUCLIDEAN = "sentence-transformers-euclidean"
_PACKAGE = "sentence_transformers"
_TEXT_BATCH = 64
_MAX_NORM = np.float32(64)
"""Norm of the longest vector of a text; a power of two, by which division is exact."""
_PAIR_BATCH = 32


class SentenceTransformersEmbedder(OnDeviceEmbedder[Any]):
    """A ``SentenceTransformer`` from a folder or the Hugging Face hub.

    The library downloads a hub's model once; later uses of the copy on this machine need no
    network. Prompts saved with the model, such as ``query: ``, are put before queries and texts.

    Raises SettingsError for a missing folder, MissingExtra without ``sentence-transformers``.
    """

    kind = EMBEDDER

    def __init__(self, model: str) -> None:
        source = resolve_source(self.kind, model)
        require_package(_PACKAGE, EXTRA, f"the embedder {source.name}")
        super().__init__(_on_device(source, "SentenceTransformer"))

    def vectors(self, model: Any, texts: Sequence[str], *, queries: bool) -> NDArray[Any]:
        encode = model.encode_query if queries else model.encode_document
        return encode(list(texts), batch_size=_TEXT_BATCH, show_progress_bar=False)


class DotProductEmbedder(SentenceTransformersEmbedder):
    """A ``SentenceTransformer`` whose texts are compared by the inner product, not by the cosine.

    Models trained that way, such as SeCom's ``multi-qa-mpnet-base-dot-v1``, tell by a vector's norm
    too how well a text answers. One more coordinate keeps that norm in vectors of unit norm
    (Bachrach et al., "Speeding Up the Xbox Recommender System Using a Euclidean Transformation for
    Inner-Product Spaces", 2014): their cosines with queries are the inner products, scaled by
    constants. Vectors of a norm above 64 are refused with ModelRejected.
    """

    kind = DOT_PRODUCT

    def vectors(self, model: Any, texts: Sequence[str], *, queries: bool) -> NDArray[Any]:
        rows = np.asarray(super().vectors(model, texts, queries=queries), np.float32) / _MAX_NORM
        if queries:
            return np.pad(rows, ((0, 0), (0, 1)))
        squares = np.vecdot(rows, rows)
        _check_norms(squares)
        return np.column_stack([rows, np.sqrt(1 - squares)])


class EuclideanEmbedder(SentenceTransformersEmbedder):
    """A ``SentenceTransformer`` whose texts are compared by the Euclidean distance, not the cosine.

    So FAISS compares vectors, unless told otherwise, as in SeCom's program. Two more coordinates
    keep the squared norm of a text in a vector of unit norm: its cosine with a query falls as the
    distance grows. Vectors of a norm above 64 are refused with ModelRejected.
    """

    kind = EUCLIDEAN

    def vectors(self, model: Any, texts: Sequence[str], *, queries: bool) -> NDArray[Any]:
        rows = np.asarray(super().vectors(model, texts, queries=queries), np.float32) / _MAX_NORM
        squares = np.vecdot(rows, rows)
        _check_norms(squares)
        if queries:  # q·x - |x|²/2 falls as |q - x|² grows
            return np.column_stack([rows, np.full(len(rows), -1), np.zeros(len(rows))])
        halves = squares / 2
        rest = np.sqrt(2 - squares - halves**2)  # all texts have the norm √2
        return np.column_stack([rows, halves, rest])


def _check_norms(squares: NDArray[np.float32]) -> None:
    if (squares > 1).any():
        raise ValueError(
            f"a vector's norm is above {_MAX_NORM:g}: use {EMBEDDER}:, which takes the cosine"
        )


class CrossEncoderReranker(OnDeviceReranker[Any]):
    """A ``CrossEncoder`` with one score for each pair, from a folder or the Hugging Face hub.

    Scores come from the model's own activation, mostly between 0 and 1. Raises as
    :class:`SentenceTransformersEmbedder`.
    """

    def __init__(self, model: str) -> None:
        source = resolve_source(RERANKER, model)
        require_package(_PACKAGE, EXTRA, f"the reranker {source.name}")
        super().__init__(_on_device(source, "CrossEncoder"))

    def scores(self, model: Any, question: str, texts: Sequence[str]) -> Any:
        pairs = [(question, text) for text in texts]
        return model.predict(pairs, batch_size=_PAIR_BATCH, show_progress_bar=False)


def _on_device(source: Source, kind: str) -> OnDevice[Any]:
    return OnDevice(source, lambda: _load(source, kind), _library_errors)


def _load(source: Source, kind: str) -> Any:
    model_class: Callable[..., Any] = getattr(import_module(_PACKAGE), kind)
    with _no_progress_bars():
        try:
            return model_class(source.model, local_files_only=True)
        except OSError:
            if source.folder is not None:
                raise
            return model_class(source.model)


@contextmanager
def _no_progress_bars() -> Generator[None]:
    """Hide the progress bars of loading; downloads keep theirs."""
    logging = import_module("transformers.utils.logging")
    shown: bool = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _library_errors() -> tuple[type[Exception], ...]:
    return (SafetensorError, *hub_errors())
