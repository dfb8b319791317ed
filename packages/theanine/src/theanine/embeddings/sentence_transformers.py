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

from theanine.embeddings.base import Scores
from theanine.embeddings.on_device import (
    END,
    OnDevice,
    OnDeviceEmbedder,
    checked,
    hub_failures,
    prepared,
    require,
)
from theanine.embeddings.on_disk import Source, source_of

EXTRA = "sentence-transformers"
EMBEDDER, RERANKER = "sentence-transformers", "cross-encoder"
_PACKAGE = "sentence_transformers"
_TEXTS = 64
_PAIRS = 32


class SentenceTransformersEmbedder(OnDeviceEmbedder[Any]):
    """A ``SentenceTransformer``, from a folder or by its name on the hub.

    A hub's model is downloaded by the library once; from then on the copy on this machine is taken
    and nothing is asked of the network. Prompts saved with the model (``query: `` and the like) are
    put before questions and before what is remembered.

    Raises SettingsError for a path with no folder, MissingExtra without ``sentence-transformers``.
    """

    def __init__(self, model: str) -> None:
        source = source_of(EMBEDDER, model)
        require(_PACKAGE, EXTRA, f"the embedder {source.name}")
        super().__init__(_on_device(source, "SentenceTransformer"))

    def vectors(self, model: Any, texts: Sequence[str], *, questions: bool) -> NDArray[Any]:
        """The library's, in batches, not yet of unit norm."""
        encode = model.encode_query if questions else model.encode_document
        return encode(list(texts), batch_size=_TEXTS, show_progress_bar=False)


class CrossEncoderReranker:
    """A ``CrossEncoder`` with one score a pair, from a folder or by its name on the hub.

    Scores are as the model's own activation gives them, mostly between 0 and 1.

    Raises as :class:`SentenceTransformersEmbedder` does.
    """

    def __init__(self, model: str) -> None:
        source = source_of(RERANKER, model)
        require(_PACKAGE, EXTRA, f"the reranker {source.name}")
        self._model = _on_device(source, "CrossEncoder")

    @property
    def name(self) -> str:
        """The full name; with a fingerprint of the files for a model in a folder."""
        return self._model.source.name

    async def score(self, question: str, texts: Sequence[str]) -> Scores:
        """Read each text beside the question; ``(n,)``."""
        if not texts:
            return np.zeros(0, np.float32)
        asked = prepared(question[-END:])
        pairs = [(asked, prepared(text)) for text in texts]
        found = await self._model.run(
            lambda model: model.predict(pairs, batch_size=_PAIRS, show_progress_bar=False)
        )
        return checked(np.asarray(found), len(texts), self.name)


def _on_device(source: Source, kind: str) -> OnDevice[Any]:
    return OnDevice(source, lambda: _load(source, kind), _failures)


def _load(source: Source, kind: str) -> Any:
    make: Callable[..., Any] = getattr(import_module(_PACKAGE), kind)
    with _without_bars():
        try:
            return make(source.model, local_files_only=True)
        except OSError:
            if source.folder is not None:
                raise
            return make(source.model)


@contextmanager
def _without_bars() -> Generator[None]:
    """Loading draws bars on the terminal; downloads keep theirs."""
    logging = import_module("transformers.utils.logging")
    shown: bool = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _failures() -> tuple[type[Exception], ...]:
    return (SafetensorError, *hub_failures())
