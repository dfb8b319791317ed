"""Whether a text that is kept repeats what was erased."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from sys import intern

from theanine.sentences import sentence_ends
from theanine.stop_words import STOP_WORDS
from theanine.tokenizer import encode

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u30a1-\u30ff\u3400-\u9fff]+")
"""Characters that tell something, in scripts without spaces."""
_HAS_DIGIT = re.compile(r"\d")
_SENTENCE_BEGINS = re.compile(r"""(?:^|[.!?…:\n])[\s"'“”„‘’«»(\[*>-]*$""")
_BEFORE = 20
"""Characters before a word that are looked at."""
_STOP_WORDS = STOP_WORDS["en"] | STOP_WORDS["de"] | STOP_WORDS["es"]
_POLITE = frozenset("sie ihr ihre ihrem ihren ihrer ihnen".split())
"""German pronouns that are capitalized in the middle of a sentence."""
_FILLERS = frozenset(
    "absolutely actually definitely gladly haha hello hmm indeed maybe nice okay perhaps please "
    "remember shall sorry sounds sure thank thanks today whatever wow yeah yes".split()
)
"""Words that begin many sentences, and tell nothing."""
_FREQUENT_TOKENS = 2_600
"""Below this, a token that begins a sentence is no name; the tokenizer numbers by frequency."""
_ORDINARY_TOKENS = 20_000
"""Below this, a token is an ordinary word."""
_MIN_LETTERS = 4
"""Letters of an ordinary word that tells something."""
_MIN_SHARED = 2
"""Ordinary words that two sentences must share, unless they have the same ones."""


class ErasedWords:
    """The words of erased texts.

    A text repeats them if it has a name, a number or a rare word of theirs, or a sentence that
    shares half of its ordinary words, or half of the other's, with an erased sentence. Names are
    known by their capital letters.
    """

    def __init__(self) -> None:
        self._telling = set[str]()
        self._ordinary = set[str]()
        self._sentences = set[frozenset[str]]()

    def add(self, text: str) -> None:
        """Add the words of an erased text."""
        for telling, ordinary in _split(text):
            self._telling |= telling
            self._ordinary |= ordinary
            self._sentences.add(ordinary)

    def are_repeated_by(self, text: str) -> bool:
        """Whether a text repeats what was erased."""
        return any(
            not self._telling.isdisjoint(telling | ordinary)
            or not self._ordinary.isdisjoint(telling)
            or any(_repeats(ordinary, erased) for erased in self._sentences)
            for telling, ordinary in _split(text)
        )


def _repeats(kept: frozenset[str], erased: frozenset[str]) -> bool:
    """Whether a sentence repeats another one, by the ordinary words of both."""
    shared = len(kept & erased)
    if kept == erased:
        return shared > 0
    return shared >= _MIN_SHARED and 2 * shared >= min(len(kept), len(erased))


def _split(text: str) -> Iterator[tuple[set[str], frozenset[str]]]:
    """Yield the telling and the ordinary words of each sentence.

    They are in lower case; a capitalized word is also among the telling ones as it is written, so
    that one that begins a sentence equals a name, but not the same word in lower case.
    """
    for start, end in pairwise([0, *sentence_ends(text), len(text)]):
        telling, ordinary = set[str](), set[str]()
        for match in _WORD.finditer(text, start, end):
            word, lower = match[0], match[0].casefold()
            is_capitalized = word[0].isupper() and len(word) > 1 and lower not in _POLITE
            if _HAS_DIGIT.search(word) or (is_capitalized and not _begins(text, match.start())):
                telling |= {lower, word.capitalize()}
            elif lower in _STOP_WORDS or lower in _FILLERS:
                continue
            elif unspaced := _UNSPACED.findall(word):
                telling.update(run[i : i + 2] for run in unspaced for i in range(len(run) - 1))
            elif (token := _only_token(lower)) >= _ORDINARY_TOKENS:
                telling.add(lower)
            elif len(word) >= _MIN_LETTERS:
                ordinary.add(intern(lower))  # the sentences of a long session have the same words
                if is_capitalized and token >= _FREQUENT_TOKENS:
                    telling.add(word.capitalize())
        yield telling, frozenset(ordinary)


def _begins(text: str, position: int) -> bool:
    """Whether the word at a position begins a sentence."""
    return bool(_SENTENCE_BEGINS.search(text[max(0, position - _BEFORE) : position]))


@lru_cache(maxsize=20_000)
def _only_token(word: str) -> int:
    """Return the token of a word; of a word of several tokens, that of a rare one."""
    tokens = encode(word)
    return tokens[0] if len(tokens) == 1 else _ORDINARY_TOKENS
