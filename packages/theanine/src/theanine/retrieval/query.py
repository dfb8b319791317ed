"""What a query tells besides its subject: who asks, about whom, and about which days.

The cues are wording in English or one of the languages of :mod:`theanine.retrieval.cue_words`, and
only ever add evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from theanine.lazy_pattern import lazy_pattern
from theanine.retrieval import cue_words
from theanine.retrieval.languages import UNSPACED, guess_language
from theanine.retrieval.lexical import content_words

ROLE_NAMES = ("user", "assistant", "agent", "system", "human", "ai", "bot")
"""Speaker names that stand for a role; in a question they are ordinary words."""

_FIRST_PERSON = re.compile(r"(?<!\w)(?:i|i['’](?:m|ve|d|ll)|me|my|mine|myself)(?!\w)", re.I)
_SUMMARY = re.compile(r"\b(?:summar\w+|overview|recap)\b", re.IGNORECASE)
_STANDING = lazy_pattern(
    r"\b(?:always|never)\b[^.?!]*\b(?:when(?:ever)?|if) i\b|\bi(?:['’]d| would)? (?:prefer|rather)"
    r"\b|\bfrom now on\b|\b(?:when(?:ever)?|each time|every time) i ask\b|"
    r"\bplease (?:always|never)\b|\b(?:don['’]t|do not) ever\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """A query for :class:`theanine.retrieval.ranking.Ranking`.

    Attributes:
        text: the query's text; for a dialogue, all turns that take part.
        vector: embedding of ``text`` without speaker names (:meth:`Ranking.without_speakers`), unit
            norm.
        latest: the last turn, which tells who and which days are asked about; if empty, ``text``.
        asker: speaker of that turn, to whom "I" refers.
        asked_at: its time, which "last week" counts from; None ignores relative dates.
    """

    text: str
    vector: NDArray[np.float32]
    latest: str = ""
    asker: str = ""
    asked_at: datetime | None = None

    @property
    def cue(self) -> str:
        """The text that tells who and which days are asked about."""
        return self.latest or self.text


def speaks_of_asker(question: str) -> bool:
    """Whether a question is about what the asker said or did.

    Questions in the first person are, except for summaries, which cover both sides.
    """
    language = guess_language(question)
    first_person = cue_words.ASKER.get(language, _FIRST_PERSON)
    if language in cue_words.OF_ASSISTANT and cue_words.OF_ASSISTANT[language].search(question):
        return False
    return bool(first_person.search(question)) and not _SUMMARY.search(question)


def is_standing_instruction(text: str) -> bool:
    """Whether a text states a lasting instruction or preference."""
    return cue_words.STANDING.get(guess_language(text), _STANDING).search(text) is not None


def is_small_talk(text: str) -> bool:
    """Whether a text only greets, thanks, or agrees, and so asks for no memory."""
    rest = cue_words.SMALL_TALK.sub(" ", text)
    if not any(character.isalnum() for character in rest):
        return True
    return rest != text and "?" not in rest and not content_words(rest)


class SpeakerNames:
    """The speakers of a scope, and their names in questions."""

    def __init__(self) -> None:
        self._forms: dict[str, set[str]] = {}
        self._pattern: re.Pattern[str] | None = None  # of all names, compiled on demand

    def add(self, speakers: Iterable[str]) -> None:
        """Add speakers; known ones change nothing."""
        for speaker in speakers:
            if speaker not in self._forms and speaker.strip():
                self._forms[speaker] = _name_forms(speaker)
                self._pattern = None

    def find(self, question: str) -> frozenset[str]:
        """Return the speakers who are named in a question."""
        if not self._any_name.search(question):
            return frozenset()
        return frozenset(
            speaker
            for speaker, forms in self._forms.items()
            if any(form in question for form in forms) and _compile(forms).search(question)
        )

    def remove_from(self, question: str) -> str:
        """Return a question without speaker names; unchanged if nothing else is left."""
        rest = self._any_name.sub(" ", question)
        return rest if any(c.isalnum() for c in rest) else question

    @property
    def _any_name(self) -> re.Pattern[str]:
        if self._pattern is None:
            self._pattern = _compile(form for forms in self._forms.values() for form in forms)
        return self._pattern


def _name_forms(speaker: str) -> set[str]:
    """Return the full and the first name, as written and capitalized; no forms for a role."""
    if speaker.casefold() in ROLE_NAMES:
        return set()
    first = speaker.split()[0]
    forms = {speaker, first} if len(first) > 1 else {speaker}
    return forms | {form[:1].upper() + form[1:] for form in forms}


def _compile(forms: Iterable[str]) -> re.Pattern[str]:
    """Compile a pattern for any of the forms, longest first; it matches nothing without forms.

    In scripts without spaces a name has no boundaries.
    """
    patterns = [
        re.escape(form)
        if UNSPACED.fullmatch(form)
        else rf"(?<!\w){re.escape(form)}(?:['’]?s)?(?!\w)"
        for form in sorted(set(forms), key=lambda form: (-len(form), form))
    ]
    return re.compile("|".join(patterns) if patterns else r"(?!)")
