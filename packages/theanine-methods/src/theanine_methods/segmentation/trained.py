"""Segment a session by a trained classifier of the kind of RoBERTa.

Source: SeCom (2025), section 3, whose "RoBERTa-Seg" was fine-tuned on SuperDialSeg; neither paper
publishes its input. Here the model reads two turns before and two from a place on, and tells
whether a new segment begins there. ``tools/train_segmenter.py`` trains one; none is bundled.

The model is read from a folder with ``transformers``; nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from theanine.errors import MissingExtra, SettingsError
from theanine_methods.classifiers import load_classifier
from theanine_methods.segmentation.segments import Span, spans_between

BEGINS = 1
"""Label of a turn with which a new segment begins."""
SIDE_TURNS = 2
"""Turns that the model reads on either side of a place."""
SIDE_CHARACTERS = 600
"""Characters of either side, those next to the place."""
MAX_TOKENS = 512
_BATCH = 32


def boundary_inputs(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return what the model reads for each turn but the first: the turns before it, and from it."""
    return [
        (
            "\n".join(texts[max(at - SIDE_TURNS, 0) : at])[-SIDE_CHARACTERS:],
            "\n".join(texts[at : at + SIDE_TURNS])[:SIDE_CHARACTERS],
        )
        for at in range(1, len(texts))
    ]


def segment_by_classifier(
    texts: Sequence[str], folder: str, allowed: Sequence[bool] | None = None
) -> list[Span]:
    """Return the segments of a session of these turns.

    ``allowed`` tells of each turn whether a segment may begin with it. Deterministic on one
    machine. Raises SettingsError if the folder has no such model.
    """
    starts: list[int] = []
    inputs = boundary_inputs(texts)
    torch: Any = import_module("torch")
    tokenizer, model = _load(folder)
    for first in range(0, len(inputs), _BATCH):
        batch = encode(tokenizer, inputs[first : first + _BATCH], model)
        with torch.inference_mode():
            labels = model(**batch).logits.argmax(dim=-1).tolist()
        starts += [first + at + 1 for at, label in enumerate(labels) if label == BEGINS]
    if allowed is not None:
        starts = [at for at in starts if allowed[at]]
    return spans_between(starts, len(texts))


def encode(tokenizer: Any, inputs: Sequence[tuple[str, str]], model: Any) -> Any:
    """Return a batch of pairs as the model takes it, cut to its length."""
    return tokenizer(
        [before for before, _ in inputs],
        [after for _, after in inputs],
        padding=True,
        truncation=True,
        max_length=min(MAX_TOKENS, model.config.max_position_embeddings - 2),
        return_tensors="pt",
    )


def check_segmenter(folder: str) -> None:
    """Check that a trained segmenter can be used; nothing is downloaded.

    Raises MissingExtra without the extra ``segmenter``, SettingsError without the folder.
    """
    if find_spec("torch") is None or find_spec("transformers") is None:
        raise MissingExtra("segmenter", "a trained segmenter")
    if not Path(folder).is_dir():
        raise SettingsError(
            f"segmenter trained:{folder} names no folder: train one with tools/train_segmenter.py"
        )


@lru_cache(maxsize=1)
def _load(folder: str) -> tuple[Any, Any]:
    return load_classifier(folder, "SequenceClassification", "trained segmenter")
