"""The fitted model of links: reads two statements and tells whether they are of one matter.

``tools/fit_links.py`` fits it on whole diaries in which readers have marked what belongs together,
on histories about changes and on labeled pairs, all in English. It shares the encoder's vectors of
words. ``theanine bench links`` prints how often it is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.encoder import cache_in_process, open_model, open_tokenizer

TOKENS, LETTERS = 128, 420
"""Tokens of a pair, and characters of each statement, that are read."""
_GAPS = ((1, "same day"), (14, "days later"), (60, "weeks later"), (400, "months later"))


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement in its own words, and its speaker, empty where unknown."""

    words: str
    speaker: str = ""

    def __str__(self) -> str:
        return (f"{self.speaker}: {self.words}" if self.speaker else self.words)[:LETTERS]


Pair = tuple[Statement, Statement, float | None]
"""An older and a newer statement, and the days between the two; None if unknown."""


def texts_of(pair: Pair) -> tuple[str, str]:
    """Return the two texts that are read of a pair; the second begins with how much later it is."""
    older, newer, days = pair
    gap = next((name for most, name in _GAPS if days is not None and days < most), None)
    gap = gap or ("later" if days is None else "years later")
    return str(older), f"{gap}. {newer}"[:LETTERS]


def link_logits(pairs: Sequence[Pair]) -> NDArray[np.float32]:
    """Return for each pair how much speaks for both telling of one specific matter, ``(n,)``.

    Raises ModuleNotFoundError without onnxruntime.
    """
    return np.array([_load().logit(*texts_of(pair)) for pair in pairs], np.float32)


@cache_in_process
def _load() -> _Model:
    return _Model()


class _Model:
    def __init__(self) -> None:
        self._session = open_model("links")
        self._tokenizer = open_tokenizer(TOKENS, strategy="longest_first")

    def logit(self, older: str, newer: str) -> float:
        # One by one, so that a pair has the same chance beside any others.
        read: Any = self._tokenizer.encode(older, newer)
        inputs = {
            name: np.array([values], np.int64)
            for name, values in (
                ("input_ids", read.ids),
                ("attention_mask", read.attention_mask),
                ("token_type_ids", read.type_ids),
            )
        }
        return float(self._session.run(None, inputs)[0][0])
