"""Bring a running summary up to date without a language model: newest sentences first.

Extractive: a sentence is ``Ana said on 8 May 2023: “her own words”``, and nothing else is added.
"""

from __future__ import annotations

from collections.abc import Sequence

from theanine.summarization.local_summarize import local_summarize, without_attribution
from theanine.summarization.running_summary import Sentence
from theanine.text.words import containment, content_words
from theanine.types import NewMemory, Turn

SHARE = 4
"""Once the summary is full, a session may bring this part of it anew: the last four are there."""
REPEATED = 0.8
"""Share of a sentence's content words in a newer one from which the newer one stands for both."""
ENOUGH = 15
"""Content words from which a statement is worth no more for being longer."""


def local_update_summary(
    summary: Sequence[Sentence], turns: Sequence[Turn], *, most: int, dated: bool = True
) -> list[Sentence]:
    """At most ``most`` sentences: the best statements of the turns, then the newest of before.

    The best statements are those with most to say. One that a newer one repeats makes room for it.
    """
    room = max(most - len(summary), most // SHARE, 1)
    updated = list(summary)
    for statement in _best(local_summarize(turns, dated=dated), room):
        said = content_words(without_attribution(statement.text))
        repeated = [one for one in updated if _contained(one, said)]
        kept = sorted({number for one in repeated for number in one.stands_for})
        updated = [one for one in updated if one not in repeated]
        updated.append(_sentence(statement, tuple(kept), dated))
    newest = sorted(range(len(updated)), key=lambda i: (updated[i].at, i))[-most:]
    return [updated[i] for i in sorted(newest)]


def _best(statements: Sequence[NewMemory], most: int) -> list[NewMemory]:
    """Those with most content words, the newer of two alike, in their order."""

    def worth(place: int) -> tuple[int, int]:
        return (min(len(content_words(without_attribution(statements[place].text))), ENOUGH), place)

    best = sorted(range(len(statements)), key=worth)[-most:]
    return [statements[place] for place in sorted(best)]


def _contained(sentence: Sentence, said: frozenset[str]) -> bool:
    return containment(content_words(without_attribution(sentence.text)), said) >= REPEATED


def _sentence(statement: NewMemory, kept: tuple[int, ...], dated: bool) -> Sentence:
    return Sentence(
        text=statement.text,
        at=statement.at,
        sources=statement.source_turns,
        speakers=statement.speakers,
        kept=kept,
        dated=dated,
    )
