"""Compact contents of candidates: hashes of words, to find candidates that repeat others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from theanine.lazy_pattern import lazy_pattern
from theanine.retrieval.cue_words import negation
from theanine.retrieval.growing_array import GrowingArray, array_state, restore_arrays
from theanine.retrieval.languages import written_words
from theanine.retrieval.neighbors import Positions
from theanine.tokenizer import count_tokens


def _denials() -> str:
    spaced, unspaced = negation()
    return rf"\b(?:no|not|never|none|nobody|nothing|without|{spaced})\b|n['’]t\b|{unspaced}"


_NEGATION = lazy_pattern(_denials, re.IGNORECASE)
_PAST = re.compile(r"\b(?:was|were|had|did|used)\b", re.IGNORECASE)
_QUESTION = re.compile(r"[?？؟]\W*$")
_FORMS = (_QUESTION, _PAST, _NEGATION)
_FILLER = frozenset(
    "d ll m re s t ve again already mention mentioned recall remember reminder said say saying "
    "tell telling told well yes yeah".split()
)
"""Words that a repetition may have more: halves of contractions, and words about saying."""
_REPEATED = 0.75
"""A repetition has at least this share of what it repeats."""
_ECHOED = 0.75
"""A turn that has at least this share of another's words tells it; one of whose own words the
other has at least this share tells nothing else."""


class Content(NamedTuple):
    """The words of a candidate, and its kind of sentence.

    Attributes:
        kind: its speaker, whether it is negated and past, and whether it asks.
        words: its distinct content words in order, as hashes.
    """

    kind: int
    words: tuple[int, ...]

    @classmethod
    def read(cls, speaker: int, text: str) -> Content:
        """Return the content of a text; ``speaker`` is any number for who says it."""
        kind = speaker << len(_FORMS)
        for bit, form in enumerate(_FORMS):
            kind |= (form.search(text) is not None) << bit
        words = dict.fromkeys(word for word in written_words(text) if word not in _FILLER)
        return cls(kind, tuple(crc32(word.encode("utf-8", "surrogatepass")) for word in words))

    @property
    def speaker(self) -> int:
        """The number of who says it."""
        return self.kind >> len(_FORMS)

    @property
    def asks(self) -> bool:
        """Whether it ends with a question."""
        return bool(self.kind & 1)

    def repeats(self, other: Content) -> bool:
        """Whether it says what ``other`` says, or nearly all of it, in the same order."""
        if self.kind != other.kind or len(self.words) < _REPEATED * len(other.words):
            return False
        following = iter(other.words)
        return all(word in following for word in self.words)

    def tells(self, other: Content) -> bool:
        """Whether it has nearly all words of ``other``, which has some."""
        common = len(set(self.words).intersection(other.words))
        return common > 1 and common >= _ECHOED * len(other.words)


class Contents:
    """The contents of candidates that are added over time, and the tokens of their lines."""

    def __init__(self) -> None:
        self._tokens: GrowingArray[np.int32] = GrowingArray(np.int32)
        self._kinds: GrowingArray[np.int32] = GrowingArray(np.int32)
        # The words of each candidate, and where each one's begin.
        self._words: GrowingArray[np.uint32] = GrowingArray(np.uint32)
        self._starts: GrowingArray[np.int32] = GrowingArray(np.int32, [0])

    def extend(self, speakers: Sequence[int], texts: Sequence[str], lines: Sequence[str]) -> None:
        """Add candidates: numbers of their speakers, their texts, and these as lines."""
        contents = [
            Content.read(speaker, text) for speaker, text in zip(speakers, texts, strict=True)
        ]
        self._kinds.extend([content.kind for content in contents])
        lengths = [len(content.words) for content in contents]
        self._starts.extend(len(self._words) + np.cumsum(lengths, dtype=np.int64))
        self._words.extend([word for content in contents for word in content.words])
        self._tokens.extend([count_tokens(f"\n{line}") for line in lines])

    @property
    def tokens(self) -> NDArray[np.int32]:
        """The tokens of each candidate's line after a line break."""
        return self._tokens.values

    @property
    def asks(self) -> NDArray[np.bool_]:
        """Whether each candidate ends with a question."""
        return (self._kinds.values & 1).astype(np.bool_)

    def read(self, positions: Sequence[int] | Positions) -> Iterator[Content]:
        """Yield the contents of some candidates."""
        at, words, starts = np.array(positions, np.int64), self._words.values, self._starts.values
        columns = (self._kinds.values[at], starts[at], starts[at + 1])
        for kind, start, end in zip(*(column.tolist() for column in columns), strict=True):
            yield Content(kind, tuple(words[start:end].tolist()))

    def state(self) -> dict[str, Any]:
        """Return all that :meth:`restore` needs."""
        return array_state(self)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the contents of other candidates."""
        restore_arrays(self, state)
