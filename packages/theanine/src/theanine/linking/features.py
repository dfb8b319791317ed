"""The features by which the local linker judges a pair of memories.

A statement is read once: its sentences, their content words and the cues in them, the people it is
about, and two vectors. All features of a pair are computed from two such readings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise
from math import log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.static import DIMENSION, StaticEmbedder
from theanine.text import cues
from theanine.text.attribution import without_attribution
from theanine.text.words import FUNCTION_WORDS, sentences, stem, words

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
    ("courtesy", re.compile(rf"^{cues.COURTESY.pattern}")),
)
"""Kinds of cues; a sentence has a bit for each."""
MAX_IDF = 9.6
"""Weight of a word that the background texts don't have, about the logarithm of their number."""
MIN_RAREST, MIN_SHARED, MIN_SHARED_BY_OTHERS = 4.0, 4.4, 11.5
"""Weights of :func:`may_be_linked`: of the rarest shared word, and of all."""
_READ = 2_000
"""Characters of a statement that are read."""
_READINGS, _WORDS = 10_000, 30_000
_ATTACHMENT = re.compile(r" \(shares .*\)$", re.DOTALL)
_LETTERED = re.compile(r"\b(?:speaker|neighbou?r|co-?worker|classmate)s? ([ab])\b")
_ROLE = re.compile(
    r"^(?:the )?((?:speaker|neighbou?r|co-?worker|classmate|mentee|mentor|athlete|coach|student|"
    r"teacher|patient|doctor|employee|boss|parent|child|husband|wife|friend|user|assistant|agent)"
    r"s?)(?: ([ab])\b)?(?: and (?:the )?(?:\w[\w-]*)? ?([ab])?\b)?"
)
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z]\w+")
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
    """

    def __init__(self, text: str, speakers: tuple[str, ...]) -> None:
        self._raw = _ATTACHMENT.sub("", without_attribution(text[:_READ]))
        plain = cues.normal(self._raw)
        self.people, self.mentioned, self.reported = _people(plain, speakers)
        self._omitted = {word for speaker in speakers for word in words(speaker)}
        self.text = _ROLE.sub(" ", _LETTERED.sub(" ", plain)) if not speakers else plain
        self._words = words(self.text)
        self._stems: dict[str, str] = {}  # each with its first word
        for word in self._words:
            if self._is_content(word):
                self._stems.setdefault(stem(word), word)
        known = load_background().idf
        self.idf = {term: known.get(term, MAX_IDF) for term in self._stems}
        self.total = sum(self.idf.values()) or 1e-9

    def _is_content(self, word: str) -> bool:
        return len(word) > 1 and word not in FUNCTION_WORDS and word not in self._omitted

    @cached_property
    def sentences(self) -> list[tuple[frozenset[str], int]]:
        """The content stems of each sentence, and the bits of the cues in it."""
        parts = [self.text[start:end] for start, end in sentences(self.text)]
        return [
            (frozenset(stem(w) for w in words(part) if self._is_content(w)), _bits(part))
            for part in parts
        ]

    @cached_property
    def cues(self) -> int:
        """The bits of all sentences."""
        return _union(bits for _, bits in self.sentences)

    @cached_property
    def vectors(self) -> Features:
        """Vectors of its content words, ``(stems, d)``, unit norm."""
        if not self._stems:
            return np.zeros((0, DIMENSION), np.float32)
        return np.stack([_word_vector(word) for word in self._stems.values()])

    @cached_property
    def weights(self) -> Features:
        """``idf`` as an array."""
        return np.fromiter(self.idf.values(), np.float32, len(self.idf))

    @cached_property
    def mean(self) -> Features:
        """Vector of the whole text, unit norm or zero."""
        return _embedder().vectors([self.text])[0]

    @staticmethod
    def embed(readings: Iterable[Reading]) -> None:
        """Embed the texts and words of several readings at once, much faster than one by one."""
        new = [reading for reading in readings if "mean" not in reading.__dict__]
        if not new:
            return
        missing = {w for r in new for w in r._stems.values()} - _word_vectors.keys()
        if len(_word_vectors) + len(missing) > _WORDS:
            _word_vectors.clear()
        terms = sorted(missing)
        vectors = _embedder().vectors([*terms, *(reading.text for reading in new)])
        _word_vectors.update(zip(terms, map(np.copy, vectors), strict=False))
        for reading, vector in zip(new, vectors[len(terms) :], strict=True):
            reading.mean = vector.copy()  # a view would keep all vectors of the batch

    @cached_property
    def weighted(self) -> Features:
        """Mean of ``vectors`` by ``weights``, unit norm or zero."""
        return _unit(self.weights @ self.vectors)

    @cached_property
    def centered(self) -> tuple[Features, Features]:
        """``mean`` and ``weighted`` without those of other conversations, unit norm."""
        background = load_background()
        return _unit(self.mean - background.mean), _unit(self.weighted - background.weighted)

    @cached_property
    def names(self) -> frozenset[str]:
        """Capitalized words within its sentences."""
        return frozenset(name.lower() for name in _NAME.findall(self._raw)) - self._omitted

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Numbers in digits."""
        return frozenset(_NUMBER.findall(self._raw))

    @cached_property
    def bigrams(self) -> frozenset[tuple[str, str]]:
        """Adjacent words."""
        return frozenset(pairwise(self._words))


@lru_cache(maxsize=_READINGS)
def read_statement(text: str, speakers: tuple[str, ...]) -> Reading:
    """Return the reading of a memory's text; the latest ones are cached."""
    return Reading(text, speakers)


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
        names = frozenset(speaker.lower() for speaker in speakers)
        return names, frozenset(), plain.startswith((*names, "both ", "they "))
    mentioned = frozenset(_LETTERED.findall(plain))
    if plain.startswith(("both ", "they ")):
        return frozenset("ab"), mentioned, True
    match = _ROLE.match(plain)
    if match is None:
        return frozenset(_LETTERED.findall(plain[:80])[:1]), mentioned, True
    letters = frozenset(letter for letter in match.groups()[1:] if letter)
    return letters or frozenset([match[1].rstrip("s")]), mentioned, True


def _bits(sentence: str) -> int:
    bits = 0
    for number, (_, pattern) in enumerate(CUES):
        if pattern.search(sentence):
            bits |= 1 << number
    return bits


@cache
def _embedder() -> StaticEmbedder:
    return StaticEmbedder()


_word_vectors: dict[str, Features] = {}


def _word_vector(word: str) -> Features:
    vector = _word_vectors.get(word)
    if vector is None:
        vector = _word_vectors[word] = _embedder().vectors([word])[0]
    return vector


_IN_RELATED = tuple(
    number
    for number, (name, _) in enumerate(CUES)
    if name
    in {
        "wish", "feeling", "hindrance", "change", "because", "so", "negation", "past", "future",
        "news", "continued", "trouble", "question", "first person", "second person",
    }
)  # fmt: skip
"""Cues that count by themselves in the sentences that share content words with the other one."""


def feature_names() -> list[str]:
    """Return the name of each column of :func:`pair_features`."""
    kinds = [name for name, _ in CUES]
    related = [kinds[number] for number in _IN_RELATED]
    return [
        *_NUMBERS,
        *(f"older: {name}" for name in kinds),
        *(f"newer: {name}" for name in kinds),
        *(f"older, related: {name}" for name in related),
        *(f"newer, related: {name}" for name in related),
    ]


def pair_features(pairs: Sequence[tuple[Reading, Reading, float | None]]) -> Features:
    """Return the features of pairs of an older and a newer reading, ``(pairs, features)``.

    The third entry of a pair is the days between the two, None if unknown.
    """
    Reading.embed({id(r): r for o, n, _ in pairs for r in (o, n)}.values())
    numbers = np.array([_numbers(o, n, days) for o, n, days in pairs], np.float32)
    bits = np.array(
        [(o.cues, n.cues, related_cues(o, n), related_cues(n, o)) for o, n, _ in pairs], np.int64
    )
    every, some = np.arange(len(CUES)), np.array(_IN_RELATED)
    flags = [
        bits[:, i, None] >> positions & 1 for i, positions in enumerate((every, every, some, some))
    ]
    return np.hstack([numbers, *flags]).astype(np.float32)


def related_cues(reading: Reading, other: Reading) -> int:
    """Return the bits of a statement's sentences that share content words with another one."""
    return _union(bits for stems, bits in reading.sentences if not stems.isdisjoint(other.idf))


def _union(sets: Iterable[int]) -> int:
    total = 0
    for bits in sets:
        total |= bits
    return total


_NUMBERS = (
    "cosine", "centered cosine", "weighted cosine", "centered weighted cosine",
    "shared words", "rarest shared word", "second rarest", "third rarest", "shared weight",
    "share of newer", "share of older", "share of both", "larger share", "smaller share",
    "newer in older", "older in newer", "best alike", "three best alike",
    "best match", "second match", "third match", "five matches",
    "bigrams", "content bigrams", "names", "numbers",
    "same person", "same people", "third mentioned", "reported", "days", "undated",
    "older words", "newer words", "fewer words", "more words", "older weight", "newer weight",
)  # fmt: skip


def _numbers(older: Reading, newer: Reading, days: float | None) -> tuple[float, ...]:
    shared = older.idf.keys() & newer.idf.keys()
    rarest = sorted((newer.idf[term] for term in shared), reverse=True)
    weight = sum(rarest)
    rarest += [0.0, 0.0, 0.0]
    of_newer, of_older = weight / newer.total, weight / older.total
    common = older.bigrams & newer.bigrams
    content = [sum(word not in FUNCTION_WORDS for word in pair) for pair in common]
    known = bool(older.people and newer.people)
    before, after = log1p(len(older.idf)), log1p(len(newer.idf))
    return (
        float(older.mean @ newer.mean),
        float(older.centered[0] @ newer.centered[0]),
        float(older.weighted @ newer.weighted),
        float(older.centered[1] @ newer.centered[1]),
        min(6, len(shared)),
        rarest[0] / MAX_IDF,
        rarest[1] / MAX_IDF,
        rarest[2] / MAX_IDF,
        min(3.0, weight / MAX_IDF),
        of_newer,
        of_older,
        weight / (newer.total + older.total - weight),
        max(of_newer, of_older),
        min(of_newer, of_older),
        *_alignment(older, newer),
        min(5, sum(count > 0 for count in content)),
        min(3, sum(count > 1 for count in content)),
        min(2, len(older.names & newer.names)),
        min(2, len(older.numbers & newer.numbers)),
        float(not older.people.isdisjoint(newer.people)) if known else 0.5,
        float(older.people == newer.people),
        float(bool(newer.mentioned - older.people)),
        float(older.reported),
        2.5 if days is None else log1p(max(0.0, days)),
        float(days is None),
        before,
        after,
        min(before, after),
        max(before, after),
        min(60.0, older.total) / 30,
        min(60.0, newer.total) / 30,
    )


def _alignment(older: Reading, newer: Reading) -> tuple[float, ...]:
    """Return how well the words of each have a similar word in the other."""
    if not older.idf or not newer.idf:
        return (0.0,) * 8
    alike = older.vectors @ newer.vectors.T
    weights = older.weights[:, None] * newer.weights / MAX_IDF**2
    to_older, to_newer = alike.max(0), alike.max(1)
    others = np.where(alike > 0.999, 0, alike * weights).ravel()
    best = np.partition(others, max(0, len(others) - 3))[-3:]
    matches = np.sort((alike * weights).max(0))[::-1]
    padded = [*matches[:3].tolist(), 0.0, 0.0]
    return (
        float(to_older @ newer.weights / newer.weights.sum()),
        float(to_newer @ older.weights / older.weights.sum()),
        float(best.max()),
        float(best.mean()),
        *padded[:3],
        float(matches[:5].sum()),
    )


def _unit(vector: Features) -> Features:
    return vector / np.float32(max(sqrt(float(vector @ vector)), 1e-6))
