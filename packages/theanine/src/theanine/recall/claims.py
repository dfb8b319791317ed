"""Whether one statement certainly ends, replaces or corrects another, by its wording.

Only what is explicit counts: "from X to Y" after X, an ending in the words of what ends, or the
same sentence with another number, date or name.
"""

from __future__ import annotations

import re
from calendar import day_name, month_name
from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from itertools import chain

from theanine.retrieval.languages import UNSPACED, date_words, guess_language, written_words
from theanine.stop_words import STOP_WORDS

FRAME = 0.7
"""Share of the words of two statements, without numbers and names, that a frame has in common."""
ENDED = 0.5
"""Share of a statement's words that the clause which ends it repeats."""
GOVERNED = 2
"""Words that a cue of a change must share its clause with to be about them."""
SAME = 0.8
"""Share of all words of two statements that both have if one only repeats the other."""
_FROM_TO = re.compile(
    r"\b(?:from|von|aus|de|du|desde|da|od|iz) (\w[\w'’-]+|\d+\.? \w+) "
    r"(?:to|nach|zu|à|para|u|na|al?) (\w[\w'’-]+|\d+\.? \w+)",
    re.IGNORECASE,
)
_CHANGING = re.compile(
    r"\b(?:mov(?:ed?|es|ing)|switch|chang|shift|convert|turn|transfer|postpone|reschedul|push|"
    r"rais|rose|cut|dropp|reduc|lower|increas|grew|went (?:up|down)|promot|renam|upgrad|"
    r"(?:um)?gezogen|zog|gewechselt|verschoben|verlegt|gestiegen|gesunken|umgestellt|"
    r"mud|cambi|pas[éóe]|troc|sub[ií]|baj|déménag|pass[éa]|report[éa]|trasfer|spost|"
    r"presel|pomak|promijen)",
    re.IGNORECASE,
)
"""What makes "from X to Y" a change: "open from Monday to Friday" is a range."""
_ENDING = re.compile(
    r"\b(?:no longer|any ?more|instead of|rather than|used to|stopped|quit|gave up|given up|sold|"
    r"moved (?:out|away)|"
    r"cancell?ed|(?:is|was|are|were) over|fell through|nicht mehr|kein\w* mehr|statt|aufgehört|"
    r"aufgegeben|verkauft|gekündigt|abgesagt|ya no|en vez de|en lugar de|dej[éeó] de|vendí|"
    r"cancel[ée]|ne \w+ plus|au lieu de|arrêté|vendu|annulé|non \w+ più|invece di|smesso|"
    r"venduto)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"(?:n['’]t|\b(?:not|never|nicht|nie|niemals|nunca|jamais|mai))\s+(?:\w+\s+)?$", re.I
)
"""What stands before an ending that did not happen: "I won't quit"."""
_PLANNED = re.compile(
    r"\b(?:plan(?:s|ned|ning)?|want(?:s|ed)?|hop(?:e|es|ed|ing)|going|decid(?:e|es|ing)) to\b|"
    r"\b(?:might|(?-i:may)|could|would|will|should|thinking (?:of|about)|considering|if)\b|"
    r"'ll\b|'d\b|"
    r"\b(?:möchte|plane|werde|würde|wenn|vielleicht|quiero|planeo|voy a|quizás?|veux|voudrais|"
    r"peut-être|vorrei|voglio|forse)\b",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"[^.!?。！？\n]+")
_CLAUSES = re.compile(r"[^,;–—]+")
_VALUE = re.compile(r"\d[\w.,:/-]*|(?<![.!?]\s)(?<!^)\b[A-ZÀ-ÖØ-Þ][\w'’-]+")
_START = re.compile(r"^[A-ZÀ-ÖØ-Þ]\w*")
_QUESTION = re.compile(r"[?？؟]\s*$")
_JOBS = {"job": "work", "jobs": "work", "working": "work", "works": "work", "worked": "work"}
"""English words for what one does for a living: who quits a job no longer works there."""


class _ReadStatement:
    """What is read of one statement to compare it with others, as far as it is needed."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(written_words(self.text))

    @cached_property
    def matters(self) -> frozenset[str]:
        return _matters(self.text)

    @cached_property
    def asks(self) -> bool:
        return bool(_QUESTION.search(self.text))

    @cached_property
    def language(self) -> str:
        return guess_language(self.text)

    @cached_property
    def is_unspaced(self) -> bool:
        return bool(UNSPACED.search(self.text))

    @cached_property
    def tells_ending(self) -> bool:
        return _tells_ending(self.text)

    @cached_property
    def tells_change(self) -> bool:
        return bool(_FROM_TO.search(self.text)) or self.tells_ending

    @cached_property
    def happened(self) -> Sequence[str]:
        """The sentences that tell of no plan or wish."""
        return [each for each in _SENTENCES.findall(self.text) if not tells_plan(each)]

    @cached_property
    def moves(self) -> Sequence[tuple[frozenset[str], frozenset[str]]]:
        """The words of X and of Y where something changed "from X to Y".

        In other languages than English, whose prepositions say more, X and Y must be names or
        numbers.
        """
        return [
            (frozenset(written_words(match[1])), frozenset(written_words(match[2])))
            for sentence in filter(_CHANGING.search, self.happened)
            for match in _FROM_TO.finditer(sentence)
            if self.language == "en" or not (match[1][0].islower() or match[2][0].islower())
        ]

    @cached_property
    def endings(self) -> Sequence[frozenset[str]]:
        """The words of the clauses with a cue of an ending."""
        clauses = chain.from_iterable(map(_CLAUSES.findall, self.happened))
        return [_matters(clause) for clause in clauses if _tells_ending(clause)]

    @cached_property
    def values(self) -> frozenset[str]:
        """The numbers and names."""
        return frozenset(value.casefold() for value in _VALUE.findall(self.text))

    @cached_property
    def frame(self) -> frozenset[str]:
        """The words without numbers and names."""
        return frozenset(written_words(_VALUE.sub(" ", self.text)))

    @cached_property
    def start(self) -> str:
        """The capitalized word at the start; empty if there is none."""
        start = _START.search(self.text)
        return start[0].casefold() if start else ""


@lru_cache(maxsize=1_000)
def _read(text: str) -> _ReadStatement:
    """Return a statement, read once for all those that it is compared with."""
    return _ReadStatement(text)


def replaces(newer: str, older: str) -> bool:
    """Whether the newer of two statements of one speaker says that the older holds no more."""
    new, old = _read(newer), _read(older)
    if new.asks or old.asks:
        return False
    if len(old.words & new.words) >= SAME * len(old.words | new.words) and not (
        new.tells_ending and not old.tells_ending
    ):  # said again
        return False
    return _moves_on(new, old) or _ends(new, old) or _is_same_frame(new, old)


def tells_change(text: str) -> bool:
    """Whether a text may say by itself what something changed from, or that it ended."""
    return _read(text).tells_change


def _tells_ending(text: str) -> bool:
    """Whether something ended, by a cue that is not denied."""
    return any(
        match[0].casefold().startswith("any") or not _DENIED.search(text[: match.start()])
        for match in _ENDING.finditer(text)
    )


def tells_plan(text: str) -> bool:
    """Whether a text tells of a plan or a wish, or of what only may be."""
    return bool(_PLANNED.search(text))


def governs(newer: str, older: str) -> bool:
    """Whether a cue of an ending stands in a clause with words of the older statement."""
    return _repeated_in_ending(_read(newer), _read(older)) >= GOVERNED


def _moves_on(newer: _ReadStatement, older: _ReadStatement) -> bool:
    """Whether it says that something changed "from X to Y", and the older one has X and not Y."""
    return any(
        before & older.words and after and not after & older.words for before, after in newer.moves
    )


def _ends(newer: _ReadStatement, older: _ReadStatement) -> bool:
    """Whether a clause with a cue of an ending repeats the words of the older statement."""
    repeated = _repeated_in_ending(newer, older)
    return repeated >= GOVERNED and repeated >= ENDED * len(older.matters)


def _repeated_in_ending(newer: _ReadStatement, older: _ReadStatement) -> int:
    """Return how many words of the older statement a clause with such a cue repeats at most."""
    if not newer.endings or older.is_unspaced:
        return 0
    return max(len(older.matters & ending) for ending in newer.endings)


def _matters(text: str) -> frozenset[str]:
    return frozenset(_JOBS.get(word, word) for word in written_words(text) if len(word) > 1)


def _is_same_frame(newer: _ReadStatement, older: _ReadStatement) -> bool:
    """Whether both say the same but for numbers, dates or one name.

    A name that differs beside something else, or at the start, makes it another person's.
    """
    values, own, language = older.values, newer.values, newer.language
    if not values or not own or values == own or language == "de":
        return False
    changed = values ^ own
    names = {value for value in changed if value[0].isalpha()} - calendar_words(language)
    starts = {each.start for each in (older, newer) if each.start}
    both = older.words & newer.words
    if (names and len(changed) > 2) or starts - both - STOP_WORDS.get(language, frozenset()):
        return False
    common = older.frame & newer.frame
    return len(common) > 1 and len(common) >= FRAME * max(len(older.frame), len(newer.frame))


@cache
def calendar_words(language: str) -> frozenset[str]:
    """Return the names of months and weekdays."""
    words = date_words().get(language, {})
    names = (*words.get("months", ()), *words.get("weekdays", ()), *month_name, *day_name)
    return frozenset(name.casefold() for name in names)
