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

from theanine.embeddings.on_device import (
    OnDevice,
    OnDeviceEmbedder,
    OnDeviceReranker,
    hub_errors,
    onnx_errors,
    require_package,
)
from theanine.embeddings.on_disk import Source, resolve_source
from theanine.errors import SettingsError

KIND = EXTRA = _PACKAGE = "fastembed"
_BATCH = 64
_USUAL_FILES = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx", "model_quantized.onnx")
_POOLING = {"mean": "MEAN", "cls": "CLS", "lasttoken": "LAST_TOKEN"}
_registration_lock = Lock()


class FastembedEmbedder(OnDeviceEmbedder[Any]):
    """A model supported by fastembed, by name, or any ONNX embedder from a folder.

    A folder contains the ``.onnx`` file and the tokenizer's files. The pooling of token vectors is
    read from ``1_Pooling/config.json``, unless the model's output is one vector for each text.
    Prompts in ``config_sentence_transformers.json`` are put before queries and texts.

    Raises SettingsError for a missing folder, MissingExtra without ``fastembed``.
    """

    def __init__(self, model: str) -> None:
        source = resolve_source(KIND, model)
        require_package(_PACKAGE, EXTRA, f"the embedder {source.name}")
        self._prompts = _prompts(source.folder)
        super().__init__(OnDevice(source, lambda: _embedder(source), _library_errors))

    def vectors(self, model: Any, texts: Sequence[str], *, queries: bool) -> NDArray[Any]:
        prompt = self._prompts[queries]
        embed = model.query_embed if queries else model.passage_embed
        return np.array(list(embed([prompt + text for text in texts], batch_size=_BATCH)))


class FastembedReranker(OnDeviceReranker[Any]):
    """A cross-encoder supported by fastembed, by name, or an ONNX cross-encoder from a folder.

    Scores have no fixed scale. Raises as :class:`FastembedEmbedder`.
    """

    def __init__(self, model: str) -> None:
        source = resolve_source(KIND, model)
        require_package(_PACKAGE, EXTRA, f"the reranker {source.name}")
        super().__init__(OnDevice(source, lambda: _reranker(source), _library_errors))

    def scores(self, model: Any, question: str, texts: Sequence[str]) -> Any:
        return list(model.rerank(question, texts, batch_size=_BATCH))


def _embedder(source: Source) -> Any:
    model_class = _import_library().TextEmbedding
    if source.folder is None:
        return model_class(source.model)
    folder, file = source.folder, _onnx_file(source.folder)
    with _registration_lock:
        if not _is_registered(model_class, source):
            model_class.add_custom_model(
                source.name,
                pooling=_pooling(folder, file),
                normalization=False,
                sources=_no_source(),
                dim=0,  # only for lists of models: the true one is taken from the vectors
                model_file=file,
            )
    return model_class(source.name, specific_model_path=str(folder))


def _reranker(source: Source) -> Any:
    _import_library()
    model_class = import_module("fastembed.rerank.cross_encoder").TextCrossEncoder
    if source.folder is None:
        return model_class(source.model)
    with _registration_lock:
        if not _is_registered(model_class, source):
            file = _onnx_file(source.folder)
            model_class.add_custom_model(source.name, sources=_no_source(), model_file=file)
    return model_class(source.name, specific_model_path=str(source.folder))


def _import_library() -> Any:
    # It logs errors to the terminal; the exceptions that it raises say the same.
    import_module("loguru").logger.disable(_PACKAGE)
    return import_module(_PACKAGE)


def _is_registered(model_class: Any, source: Source) -> bool:
    models: list[dict[str, Any]] = model_class.list_supported_models()
    return any(model["model"].lower() == source.name.lower() for model in models)


def _no_source() -> Any:
    """Return the source that custom models require; unused, since the folder is given."""
    return import_module("fastembed.common.model_description").ModelSource(url="file:")


def _onnx_file(folder: Path) -> str:
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.onnx"))
    usual = [file for file in _USUAL_FILES if file in files]
    if not usual and len(files) != 1:
        raise ValueError(
            f"it needs one .onnx file, such as model.onnx; there are {files or 'none'}"
        )
    return (usual or files)[0]


def _pooling(folder: Path, file: str) -> Any:
    kinds = import_module("fastembed.common.model_description").PoolingType
    if len(_output_shape(folder / file)) == 2:
        return kinds.DISABLED
    modules = cast("list[dict[str, str]]", _read(folder / "modules.json") or [])
    if any(module.get("type", "").endswith("Dense") for module in modules):
        raise ValueError(
            "its dense layer is not in the ONNX file: use sentence-transformers instead"
        )
    config = cast("dict[str, Any]", _read(folder / "1_Pooling/config.json") or {})
    mode = config.get("pooling_mode") or _old_mode(config)
    if mode not in _POOLING:
        raise ValueError(
            f"the pooling mode in 1_Pooling/config.json is {mode or 'missing'}; "
            f'"pooling_mode" must be one of {", ".join(_POOLING)}'
        )
    return kinds[_POOLING[mode]]


def _old_mode(config: dict[str, Any]) -> str:
    """Return the mode from the flags of sentence-transformers before version 5."""
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
    """Return the prompts for passages and queries."""
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
        raise SettingsError(f"{file} is not valid JSON: {error}") from error


def _library_errors() -> tuple[type[Exception], ...]:
    return (*onnx_errors(), *hub_errors())
