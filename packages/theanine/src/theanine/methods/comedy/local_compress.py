"""Compress without a language model: the newest quotes of each part, none that only repeats."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.comedy.aspects import ASPECTS
from theanine.methods.comedy.compress import Piece
from theanine.methods.comedy.local_notes import lasting
from theanine.text.attribution import without_attribution
from theanine.text.cues import NEGATION, normal
from theanine.text.words import containment, content_words

REPEATED = 0.8
"""Share of a quote's content words in a newer one from which it adds nothing."""


def local_compress(notes: Sequence[Piece], sentences: int) -> list[Piece]:
    """At most ``sentences`` notes of each part, word for word, the newest first.

    They are the newest, but those of the portrait that say most of their speaker for good.
    """
    newest = sorted(notes, key=lambda piece: (piece.at, max(piece.sources, default=0)))[::-1]
    kept: list[Piece] = []
    for aspect in ASPECTS:
        of = [piece for piece in newest if piece.aspect == aspect]
        if aspect == "portrait":
            of.sort(key=lambda piece: -lasting(without_attribution(piece.text)))
        chosen = _without_repeats(of, sentences)
        kept += [piece for piece in newest if any(piece is one for one in chosen)]
    return kept


def _without_repeats(pieces: Sequence[Piece], most: int) -> list[Piece]:
    kept: list[Piece] = []
    said: list[tuple[frozenset[str], bool]] = []
    for piece in pieces:
        words = without_attribution(piece.text)
        this = (content_words(words), NEGATION.search(normal(words)) is not None)
        if not any(other[1] == this[1] and containment(this[0], other[0]) >= REPEATED
                   for other in said):  # fmt: skip
            kept.append(piece)
            said.append(this)
        if len(kept) == most:
            break
    return kept
