"""Shared by models that run in this process: loading at first use, and use in a worker thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
from anyio import to_thread
from numpy.typing import NDArray

from theanine.cancellation import finish
from theanine.embeddings.base import Scores
from theanine.embeddings.nonblank import NonblankEmbedder, prepare_text
from theanine.embeddings.on_disk import Source
from theanine.errors import MissingExtra, ModelRejected, ModelUnavailable

M = TypeVar("M")
R = TypeVar("R")

QUESTION_END = 1_000
"""Characters at the end of a question that rerankers read: the end of a dialogue matters most, and
a model of 512 tokens, which cuts the end of its input, has space left for the text."""
_MAX_MESSAGE = 200


class OnDevice(Generic[M]):
    """A model, loaded at first use and used by one thread at a time.

    Args:
        load: loads the model.
        library_errors: returns the errors that the library raises besides Python's own; called only
            once the library is imported.
    """

    def __init__(
        self,
        source: Source,
        load: Callable[[], M],
        library_errors: Callable[[], tuple[type[Exception], ...]],
    ) -> None:
        self.source = source
        self._load, self._library_errors = load, library_errors
        self._model: M | None = None
        self._lock = Lock()  # the libraries' tokenizers are not thread-safe

    async def run(self, use: Callable[[M], R]) -> R:
        """Call ``use`` with the model in a worker thread; who is cancelled waits for its end.

        A process that ends while a thread is in a runtime can be aborted by it.

        Raises:
            ModelUnavailable: a model on the hub can't be downloaded.
            ModelRejected: the model's files or the texts are unsuitable.
        """
        return await finish(to_thread.run_sync(self._run, use))

    def _run(self, use: Callable[[M], R]) -> R:
        with self._lock:
            if self._model is None:
                self._model = self._load_model()
            try:
                return use(self._model)
            except self._errors() as error:
                raise ModelRejected(f"{self.source.name} failed: {_message(error)}") from error

    def _load_model(self) -> M:
        keep_runtime_quiet()
        try:
            return self._load()
        except self._errors() as error:
            name, folder = self.source.name, self.source.folder
            if folder is not None:
                raise ModelRejected(
                    f"{name} can't be loaded from {folder}: {_message(error)}. Does the folder "
                    "contain a complete model of this kind?"
                ) from error
            raise ModelUnavailable(
                f"{name} is not on this machine and could not be downloaded: {_message(error)}. "
                "Check its name and the network, or give the path of a folder with the model"
            ) from error

    def _errors(self) -> tuple[type[Exception], ...]:
        errors = (OSError, ValueError, RuntimeError, LookupError, TypeError, ImportError)
        return (*errors, *self._library_errors())


class OnDeviceEmbedder(NonblankEmbedder, Generic[M]):
    """Base class of embedders in this process; subclasses implement ``vectors``."""

    query_end = 2_000

    def __init__(self, model: OnDevice[M]) -> None:
        super().__init__()
        self._model = model

    @property
    def name(self) -> str:
        """The full name; for a model from a folder, with a fingerprint of its files."""
        return self._model.source.name

    def vectors(self, model: M, texts: Sequence[str], *, queries: bool) -> NDArray[Any]:
        """Embed texts that are not blank, ``(n, d)`` of any norm."""
        raise NotImplementedError

    async def embed_batch(self, texts: Sequence[str], *, queries: bool) -> NDArray[Any]:
        """Embed texts with ``vectors``. Raises as :meth:`OnDevice.run`."""
        return np.asarray(
            await self._model.run(lambda model: self.vectors(model, texts, queries=queries))
        )


class OnDeviceReranker(Generic[M]):
    """Base class of rerankers in this process; subclasses implement ``scores``."""

    def __init__(self, model: OnDevice[M]) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The full name; for a model from a folder, with a fingerprint of its files."""
        return self._model.source.name

    def scores(self, model: M, question: str, texts: Sequence[str]) -> Any:
        """Score each text with the question: a sequence of numbers without a fixed scale."""
        raise NotImplementedError

    async def score(self, question: str, texts: Sequence[str]) -> Scores:
        """Score each text with the question, ``(n,)``. Raises as :meth:`OnDevice.run`."""
        if not texts:
            return np.zeros(0, np.float32)
        end, prepared = prepare_text(question[-QUESTION_END:]), [prepare_text(t) for t in texts]
        scores = np.asarray(await self._model.run(lambda model: self.scores(model, end, prepared)))
        if scores.shape != (len(texts),) or not np.isfinite(scores).all():
            raise ModelRejected(
                f"{self.name} returned scores of shape {scores.shape} for {len(texts)} texts, or "
                "non-finite numbers. Is it a reranker, with one score for each pair?"
            )
        return scores.astype(np.float32)


def require_package(package: str, extra: str, purpose: str) -> None:
    """Raise MissingExtra if the package isn't installed; does not import it."""
    if find_spec(package) is None:
        raise MissingExtra(extra, purpose)


def keep_runtime_quiet() -> None:
    """Have onnxruntime keep no events of its use, which it would send; called before its import."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def onnx_errors() -> tuple[type[Exception], ...]:
    """Return the errors of onnxruntime."""
    state = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    types = [value for value in vars(state).values() if isinstance(value, type)]
    return tuple(kind for kind in types if issubclass(kind, Exception))


def hub_errors() -> tuple[type[Exception], ...]:
    """Return the errors of the hub's client that are no OSError: those of its HTTP library."""
    http = getattr(import_module("huggingface_hub.utils"), "httpx", None)
    return (http.TransportError,) if http else ()


def _message(error: Exception) -> str:
    text = " ".join((str(error) or type(error).__name__).split())
    return text[:_MAX_MESSAGE].rstrip(".")
