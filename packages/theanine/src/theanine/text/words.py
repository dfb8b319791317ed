"""Words, stems and dates of a text, for the steps that need no model.

Works on any script; only the function words and the stemmer are English.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Scripts without spaces between words: each character counts as a word.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)

_MONTHS = (
    "January February March April May June July August September October November December"
).split()

_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

_DATE_WORD = re.compile(rf"\b(?:{'|'.join(_MONTHS + _WEEKDAYS)}|\d[\d.,:/-]*(?:st|nd|rd|th)?)\b")

FUNCTION_WORDS = frozenset(
    """
    a about after again all also always am an and any anything are as at back be because been
    before being both but by can can't cannot could couldn't did didn't do does doesn't doing
    don't done else even ever every everything few for from get gets getting got had has
    hasn't have haven't having he he's her here hers herself him himself his how i i'd i'll
    i'm i've if in into is isn't it it's its itself just let let's like lot lots made make
    makes many maybe me mine more most much my myself never no not nothing now of off oh on
    one only or other our ours out over own quite really same she she's so some something
    still such than that that's the their theirs them then there there's these they they're
    they've thing things this those though through to too up us very was wasn't way we we'd
    we'll we're we've well went were weren't what what's when where which while who whom whose
    why will with won't would wouldn't yeah yes yet you you'd you'll you're you've your yours
    """.split()
)
"""English stop words.

BM25 has a shorter list and another stemmer (:mod:`theanine.retrieval.lexical`): the weights of
retrieval and of the segmenter were fitted on the two separately.
"""


def words(text: str) -> list[str]:
    """Return the lower-case words of a text; in scripts without spaces, its characters."""
    text = text.lower().replace("’", "'")
    found: list[str] = _WORD.findall(text)
    if text.isascii() or not _UNSPACED.search(text):
        return found
    result: list[str] = []
    for word in found:
        if _UNSPACED.search(word):
            result.extend(_UNSPACED.findall(word))
        else:
            result.append(word)
    return result


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Remove the most common English endings of a word."""
    if len(word) > 3 and word.endswith("'s"):
        word = word[:-2]
    for ending in ("ings", "ing", "edly", "ed", "ies", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] in "eyi" else word


@lru_cache(maxsize=2_000)
def content_words(text: str) -> frozenset[str]:
    """Return the stems of a text's words without function words and single letters."""
    return frozenset(
        stem(word)
        for word in words(text)
        if word not in FUNCTION_WORDS and not (len(word) == 1 and "a" <= word <= "z")
    )


def containment(part: frozenset[str], whole: frozenset[str]) -> float:
    """Return the share of ``part`` that is in ``whole``, 0 to 1; 0 if ``part`` is empty."""
    return len(part & whole) / len(part) if part else 0.0


def weekday(at: datetime) -> str:
    """Return the English name of the weekday."""
    return _WEEKDAYS[at.weekday()]


def format_date(at: date) -> str:
    """Return the date as ``8 May 2023``; that of a datetime is in its own UTC offset."""
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}"


def without_dates(text: str) -> str:
    """Remove numbers, and English names of months and weekdays."""
    return " ".join(_DATE_WORD.sub(" ", text).split())


def is_unspaced(text: str) -> bool:
    """Whether a text has a script without spaces between words."""
    return _UNSPACED.search(text) is not None
