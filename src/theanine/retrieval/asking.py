"""What a question shows besides its subject: who asks, about whom, and about what days.

The wording cues are English and only ever add evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

UNNAMED = ("user", "assistant", "agent", "system", "human", "ai", "bot")
"""Speakers' names that stand for a role: they are ordinary words when they are in a question."""

_FIRST_PERSON = re.compile(r"(?<!\w)(?:i|i['’](?:m|ve|d|ll)|me|my|mine|myself)(?!\w)", re.I)
# A summary is of what both sides said.
_SUMMARY = re.compile(r"\b(?:summar\w+|overview|recap)\b", re.IGNORECASE)
_STANDING = re.compile(
    r"\b(?:always|never)\b[^.?!]*\b(?:when(?:ever)?|if) i\b|\bi(?:['’]d| would)? (?:prefer|rather)"
    r"\b|\bfrom now on\b|\b(?:when(?:ever)?|each time|every time) i ask\b|"
    r"\bplease (?:always|never)\b|\b(?:don['’]t|do not) ever\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """What is looked for.

    Attributes:
        text: the words; of a dialogue, those of all turns that take part.
        vector: of the words without speakers' names (see :meth:`Ranking.topic`), unit norm.
        latest: the last thing said, which shows who and when is asked about; empty: ``text``.
        asker: who says it; whose words "I" stands for.
        asked_at: when; what "last week" counts from. None leaves such words alone.
    """

    text: str
    vector: NDArray[np.float32]
    latest: str = ""
    asker: str = ""
    asked_at: datetime | None = None

    @property
    def said(self) -> str:
        """What shows who and when is asked about."""
        return self.latest or self.text


def of_asker(question: str) -> bool:
    """Whether a question is about what the asker said or did: "when did I", but no summaries."""
    return bool(_FIRST_PERSON.search(question)) and not _SUMMARY.search(question)


def stands(text: str) -> bool:
    """Whether a text gives an instruction or a preference that is meant to last."""
    return _STANDING.search(text) is not None


class Names:
    """The speakers of a scope, found by name in a question."""

    def __init__(self) -> None:
        self._patterns: dict[str, re.Pattern[str]] = {}
        self._any: re.Pattern[str] | None = None

    def add(self, speakers: Iterable[str]) -> None:
        """Take in speakers; those known change nothing."""
        for speaker in speakers:
            if speaker in self._patterns or not speaker.strip():
                continue
            forms = sorted(_forms(speaker), key=len, reverse=True)
            self._patterns[speaker] = _pattern(forms)
            every = {form for known in self._patterns for form in _forms(known)}
            self._any = _pattern(sorted(every, key=len, reverse=True))

    def in_(self, question: str) -> frozenset[str]:
        """The speakers whose names are in a question."""
        if self._any is None or not self._any.search(question):
            return frozenset()
        return frozenset(s for s, pattern in self._patterns.items() if pattern.search(question))

    def without(self, question: str) -> str:
        """A question without speakers' names; unchanged if nothing else is in it."""
        rest = self._any.sub(" ", question) if self._any else question
        return rest if any(c.isalnum() for c in rest) else question


def _forms(speaker: str) -> set[str]:
    """How a speaker may be named: in full or by first name, in capitals where a name has them."""
    if speaker.casefold() in UNNAMED:
        return set()
    first = speaker.split()[0]
    forms = {speaker, first} if len(first) > 1 else {speaker}
    return forms | {form[:1].upper() + form[1:] for form in forms}


def _pattern(forms: Iterable[str]) -> re.Pattern[str]:
    named = "|".join(re.escape(form) for form in forms)
    # Nothing at all matches where there is no form.
    return re.compile(rf"(?<!\w)(?:{named})(?:['’]s)?(?!\w)" if named else r"(?!)")
