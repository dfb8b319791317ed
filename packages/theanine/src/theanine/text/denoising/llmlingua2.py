"""Denoise with LLMLingua-2, a small model that classifies each token as kept or dropped.

Source: Pan et al., "LLMLingua-2: Data Distillation for Efficient and Faithful Task-Agnostic Prompt
Compression" (2024), section 3: a word's probability is the mean of its tokens', and the words of
the highest probabilities are kept.

The model is read from a folder with ``transformers``; nothing is downloaded. The ``llmlingua``
package is not used because it downloads a tokenizer when it starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from theanine.errors import SettingsError
from theanine.text.denoising.selection import keep_words

KEEP = 1
"""Label of a token to keep."""
_MAX_TOKENS = 512
"""Tokens of one model input; longer texts are split."""


def model_denoise(lines: Sequence[str], rate: float, model_path: str) -> list[str]:
    """Return the lines with the share ``rate`` of all their words, in order.

    Deterministic on one machine. Raises SettingsError if the folder has no LLMLingua-2 model.
    """
    words = [line.split() for line in lines]
    probabilities = iter(_probabilities([word for line in words for word in line], model_path))
    return keep_words(lines, rate, [[next(probabilities) for _ in line] for line in words])


def _probabilities(words: Sequence[str], model_path: str) -> list[float]:
    """Return the probability of each word to be kept."""
    if not words:
        return []
    torch: Any = import_module("torch")
    tokenizer, model = _load(model_path)
    batch = tokenizer(
        list(words),
        is_split_into_words=True,
        truncation=True,
        max_length=min(_MAX_TOKENS, model.config.max_position_embeddings - 2),
        return_overflowing_tokens=True,
        padding=True,
        return_tensors="pt",
    )
    sums, counts = [0.0] * len(words), [0] * len(words)
    with torch.inference_mode():
        for piece in range(len(batch["input_ids"])):
            logits = model(
                input_ids=batch["input_ids"][piece : piece + 1],
                attention_mask=batch["attention_mask"][piece : piece + 1],
            ).logits
            kept = torch.softmax(logits[0].float(), dim=-1)[:, KEEP].tolist()
            for word, probability in zip(batch.word_ids(piece), kept, strict=True):
                if word is not None:
                    sums[word] += probability
                    counts[word] += 1
    return [total / max(count, 1) for total, count in zip(sums, counts, strict=True)]


@lru_cache(maxsize=1)
def _load(model_path: str) -> tuple[Any, Any]:
    library: Any = import_module("transformers")
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(model_path, local_files_only=True)
        model = library.AutoModelForTokenClassification.from_pretrained(
            model_path, local_files_only=True
        )
    except (OSError, ValueError) as error:
        raise SettingsError(f"{model_path} holds no LLMLingua-2 model: {error}") from error
    if model.config.num_labels != 2:
        raise SettingsError(f"{model_path} has {model.config.num_labels} labels instead of 2")
    return tokenizer, model.eval()
