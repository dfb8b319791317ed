"""Denoise with LLMLingua-2, a small model that classifies each token as kept or dropped.

Source: Pan et al., "LLMLingua-2: Data Distillation for Efficient and Faithful Task-Agnostic Prompt
Compression" (2024), section 3, and the ``llmlingua`` package: a word's probability is the mean of
its tokens', punctuation is a word of its own, forced words have the probability 1, and the words
above a percentile of the probabilities are kept, each counted by its tokens.

The model is read from a folder with ``transformers``; nothing is downloaded. The ``llmlingua``
package is not used because it downloads a tokenizer when it starts. Differences from it: words keep
their case and spelling, tokens are counted by the bundled tokenizer, and a line of which nothing
would be left stays whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from string import punctuation
from typing import Any

import numpy as np

from theanine.tokenizer import count_tokens
from theanine_methods.classifiers import load_classifier

KEEP = 1
"""Label of a token to keep."""
FORCED = (".",)
"""Words that are kept whatever their probability, as in SeCom's program; line breaks and speakers,
which it keeps too, are no part of a line here."""
_MAX_TOKENS = 512
"""Tokens of one model input; longer lines are split, after a full stop if there is one."""


@dataclass(slots=True)
class _Word:
    """A word of a line: its characters ``start`` to ``end`` and the probabilities of its tokens."""

    start: int
    end: int
    probabilities: list[float]


def model_denoise(
    lines: Sequence[str], rate: float, model_path: str, forced: Sequence[str] = FORCED
) -> list[str]:
    """Return each line with about the share ``rate`` of its tokens, in order.

    ``forced`` are words of one token. Deterministic on one machine. Raises SettingsError if the
    folder has no LLMLingua-2 model.
    """
    return [_denoise_line(line, rate, model_path, forced) for line in lines]


def _denoise_line(line: str, rate: float, model_path: str, forced: Sequence[str]) -> str:
    kept: list[_Word] = []
    for words in _words(line, model_path, forced):
        scores = [sum(word.probabilities) / len(word.probabilities) for word in words]
        counts = [count_tokens(line[word.start : word.end]) for word in words]
        by_token = np.repeat(scores, counts)
        threshold = np.percentile(by_token, int(100 * (1 - rate) + 1))
        # Where forced words alone reach the rate, they are what is kept.
        kept += [
            word
            for word, score in zip(words, scores, strict=True)
            if score > threshold or score == threshold == 1
        ]
    return _join(kept, line) or line.strip()


def _join(words: Sequence[_Word], line: str) -> str:
    """Return the words with a space before each that has one in the line."""
    pieces: list[str] = []
    for word in words:
        spaced = word.start > 0 and line[word.start - 1].isspace()
        pieces.append((" " if spaced else "") + line[word.start : word.end])
    return "".join(pieces).strip()


def _words(line: str, model_path: str, forced: Sequence[str]) -> list[list[_Word]]:
    """Return the line's words, a list for each model input, with their probabilities."""
    torch: Any = import_module("torch")
    tokenizer, model = _load(model_path)
    encoded = tokenizer(line, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    ids, offsets = encoded["input_ids"], encoded["offset_mapping"]
    tokens = tokenizer.convert_ids_to_tokens(ids)
    # BERT's marks, as the package has them for each model: XLM-RoBERTa reads them as unknown.
    begin, finish = tokenizer.convert_tokens_to_ids(["[CLS]", "[SEP]"])
    by_pieces = model.config.model_type != "xlm-roberta"  # else by marks of beginnings
    inputs: list[list[_Word]] = []
    for first, end in _chunks(tokens, _max_tokens(model)):
        with torch.inference_mode():
            whole = [begin, *ids[first:end], finish]
            logits = model(input_ids=torch.tensor([whole])).logits
            kept = torch.softmax(logits[0].float(), dim=-1)[1:-1, KEEP].tolist()
        words: list[_Word] = []
        for token, (start, stop), probability in zip(
            tokens[first:end], offsets[first:end], kept, strict=True
        ):
            text = token.removeprefix("##" if by_pieces else "▁")
            start += len(line[start:stop]) - len(line[start:stop].lstrip())
            begins = text == token if by_pieces else text != token or text in punctuation
            if begins or text in forced or not words:
                words.append(_Word(start, stop, [1.0 if text in forced else probability]))
            else:
                words[-1].end = stop
                words[-1].probabilities.append(probability)
        inputs.append([word for word in words if word.end > word.start])
    return [words for words in inputs if words]


def _chunks(tokens: Sequence[str], most: int) -> list[tuple[int, int]]:
    """Return the ends of runs of at most ``most`` tokens, each after a full stop if it has one."""
    chunks: list[tuple[int, int]] = []
    first = 0
    while len(tokens) - first > most:
        stops = (at for at in range(first + most, first, -1) if tokens[at - 1] == ".")
        end = next(stops, first + most)
        chunks.append((first, end))
        first = end
    return [*chunks, (first, len(tokens))] if tokens else []


def _max_tokens(model: Any) -> int:
    """Return how many tokens go into one input besides its first and last, which are special."""
    return min(_MAX_TOKENS, model.config.max_position_embeddings - 2) - 2


@lru_cache(maxsize=1)
def _load(model_path: str) -> tuple[Any, Any]:
    return load_classifier(model_path, "TokenClassification", "LLMLingua-2 model")
