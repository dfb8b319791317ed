"""Denoise with LLMLingua-2: a small model says of each token whether it should stay.

Source: Pan et al., "LLMLingua-2: Data Distillation for Efficient and Faithful Task-Agnostic Prompt
Compression" (2024), section 3: a word's chance to stay is the mean of its tokens'; the words with
the best chances stay, so many that the rate is met.

The model is read from a folder; nothing is fetched. Loaded with ``transformers`` itself, as the
``llmlingua`` package fetches a tokenizer of OpenAI's when it starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from theanine.errors import SettingsError
from theanine.text.denoising.denoise import keep_words

STAYS = 1
"""The label of a token that should stay."""
_LONGEST = 512
"""Tokens that the models take at once; a longer text goes in pieces."""


def model_denoise(lines: Sequence[str], rate: float, model_path: str) -> list[str]:
    """The lines with the share ``rate`` of all their words, in order.

    Deterministic on one machine. Raises SettingsError for a folder that holds no such model.
    """
    words = [line.split() for line in lines]
    chances = iter(_chances([word for line in words for word in line], model_path))
    return keep_words(lines, rate, [[next(chances) for _ in line] for line in words])


def _chances(words: Sequence[str], model_path: str) -> list[float]:
    """Each word's chance to stay, 0 to 1."""
    if not words:
        return []
    torch: Any = import_module("torch")
    tokenizer, model = _loaded(model_path)
    cut = tokenizer(
        list(words),
        is_split_into_words=True,
        truncation=True,
        max_length=min(_LONGEST, model.config.max_position_embeddings - 2),
        return_overflowing_tokens=True,
        padding=True,
        return_tensors="pt",
    )
    sums, counts = [0.0] * len(words), [0] * len(words)
    with torch.inference_mode():
        for piece in range(len(cut["input_ids"])):
            logits = model(
                input_ids=cut["input_ids"][piece : piece + 1],
                attention_mask=cut["attention_mask"][piece : piece + 1],
            ).logits
            stays = torch.softmax(logits[0].float(), dim=-1)[:, STAYS].tolist()
            for word, chance in zip(cut.word_ids(piece), stays, strict=True):
                if word is not None:
                    sums[word] += chance
                    counts[word] += 1
    return [total / max(count, 1) for total, count in zip(sums, counts, strict=True)]


@lru_cache(maxsize=1)
def _loaded(model_path: str) -> tuple[Any, Any]:
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
