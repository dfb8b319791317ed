"""Embedders and rerankers of the fastembed library (ONNX, no torch), in this process.

Imported only when configured; the library itself only when a model is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

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
from theanine.errors import SettingsError

KIND = EXTRA = _PACKAGE = "fastembed"
_BATCH = 64
_FILES = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx", "model_quantized.onnx")
_POOLING = {"mean": "MEAN", "cls": "CLS", "lasttoken": "LAST_TOKEN"}
_registering = Lock()


class FastembedEmbedder(OnDeviceEmbedder[Any]):
    """A model that fastembed lists, by its name, or any ONNX embedder from a folder.

    A folder holds the ``.onnx`` file and the tokenizer's files; how tokens are pooled is read from
    its ``1_Pooling/config.json``, unless the model gives one vector a text itself. Prompts in its
    ``config_sentence_transformers.json`` are put before questions and before what is remembered.

    Raises SettingsError for a path with no folder, MissingExtra without ``fastembed``.
    """

    def __init__(self, model: str) -> None:
        source = source_of(KIND, model)
        require(_PACKAGE, EXTRA, f"the embedder {source.name}")
        self._prompts = _prompts(source.folder)
        super().__init__(OnDevice(source, lambda: _embedder(source), _failures))

    def vectors(self, model: Any, texts: Sequence[str], *, questions: bool) -> NDArray[Any]:
        """The library's, in batches, not yet of unit norm."""
        prompt = self._prompts[questions]
        embed = model.query_embed if questions else model.passage_embed
        return np.array(list(embed([prompt + text for text in texts], batch_size=_BATCH)))


class FastembedReranker:
    """A cross-encoder that fastembed lists, by its name, or one in ONNX from a folder.

    Scores have no fixed scale. Raises as :class:`FastembedEmbedder` does.
    """

    def __init__(self, model: str) -> None:
        source = source_of(KIND, model)
        require(_PACKAGE, EXTRA, f"the reranker {source.name}")
        self._model = OnDevice(source, lambda: _reranker(source), _failures)

    @property
    def name(self) -> str:
        """The full name; with a fingerprint of the files for a model in a folder."""
        return self._model.source.name

    async def score(self, question: str, texts: Sequence[str]) -> Scores:
        """Read each text beside the question; ``(n,)``."""
        if not texts:
            return np.zeros(0, np.float32)
        asked, sent = prepared(question[-END:]), [prepared(text) for text in texts]
        found = await self._model.run(
            lambda model: list(model.rerank(asked, sent, batch_size=_BATCH))
        )
        return checked(np.asarray(found), len(texts), self.name)


def _embedder(source: Source) -> Any:
    kind = _library().TextEmbedding
    if source.folder is None:
        return kind(source.model)
    folder, file = source.folder, _onnx_file(source.folder)
    with _registering:
        if not _is_known(kind, source):
            kind.add_custom_model(
                source.name,
                pooling=_pooling(folder, file),
                normalization=False,
                sources=_nowhere(),
                dim=0,  # only shown in lists: the true one is read off the vectors
                model_file=file,
            )
    return kind(source.name, specific_model_path=str(folder))


def _reranker(source: Source) -> Any:
    kind = import_module("fastembed.rerank.cross_encoder").TextCrossEncoder
    _library()
    if source.folder is None:
        return kind(source.model)
    with _registering:
        if not _is_known(kind, source):
            file = _onnx_file(source.folder)
            kind.add_custom_model(source.name, sources=_nowhere(), model_file=file)
    return kind(source.name, specific_model_path=str(source.folder))


def _library() -> Any:
    # What it logs to the terminal by itself is in the error that it raises as well.
    import_module("loguru").logger.disable(_PACKAGE)
    return import_module(_PACKAGE)


def _is_known(kind: Any, source: Source) -> bool:
    known: list[dict[str, Any]] = kind.list_supported_models()
    return any(one["model"].lower() == source.name.lower() for one in known)


def _nowhere() -> Any:
    """A source is required of a custom model; it is not asked, as its folder is given."""
    return import_module("fastembed.common.model_description").ModelSource(url="file:")


def _onnx_file(folder: Path) -> str:
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.onnx"))
    usual = [file for file in _FILES if file in found] or found
    if not usual or (len(found) > 1 and usual is found):
        raise ValueError(
            f"it needs one .onnx file, such as model.onnx; there are {found or 'none'}"
        )
    return usual[0]


def _pooling(folder: Path, file: str) -> Any:
    kinds = import_module("fastembed.common.model_description").PoolingType
    if len(_output_shape(folder / file)) == 2:
        return kinds.DISABLED
    modules = cast("list[dict[str, str]]", _read(folder / "modules.json") or [])
    if any(one.get("type", "").endswith("Dense") for one in modules):
        raise ValueError("its dense layer is not in the ONNX file; sentence-transformers reads it")
    config = cast("dict[str, Any]", _read(folder / "1_Pooling/config.json") or {})
    mode = config.get("pooling_mode") or _old_mode(config)
    if mode not in _POOLING:
        raise ValueError(
            f"1_Pooling/config.json says {mode or 'nothing'} of how its tokens are pooled, where "
            f'"pooling_mode" should be one of {", ".join(_POOLING)}'
        )
    return kinds[_POOLING[mode]]


def _old_mode(config: dict[str, Any]) -> str:
    """The mode as sentence-transformers wrote it before version 5."""
    names = {"cls_token": "cls", "mean_tokens": "mean", "lasttoken": "lasttoken"}
    chosen = [mode for key, mode in names.items() if config.get(f"pooling_mode_{key}")]
    others = [key for key, on in config.items() if key.startswith("pooling_mode_") and on is True]
    return chosen[0] if len(chosen) == len(others) == 1 else " + ".join(others)


def _output_shape(file: Path) -> Sequence[Any]:
    session = import_module("onnxruntime").InferenceSession(
        str(file), providers=["CPUExecutionProvider"]
    )
    return session.get_outputs()[0].shape


def _prompts(folder: Path | None) -> tuple[str, str]:
    """What goes before a passage and before a question."""
    config = cast(
        "dict[str, Any]", (folder and _read(folder / "config_sentence_transformers.json")) or {}
    )
    prompts = cast("dict[str, str]", config.get("prompts") or {})
    passage = prompts.get("document") or prompts.get("passage") or prompts.get("corpus") or ""
    return passage, prompts.get("query") or ""


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise SettingsError(f"{file} should be JSON: {error}") from error


def _failures() -> tuple[type[Exception], ...]:
    state = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    own = [kind for kind in vars(state).values() if isinstance(kind, type)]
    return (*(kind for kind in own if issubclass(kind, Exception)), *hub_failures())
