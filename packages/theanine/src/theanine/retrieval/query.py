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
    def cue(self) -> str:
        """What shows who and when is asked about."""
        return self.latest or self.text


def speaks_of_asker(question: str) -> bool:
    """Whether a question is about what the asker said or did: "when did I", but no summaries."""
    return bool(_FIRST_PERSON.search(question)) and not _SUMMARY.search(question)


def is_standing_instruction(text: str) -> bool:
    """Whether a text gives an instruction or a preference that is meant to last."""
    return _STANDING.search(text) is not None


class SpeakerNames:
    """The speakers of a scope, found by name in a question.

    Patterns are made when a question is there to search, once for all speakers until then.
    """

    def __init__(self) -> None:
        self._forms: dict[str, set[str]] = {}
        self._any: re.Pattern[str] | None = None

    def add(self, speakers: Iterable[str]) -> None:
        """Take in speakers; those known change nothing."""
        for speaker in speakers:
            if speaker not in self._forms and speaker.strip():
                self._forms[speaker] = _forms(speaker)
                self._any = None

    def find(self, question: str) -> frozenset[str]:
        """The speakers whose names are in a question."""
        if not self._every.search(question):
            return frozenset()
        return frozenset(
            speaker
            for speaker, forms in self._forms.items()
            if any(form in question for form in forms) and _pattern(forms).search(question)
        )

    def remove_from(self, question: str) -> str:
        """A question without speakers' names; unchanged if nothing else is in it."""
        rest = self._every.sub(" ", question)
        return rest if any(c.isalnum() for c in rest) else question

    @property
    def _every(self) -> re.Pattern[str]:
        """Matches any speaker's name."""
        if self._any is None:
            self._any = _pattern(form for forms in self._forms.values() for form in forms)
        return self._any


def _forms(speaker: str) -> set[str]:
    """How a speaker may be named: in full or by first name, in capitals where a name has them."""
    if speaker.casefold() in UNNAMED:
        return set()
    first = speaker.split()[0]
    forms = {speaker, first} if len(first) > 1 else {speaker}
    return forms | {form[:1].upper() + form[1:] for form in forms}


def _pattern(forms: Iterable[str]) -> re.Pattern[str]:
    """Matches any of the forms, the longest first; nothing at all where there is no form."""
    named = "|".join(map(re.escape, sorted(set(forms), key=lambda form: (-len(form), form))))
    return re.compile(rf"(?<!\w)(?:{named})(?:['’]s)?(?!\w)" if named else r"(?!)")
