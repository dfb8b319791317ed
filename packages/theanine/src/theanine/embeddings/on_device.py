"""What models that run in this process share: loaded at first use, used in a worker thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
from anyio import to_thread
from numpy.typing import NDArray

from theanine.embeddings.base import Scores, Vectors, normalize_rows
from theanine.embeddings.on_disk import Source
from theanine.errors import MissingExtra, ModelRejected, ModelUnavailable
from theanine.tokenizer import sanitize

M = TypeVar("M")
R = TypeVar("R")

LONGEST = 8_000
"""Characters of a text that are tokenized; what a model can read ends well before."""
END = 1_000
"""Characters at the end of a question that rerankers read: the end of a dialogue says most, and a
model of 512 tokens, which cuts what is too long at its end, has room left for the text."""
_END = 2_000
_SAID = 200


class OnDevice(Generic[M]):
    """One model, loaded at first use and used by one thread at a time.

    Args:
        source: which model.
        load: loads it.
        failures: the errors that its library raises beside Python's own, known once it is there.
    """

    def __init__(
        self,
        source: Source,
        load: Callable[[], M],
        failures: Callable[[], tuple[type[Exception], ...]],
    ) -> None:
        self.source = source
        self._load, self._library = load, failures
        self._model: M | None = None
        self._busy = Lock()  # the tokenizers below can't be shared between threads

    async def run(self, use: Callable[[M], R]) -> R:
        """What ``use`` makes of the model, in a worker thread.

        Raises ModelUnavailable where a hub's model can't be had, ModelRejected where the files or
        the texts won't do.
        """
        return await to_thread.run_sync(self._run, use)

    def _run(self, use: Callable[[M], R]) -> R:
        with self._busy:
            if self._model is None:
                self._model = self._loaded()
            try:
                return use(self._model)
            except self._failures() as error:
                raise ModelRejected(f"{self.source.name} failed: {_said(error)}") from error

    def _loaded(self) -> M:
        try:
            return self._load()
        except self._failures() as error:
            name, folder = self.source.name, self.source.folder
            if folder is not None:
                raise ModelRejected(
                    f"{name} can't be loaded from {folder}: {_said(error)}. Does the folder hold "
                    "a whole model of this kind?"
                ) from error
            raise ModelUnavailable(
                f"{name} is not on this machine and could not be fetched: {_said(error)}. Check "
                "its name and the network, or give the path of a folder that holds the model"
            ) from error

    def _failures(self) -> tuple[type[Exception], ...]:
        known = (OSError, ValueError, RuntimeError, LookupError, TypeError, ImportError)
        return (*known, *self._library())


class OnDeviceEmbedder(Generic[M]):
    """An embedder in this process; ``vectors`` tells its kinds apart.

    Texts are cut at ``LONGEST`` characters; of long questions the end counts, which many a model
    would cut. Blank ones give a row of zeros.
    """

    def __init__(self, model: OnDevice[M]) -> None:
        self._model = model
        self._dimension = 0

    @property
    def name(self) -> str:
        """The full name; with a fingerprint of the files for a model in a folder."""
        return self._model.source.name

    def vectors(self, model: M, texts: Sequence[str], *, questions: bool) -> NDArray[Any]:
        """``(n, d)`` of texts that are not blank; ``questions``: as the model wants questions."""
        raise NotImplementedError

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in order. Raises as :meth:`OnDevice.run` does."""
        return await self._embed(texts, questions=False)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same, of questions, with the prompt that the model wants before them."""
        return await self._embed(texts, questions=True)

    async def _embed(self, texts: Sequence[str], *, questions: bool) -> Vectors:
        sent = [prepared(text[-_END:] if questions else text) for text in texts]
        filled = [row for row, text in enumerate(sent) if text.strip()]
        if not filled and not self._dimension:
            await self._rows(["dimension"], questions=False)
        found = await self._rows([sent[row] for row in filled], questions=questions)
        vectors = np.zeros((len(texts), self._dimension), np.float32)
        vectors[filled] = found
        return vectors

    async def _rows(self, texts: Sequence[str], *, questions: bool) -> Vectors:
        if not texts:
            return np.zeros((0, self._dimension), np.float32)
        found = await self._model.run(lambda model: self.vectors(model, texts, questions=questions))
        rows = np.asarray(found)
        if rows.ndim != 2 or len(rows) != len(texts) or not np.isfinite(rows).all():
            raise ModelRejected(
                f"{self.name} gave vectors of shape {rows.shape} for {len(texts)} texts, or some "
                "that are no numbers. Is it an embedder?"
            )
        self._dimension = rows.shape[1]
        return normalize_rows(rows)


def checked(scores: NDArray[Any], n: int, name: str) -> Scores:
    """The scores as float32. Raises ModelRejected where there isn't one number a text."""
    if scores.shape != (n,) or not np.isfinite(scores).all():
        raise ModelRejected(
            f"{name} gave scores of shape {scores.shape} for {n} texts, or some that are no "
            "numbers. Is it a reranker, with one score a pair?"
        )
    return scores.astype(np.float32)


def require(package: str, extra: str, purpose: str) -> None:
    """Raises MissingExtra where the package isn't installed; it is not imported for that."""
    if find_spec(package) is None:
        raise MissingExtra(extra, purpose)


def hub_failures() -> tuple[type[Exception], ...]:
    """What the hub's client raises that is no OSError: its HTTP library's own errors."""
    http = getattr(import_module("huggingface_hub.utils"), "httpx", None)
    return (http.TransportError,) if http else ()


def prepared(text: str) -> str:
    """The text as a tokenizer can take it: without characters that stand for nothing, cut."""
    return sanitize(text[:LONGEST])


def _said(error: Exception) -> str:
    return " ".join((str(error) or type(error).__name__).split())[:_SAID].rstrip(".")
