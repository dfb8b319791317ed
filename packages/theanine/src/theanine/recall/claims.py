"""Whether one statement certainly ends, replaces or corrects another, by its wording.

Only what is explicit counts: "from X to Y" after X, an ending in the words of what ends, or the
same sentence with another number, date or name.
"""

from __future__ import annotations

import re
from calendar import day_name, month_name
from functools import cache, lru_cache
from itertools import chain

from theanine.retrieval.languages import UNSPACED, date_words, guess_language, written_words
from theanine.stop_words import STOP_WORDS

_LATEST = 4_096
"""Texts that stay read: each is compared with several others."""
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


@lru_cache(maxsize=_LATEST)
def replaces(newer: str, older: str) -> bool:
    """Whether the newer of two statements of one speaker says that the older holds no more."""
    if _QUESTION.search(newer) or _QUESTION.search(older):
        return False
    words, own = _words(older), _words(newer)
    is_ended = _tells_ending(newer) and not _tells_ending(older)
    if len(words & own) >= SAME * len(words | own) and not is_ended:  # said again
        return False
    return _moves_on(newer, older) or _ends(newer, older) or _is_same_frame(newer, older)


@lru_cache(maxsize=_LATEST)
def _words(text: str) -> frozenset[str]:
    return frozenset(written_words(text))


def tells_change(text: str) -> bool:
    """Whether a text may say by itself what something changed from, or that it ended."""
    return bool(_FROM_TO.search(text) or _tells_ending(text))


@lru_cache(maxsize=_LATEST)
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
    return _repeated_in_ending(newer, older) >= GOVERNED


def _moves_on(newer: str, older: str) -> bool:
    """Whether it says that something changed "from X to Y", and the older one has X and not Y.

    In other languages than English, whose prepositions say more, X and Y must be names or numbers.
    """
    words = _words(older)
    is_english = guess_language(newer) == "en"
    for sentence in filter(_CHANGING.search, _happened(newer)):
        for match in _FROM_TO.finditer(sentence):
            if not is_english and any(match[number][0].islower() for number in (1, 2)):
                continue
            before, after = ({*written_words(match[number])} for number in (1, 2))
            if before & words and after and not after & words:
                return True
    return False


@lru_cache(maxsize=_LATEST)
def _happened(text: str) -> tuple[str, ...]:
    """Return the sentences of a text that tell of no plan or wish."""
    return tuple(each for each in _SENTENCES.findall(text) if not tells_plan(each))


def _ends(newer: str, older: str) -> bool:
    """Whether a clause with a cue of an ending repeats the words of the older statement."""
    return _repeated_in_ending(newer, older) >= max(GOVERNED, ENDED * len(_matters(older)))


def _repeated_in_ending(newer: str, older: str) -> int:
    """Return how many words of the older statement a clause with such a cue repeats at most."""
    if UNSPACED.search(older):
        return 0
    words = _matters(older)
    clauses = chain.from_iterable(map(_CLAUSES.findall, _happened(newer)))
    ending = filter(_tells_ending, clauses)
    return max((len(words & _matters(each)) for each in ending), default=0)


@lru_cache(maxsize=_LATEST)
def _matters(text: str) -> frozenset[str]:
    return frozenset(_JOBS.get(word, word) for word in written_words(text) if len(word) > 1)


def _is_same_frame(newer: str, older: str) -> bool:
    """Whether both say the same but for numbers, dates or one name.

    A name that differs beside something else, or at the start, makes it another person's.
    """
    values, own = _values(older), _values(newer)
    language = guess_language(newer)
    if not values or not own or values == own or language == "de":
        return False
    changed = values ^ own
    names = {value for value in changed if value[0].isalpha()} - calendar_words(language)
    starts = {start[0].casefold() for text in (older, newer) if (start := _START.search(text))}
    both = _words(older) & _words(newer)
    if (names and len(changed) > 2) or starts - both - STOP_WORDS.get(language, frozenset()):
        return False
    rest, other = _frame(older), _frame(newer)
    common = rest & other
    return len(common) > 1 and len(common) >= FRAME * max(len(rest), len(other))


@lru_cache(maxsize=_LATEST)
def _values(text: str) -> frozenset[str]:
    """Return the numbers, dates and names in a text."""
    return frozenset(value.casefold() for value in _VALUE.findall(text))


@lru_cache(maxsize=_LATEST)
def _frame(text: str) -> frozenset[str]:
    """Return the words of a text without them."""
    return frozenset(written_words(_VALUE.sub(" ", text)))


@cache
def calendar_words(language: str) -> frozenset[str]:
    """Return the names of months and weekdays."""
    words = date_words().get(language, {})
    names = (*words.get("months", ()), *words.get("weekdays", ()), *month_name, *day_name)
    return frozenset(name.casefold() for name in names)
