"""Statements as the local linker reads them.

A statement is read once: the people it is about, and its content words with their weights.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from sys import intern

import numpy as np

from theanine.quotes import without_attribution
from theanine.retrieval.languages import Language, guess_language
from theanine.stop_words import STOP_WORDS
from theanine.text import cues
from theanine.text.words import FUNCTION_WORDS, stem, words

MAX_IDF = 9.6
"""Weight of a word that the background texts don't have, about the logarithm of their number."""
MIN_SWAPPED = 4
"""Letters of a word from which two swapped ones are set right."""
MIN_RAREST, MIN_SHARED, MIN_SHARED_BY_OTHERS = 4.0, 4.4, 11.5
"""Weights of :func:`may_be_linked`: of the rarest shared word, and of all."""
_READ = 2_000
"""Characters of a statement that are read."""
_READINGS = 30_000
"""Readings that are cached: up to some 60 MB."""
_ATTACHMENT = re.compile(r" \(shares .*\)$", re.DOTALL)
_LETTERED = re.compile(r"\b(?:speaker|neighbou?r|co-?worker|classmate)s? ([ab])\b", re.IGNORECASE)
_ROLE = re.compile(
    r"^(?:the )?((?:speaker|neighbou?r|co-?worker|classmate|mentee|mentor|athlete|coach|student|"
    r"teacher|patient|doctor|employee|boss|parent|child|husband|wife|friend|user|assistant|agent)"
    r"s?)(?: ([ab])\b)?(?: and (?:the )?(?:\w[\w-]*)? ?([ab])?\b)?",
    re.IGNORECASE,
)
_CAPITALIZED = re.compile(r"\b[A-Z]\w+")


@cache
def word_weights() -> dict[str, float]:
    """Return the weight of each stem in conversations other than the user's.

    That is the logarithm of the inverse share of texts that have it.
    """
    with files("theanine.linking").joinpath("background.npz").open("rb") as file:
        arrays = np.load(file)
        terms = bytes(arrays["terms"]).decode().split("\n")
        return dict(zip(terms, arrays["idf"].tolist(), strict=True))


class Reading:
    """The content words of a statement, with their weights, and whom it is about.

    Attributes:
        people: whom it is about, in lower case.
        reported: whether it is in the third person, not in the speaker's own words.
        idf: weight of each of its content stems.
        words: the first word of each stem.
    """

    def __init__(self, text: str, speakers: tuple[str, ...]) -> None:
        raw = _ATTACHMENT.sub("", without_attribution(text[:_READ]))
        plain = cues.normal(raw)
        self.people, self.reported = _people(plain, speakers)
        cased = raw if speakers else _ROLE.sub(" ", _LETTERED.sub(" ", raw))
        lower = cues.normal(cased)
        language = guess_language(cased)
        left_out = FUNCTION_WORDS | _foreign_function_words(language) | _words_of(speakers)
        capitalized = {name.lower() for name in _CAPITALIZED.findall(raw)}
        meant = (
            {word: intended(word) for word in {*words(lower)} - capitalized}
            if language == "en"
            else {}
        )
        first: dict[str, str] = {}
        for word in words(lower):
            word = meant.get(word, word)
            # Two numbers that are the same don't tell that what is counted is.
            if len(word) > 1 and not word.isdigit() and word not in left_out:
                first.setdefault(stem(word), intern(word))
        known = word_weights()
        self.idf = {term: known.get(term, MAX_IDF) for term in first}
        self.words = tuple(first.values())


@lru_cache(maxsize=_READINGS)
def read_statement(text: str, speakers: tuple[str, ...]) -> Reading:
    """Return the reading of a memory's text; the latest ones are cached."""
    return Reading(text, speakers)


def is_only_by(speakers: Sequence[str], names: frozenset[str]) -> bool:
    """Whether there are speakers, and all of them have one of these names."""
    return bool(speakers) and names.issuperset(speakers)


@lru_cache(maxsize=20_000)
def intended(word: str) -> str:
    """Return the function word that is meant by one with two letters swapped, such as "wiht".

    A word in lower case that is known, or that no swap of adjacent letters makes a function word,
    is returned as it is.
    """
    if len(word) < MIN_SWAPPED or word in FUNCTION_WORDS or stem(word) in word_weights():
        return word
    swaps = (word[:n] + word[n + 1] + word[n] + word[n + 2 :] for n in range(len(word) - 1))
    return next(filter(FUNCTION_WORDS.__contains__, swaps), word)


def may_be_linked(older: Reading, newer: Reading) -> bool:
    """Whether a pair is worth judging, a fast test that passes nearly all that would be linked.

    Two turns, in their speakers' words, must share a rare word, and several if said by different
    people. Statements in the third person are shorter and in more uniform words: all pass.
    """
    if older.reported or newer.reported:
        return True
    shared = older.idf.keys() & newer.idf.keys()
    if not shared:
        return False
    weights = [newer.idf[term] for term in shared]
    needed = MIN_SHARED if older.people & newer.people else MIN_SHARED_BY_OTHERS
    return max(weights) >= MIN_RAREST and sum(weights) >= needed


def _people(plain: str, speakers: tuple[str, ...]) -> tuple[frozenset[str], bool]:
    """Return whom a statement is about, and whether it only reports."""
    if speakers:
        names = _lower(speakers)
        return names, plain.startswith((*names, "both ", "they "))
    if plain.startswith(("both ", "they ")):
        return frozenset("ab"), True
    match = _ROLE.match(plain)
    if match is None:
        return frozenset(_LETTERED.findall(plain[:80])[:1]), True
    letters = frozenset(letter for letter in match.groups()[1:] if letter)
    return letters or frozenset([match[1].rstrip("s")]), True


def _foreign_function_words(language: Language) -> frozenset[str]:
    """Return the function words of a language; none of English, for which the trees are fitted."""
    return frozenset() if language == "en" else STOP_WORDS[language]


@lru_cache
def _lower(speakers: tuple[str, ...]) -> frozenset[str]:
    return frozenset(speaker.lower() for speaker in speakers)


@lru_cache
def _words_of(speakers: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word for speaker in speakers for word in words(speaker))
