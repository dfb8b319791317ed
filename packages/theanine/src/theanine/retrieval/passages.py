"""Split long turns into passages, the smallest units that retrieval ranks."""

from __future__ import annotations

from itertools import pairwise

from theanine.sentences import Span, sentence_spans

PASSAGE_WORDS = 50
"""Words of a passage, roughly: a sentence is never cut unless it is twice as long."""
_BYTES_PER_WORD = 8
"""Words of scripts without spaces are estimated from the length in UTF-8."""


def split_passages(text: str) -> list[Span]:
    """Return the spans of a text's passages, in order; one span for a text of ordinary length."""
    if _words(text) <= PASSAGE_WORDS * 1.5:
        return [(0, len(text))]
    spans: list[Span] = []
    start = end = words = 0
    for first, last in _sentences(text):
        length = _words(text[first:last])
        if words and words + length > PASSAGE_WORDS:
            spans.append((start, end))
            start, words = first, 0
        end, words = last, words + length
    return [*spans, (start, end)]


def _sentences(text: str) -> list[Span]:
    """Return the spans of sentences and lines; one of twice a passage's length is cut at spaces."""
    starts = [start for start, _ in sentence_spans(text)]
    spans: list[Span] = []
    for first, last in pairwise((0, *starts[1:], len(text))):
        start = first
        while _words(text[start:last]) > 2 * PASSAGE_WORDS:
            limit = start + PASSAGE_WORDS * _BYTES_PER_WORD // len(text[start].encode()[:4] or b" ")
            cut = text.rfind(" ", start + 1, limit) + 1 or limit
            spans.append((start, cut))
            start = cut
        if start < last:
            spans.append((start, last))
    return spans


def _words(text: str) -> int:
    return max(len(text.split()), len(text.encode("utf-8", "replace")) // _BYTES_PER_WORD)
