"""BM25 over documents that are added over time: postings are appended, never rebuilt.

Written here because the libraries build their index over a fixed corpus, and because the ranking
needs term saturations apart from their weights (see :mod:`theanine.retrieval.neighbors`).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log1p
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theanine.retrieval.languages import split_words

K1, B = 1.5, 0.75
K1_SATURATION, B_SATURATION = 0.9, 0.4
"""For :meth:`BM25Index.tf_saturation`: a second occurrence of a term adds little."""
MAX_TERMS = 24
"""Query terms that :meth:`BM25Index.postings` looks up: a long dialogue has a hundred."""


def content_words(text: str) -> list[str]:
    """Split a text into lower-case words without stop words, in English where they are known.

    Scripts without spaces are split into known words, characters and pairs of characters.
    """
    return [word for word, _ in split_words(text)]


def tokenize(text: str) -> list[str]:
    """Return the stems of a text's content words, its terms."""
    return [term for _, term in split_words(text)]


@dataclass(frozen=True, slots=True, eq=False)
class Posting:
    """The documents that contain a term.

    Attributes:
        documents: document numbers, ascending.
        counts: occurrences in each.
        idf: the term's inverse document frequency.
    """

    documents: NDArray[np.int32]
    counts: NDArray[np.int32]
    idf: float


class BM25Index:
    """An inverted index over documents numbered 0, 1, 2, … in order of arrival."""

    def __init__(self) -> None:
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        # Terms whose postings lie in restored arrays, until they are first looked up: a query needs
        # a few of them, and to make all would take most of the time of restoring. They are one
        # text, each between line breaks, or by their numbers once documents are added.
        self._restored_terms = ""
        self._unread: dict[str, int] = {}
        self._ends = np.zeros(0, np.int64)
        self._restored: tuple[NDArray[np.signedinteger], NDArray[np.signedinteger]]
        self._restored = (np.zeros(0, np.int32), np.zeros(0, np.int32))
        self._lengths = array("i")
        self._total_length = 0

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def read_terms(self) -> int:
        """Terms whose postings were looked up or added: these take half a kilobyte each."""
        return len(self._postings)

    def state(self) -> dict[str, Any]:
        """Return all that :meth:`restore` needs."""
        self._number_terms()
        for term in [*self._unread]:
            self._posting(term)
        postings = self._postings.values()
        return {
            "terms": "".join(f"\n{term}" for term in self._postings),
            "ends": np.cumsum([len(documents) for documents, _ in postings], dtype=np.int64),
            "documents": _concatenate(documents for documents, _ in postings),
            "counts": _concatenate(counts for _, counts in postings),
            "lengths": np.array(self._lengths),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the documents of another index."""
        self._restored_terms = f"{state['terms']}\n"
        self._ends = state["ends"].copy()
        self._restored = (state["documents"].copy(), state["counts"].copy())  # not the whole file
        self._lengths = array("i", state["lengths"].astype(np.intc).tobytes())
        self._total_length = int(state["lengths"].sum())

    def _posting(self, term: str) -> tuple[array[int], array[int]] | None:
        """Return the documents that contain a term, and its counts in them; None without any."""
        posting = self._postings.get(term)
        if posting is None and (number := self._find_unread(term)) is not None:
            place = slice(self._ends[number - 1] if number else 0, self._ends[number])
            documents, counts = (
                array("i", a[place].astype(np.intc).tobytes()) for a in self._restored
            )
            posting = self._postings[term] = (documents, counts)
        return posting

    def _find_unread(self, term: str) -> int | None:
        """Return the number of a term whose postings were not looked up yet."""
        if not self._restored_terms:
            return self._unread.pop(term, None)
        place = self._restored_terms.find(f"\n{term}\n")
        return None if place < 0 else self._restored_terms.count("\n", 0, place)

    def _number_terms(self) -> None:
        """Prepare to look up all or many terms."""
        terms = self._restored_terms.split("\n")[1:-1]
        self._unread |= {
            term: number for number, term in enumerate(terms) if term not in self._postings
        }
        self._restored_terms = ""

    def add(self, text: str) -> int:
        """Index a document and return its number of terms."""
        if self._restored_terms:
            self._number_terms()
        counts = Counter(tokenize(text))
        number = len(self._lengths)
        for term, count in counts.items():
            if (posting := self._posting(term)) is None:
                posting = self._postings[term] = (array("i"), array("i"))
            posting[0].append(number)
            posting[1].append(count)
        length = sum(counts.values())
        self._lengths.append(length)
        self._total_length += length
        return length

    def saturations(self, terms: Iterable[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the two factors of BM25 for the postings of the terms.

        These are the term frequency saturations, ``(t, n)`` from 0 to 1, and the terms' idf,
        ``(t,)``.
        """
        postings = self.postings(terms)
        saturations = np.zeros((len(postings), len(self._lengths)), np.float32)
        if postings:
            documents = np.concatenate([posting.documents for posting in postings])
            counts = np.concatenate([posting.counts for posting in postings])
            rows = np.repeat(np.arange(len(postings)), [len(p.documents) for p in postings])
            saturations[rows, documents] = self.tf_saturation(documents, counts)
        return saturations, np.array([posting.idf for posting in postings], np.float32)

    def postings(self, terms: Iterable[str], limit: int | None = None) -> list[Posting]:
        """Return the postings of indexed terms: the :data:`MAX_TERMS` rarest, rarest first.

        With a limit, those that have at most so many entries together, and at least the latest
        entries of the first one.
        """
        indexed = [(term, posting) for term in set(terms) if (posting := self._posting(term))]
        indexed.sort(key=lambda entry: (len(entry[1][0]), entry[0]))
        result: list[Posting] = []
        for _, (documents, counts) in indexed[:MAX_TERMS]:
            idf = self._idf(len(documents))
            if limit is not None:
                if result and len(documents) > limit:
                    break
                documents, counts = documents[-limit:], counts[-limit:]
                limit -= len(documents)
            # Copied, since an array that exports its buffer can't grow when a document is added.
            result.append(Posting(np.array(documents), np.array(counts), idf))
        return result

    def tf_saturation(
        self, documents: NDArray[np.int32], counts: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """Return BM25's saturation of term counts in documents, 0 to 1, ``(m,)``."""
        lengths = np.frombuffer(self._lengths, np.intc)[documents]
        frequencies = counts.astype(np.float32)
        norms = self._length_norm(K1_SATURATION, B_SATURATION, lengths)
        return np.asarray(frequencies / (frequencies + norms), np.float32)

    def scores(self, query: str) -> NDArray[np.float32]:
        """Return Robertson's BM25 of every document, ``(n,)``, with the idf of Lucene."""
        n = len(self._lengths)
        scores = np.zeros(n, np.float32)
        if n == 0:
            return scores
        norms = self._length_norm(K1, B, self._lengths)
        for term in sorted(set(tokenize(query))):
            if (posting := self._posting(term)) is None:
                continue
            documents, counts = np.array(posting[0]), np.array(posting[1], np.float32)
            idf = self._idf(len(documents))
            scores[documents] += idf * counts * (K1 + 1) / (counts + norms[documents])
        return scores

    def has(self, term: str, without: frozenset[int] = frozenset()) -> bool:
        """Whether a document contains a term, besides those numbered ``without``."""
        posting = self._posting(term)
        return posting is not None and any(number not in without for number in posting[0])

    def documents(self, term: str) -> NDArray[np.int32]:
        """Return the numbers of the documents that contain a term."""
        posting = self._posting(term)
        return np.array(posting[0] if posting else (), np.int32)

    def terms(self) -> list[str]:
        """Return all terms."""
        return [*self._postings, *self._unread, *self._restored_terms.split("\n")[1:-1]]

    def idf(self, term: str) -> float:
        """Return the inverse document frequency of a term, indexed or not."""
        posting = self._posting(term)
        return self._idf(len(posting[0]) if posting else 0)

    def _idf(self, documents: int) -> float:
        """Return the inverse document frequency of a term in so many documents."""
        return log1p((len(self._lengths) - documents + 0.5) / (documents + 0.5))

    def _length_norm(self, k1: float, b: float, lengths: ArrayLike) -> NDArray[np.float32]:
        """Return BM25's length normalization, which is added to term counts."""
        average = max(self._total_length / max(len(self._lengths), 1), 1e-9)
        return np.asarray(k1 * (1 - b + b * np.array(lengths, np.float32) / average), np.float32)


def _concatenate(arrays: Iterable[array[int]]) -> NDArray[np.int32]:
    return np.frombuffer(b"".join(arrays), np.int32)
