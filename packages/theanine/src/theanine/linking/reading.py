"""Statements as the local linker reads them.

A statement is read once: the people it is about, its content words with their weights, the cues in
its sentences, and two vectors. :mod:`theanine.linking.features` compares two such readings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import count, pairwise
from math import sqrt
from sys import intern
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.static import DIMENSION, bundled_embedder
from theanine.lazy_pattern import lazy_pattern
from theanine.quotes import without_attribution
from theanine.retrieval.growing_array import GrowingArray
from theanine.retrieval.languages import Language, guess_language
from theanine.sentences import sentence_spans
from theanine.stop_words import STOP_WORDS
from theanine.text import cues
from theanine.text.words import FUNCTION_WORDS, stem, words

Features = NDArray[np.float32]

CUES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("wish", cues.DESIRE),
    ("feeling", cues.FEELING),
    ("hindrance", cues.HINDRANCE),
    ("change", cues.CHANGE),
    ("because", cues.EFFECT_THEN_CAUSE),
    ("so", cues.CAUSE_THEN_EFFECT),
    ("negation", cues.NEGATION),
    ("past", cues.PAST),
    ("future", cues.FUTURE),
    ("present", cues.PRESENT),
    ("news", cues.NEWS),
    ("continued", cues.CONTINUED),
    ("trouble", cues.TROUBLE),
    ("liking", cues.LIKING),
    ("advice", cues.ADVICE),
    ("thanks", cues.THANKS),
    ("first person", cues.FIRST_PERSON),
    ("second person", cues.SECOND_PERSON),
    ("time", cues.TIME),
    ("motive", cues.MOTIVE),
    ("question", re.compile(r"\?")),
    ("exclamation", re.compile("!")),
    ("courtesy", lazy_pattern(lambda: rf"^{cues.COURTESY.pattern}")),
)
"""Kinds of cues; a sentence has a bit for each."""
MAX_IDF = 9.6
"""Weight of a word that the background texts don't have, about the logarithm of their number."""
MIN_SWAPPED = 4
"""Letters of a word from which two swapped ones are set right."""
MIN_RAREST, MIN_SHARED, MIN_SHARED_BY_OTHERS = 4.0, 4.4, 11.5
"""Weights of :func:`may_be_linked`: of the rarest shared word, and of all."""
_READ = 2_000
"""Characters of a statement that are read."""
_READINGS, _WORDS = 30_000, 30_000
"""Readings and words of which the vectors are cached: up to some 120 and 30 MB."""
_ATTACHMENT = re.compile(r" \(shares .*\)$", re.DOTALL)
_LETTERED = re.compile(r"\b(?:speaker|neighbou?r|co-?worker|classmate)s? ([ab])\b", re.IGNORECASE)
_ROLE = re.compile(
    r"^(?:the )?((?:speaker|neighbou?r|co-?worker|classmate|mentee|mentor|athlete|coach|student|"
    r"teacher|patient|doctor|employee|boss|parent|child|husband|wife|friend|user|assistant|agent)"
    r"s?)(?: ([ab])\b)?(?: and (?:the )?(?:\w[\w-]*)? ?([ab])?\b)?",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z]\w+")
_CAPITALIZED = re.compile(r"\b[A-Z]\w+")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """Statistics of conversations other than the user's.

    Attributes:
        idf: weight of each stem, the logarithm of the inverse share of texts that have it.
        mean: mean vector of texts, ``(d,)``.
        weighted: mean of the weighted word vectors of texts, ``(d,)``.
    """

    idf: dict[str, float]
    mean: Features
    weighted: Features


@cache
def load_background() -> Background:
    """Load the bundled statistics."""
    with files("theanine.linking").joinpath("background.npz").open("rb") as file:
        arrays = np.load(file)
        terms = bytes(arrays["terms"]).decode().split("\n")
        idf = dict(zip(terms, arrays["idf"].tolist(), strict=True))
        return Background(idf, arrays["mean"], arrays["weighted"])


class Reading:
    """A statement as the features see it; what takes longer is read when first needed.

    Attributes:
        text: in lower case, without its attribution and attachment.
        people: whom it is about, in lower case.
        mentioned: further people of a statement in the third person.
        reported: whether it is in the third person, not in the speaker's own words.
        idf: weight of each of its content stems.
        total: their sum.
        terms, weights: a number for each stem, and its weight, as arrays.
        words: the first word of each stem.
        names: capitalized words within its sentences.
        numbers: numbers in digits.
        bigrams: a number for each two adjacent words that are not both function words; odd if
            neither is one.
    """

    def __init__(self, text: str, speakers: tuple[str, ...]) -> None:
        raw = _ATTACHMENT.sub("", without_attribution(text[:_READ]))
        plain = cues.normal(raw)
        self.people, self.mentioned, self.reported = _people(plain, speakers)
        self._omitted = _words_of(speakers)
        self._cased = raw if speakers else _ROLE.sub(" ", _LETTERED.sub(" ", raw))
        self.text = cues.normal(self._cased)
        language = guess_language(self._cased)
        self._function_words = FUNCTION_WORDS | _foreign_function_words(language)
        capitalized = {name.lower() for name in _CAPITALIZED.findall(raw)}
        self._meant = (
            {word: intended(word) for word in {*words(self.text)} - capitalized}
            if language == "en"
            else {}
        )
        spoken = [self._meant.get(word, word) for word in words(self.text)]
        first: dict[str, str] = {}
        for word in spoken:
            if self._is_content(word):
                first.setdefault(stem(word), intern(word))
        known = load_background().idf
        self.idf = {term: known.get(term, MAX_IDF) for term in first}
        self.total = sum(self.idf.values()) or 1e-9
        self.words = tuple(first.values())
        self.terms = np.fromiter(map(hash, first), np.int64, len(first))
        self.weights = np.fromiter(self.idf.values(), np.float64, len(first))
        self.names = frozenset(name.lower() for name in _NAME.findall(raw)) - self._omitted
        self.numbers = frozenset(_NUMBER.findall(raw))
        self.bigrams = _number_bigrams(spoken)

    def _is_content(self, word: str) -> bool:
        # Two numbers that are the same don't tell that what is counted is.
        is_number = word.isdigit()
        return len(word) > 1 and not is_number and word not in self._function_words | self._omitted

    @cached_property
    def _cues(self) -> tuple[int, NDArray[np.int32]]:
        every, of_terms = 0, dict.fromkeys(self.idf, 0)
        for start, end in sentence_spans(self._cased):
            part = cues.normal(self._cased[start:end])
            bits = _bits(part)
            every |= bits
            for word in words(part):
                word = self._meant.get(word, word)
                if (term := stem(word)) in of_terms and self._is_content(word):
                    of_terms[term] |= bits
        return every, np.fromiter(of_terms.values(), np.int32, len(of_terms))

    @property
    def cues(self) -> int:
        """The bits of the cues in it."""
        return self._cues[0]

    @property
    def term_cues(self) -> NDArray[np.int32]:
        """For each stem, the bits of the cues in the sentences that have it."""
        return self._cues[1]

    @cached_property
    def vectors(self) -> Features:
        """Vector of the text, and mean of its content words' vectors by weight: ``(2, d)``.

        Each is of unit norm or zero.
        """
        Reading.embed([self])
        return self.vectors

    @staticmethod
    def embed(readings: Iterable[Reading]) -> None:
        """Embed several readings at once, much faster than one by one."""
        new = [reading for reading in readings if "vectors" not in reading.__dict__]
        if not new:
            return
        means = bundled_embedder().vectors([reading.text for reading in new])
        word_vectors, rows = embed_words([word for reading in new for word in reading.words])
        ends = np.cumsum([len(reading.words) for reading in new])
        for reading, mean, own in zip(new, means, np.split(rows, ends[:-1]), strict=True):
            weighted = reading.weights.astype(np.float32) @ word_vectors[own]
            norm = np.float32(max(sqrt(float(weighted @ weighted)), 1e-6))
            reading.vectors = np.stack([mean, weighted / norm])


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
    if len(word) < MIN_SWAPPED or word in FUNCTION_WORDS or stem(word) in load_background().idf:
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


def _people(plain: str, speakers: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str], bool]:
    """Return whom a statement is about, whom else it mentions, and whether it only reports."""
    if speakers:
        names = _lower(speakers)
        return names, frozenset(), plain.startswith((*names, "both ", "they "))
    mentioned = frozenset(_LETTERED.findall(plain))
    if plain.startswith(("both ", "they ")):
        return frozenset("ab"), mentioned, True
    match = _ROLE.match(plain)
    if match is None:
        return frozenset(_LETTERED.findall(plain[:80])[:1]), mentioned, True
    letters = frozenset(letter for letter in match.groups()[1:] if letter)
    return letters or frozenset([match[1].rstrip("s")]), mentioned, True


def _foreign_function_words(language: Language) -> frozenset[str]:
    """Return the function words of a language; none of English, for which the trees are fitted."""
    return frozenset() if language == "en" else STOP_WORDS[language]


@lru_cache
def _lower(speakers: tuple[str, ...]) -> frozenset[str]:
    return frozenset(speaker.lower() for speaker in speakers)


@lru_cache
def _words_of(speakers: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word for speaker in speakers for word in words(speaker))


def _number_bigrams(spoken: Sequence[str]) -> NDArray[np.int64]:
    numbers = {
        hash((a, b)) & -2 | (a not in FUNCTION_WORDS and b not in FUNCTION_WORDS)
        for a, b in pairwise(spoken)
        if a not in FUNCTION_WORDS or b not in FUNCTION_WORDS
    }
    return np.fromiter(numbers, np.int64, len(numbers))


def _bits(sentence: str) -> int:
    bits = 0
    for number, (_, pattern) in enumerate(CUES):
        if pattern.search(sentence):
            bits |= 1 << number
    return bits


_word_rows: dict[str, int] = {}
_NO_WORDS = np.zeros((0, DIMENSION), np.float32)
_word_vectors: GrowingArray[np.float32] = GrowingArray(np.float32, _NO_WORDS)
_adding_words = Lock()


def embed_words(spoken: Sequence[str]) -> tuple[Features, NDArray[np.int64]]:
    """Return vectors of words, of unit norm or zero, and the row of each word in them."""
    with _adding_words:
        missing = [word for word in dict.fromkeys(spoken) if word not in _word_rows]
        if len(_word_rows) + len(missing) > _WORDS:
            _word_rows.clear()
            _word_vectors.restore(_NO_WORDS)
            missing = list(dict.fromkeys(spoken))
        _word_rows.update(zip(missing, count(len(_word_rows)), strict=False))
        _word_vectors.extend(bundled_embedder().vectors(missing))
        rows = np.array([_word_rows[word] for word in spoken], np.int64)
        return _word_vectors.values, rows
