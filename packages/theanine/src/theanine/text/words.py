"""Words, sentences and quotations: what the local steps see of a text.

Everything here is deterministic and works on any script; only the function words are English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Scripts that write no spaces between words: each character stands for a word.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])[」』”’）]*|\n\s*")

_MONTHS = (
    "January February March April May June July August September October November December"
).split()

_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

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
"""English words that say nothing about the subject of a text."""


def words(text: str) -> list[str]:
    """The words of a text, lower case, in order; a character each where no spaces are written."""
    text = text.lower().replace("’", "'")
    if text.isascii():
        return [match[0] for match in _WORD.finditer(text)]
    found: list[str] = []
    for match in _WORD.finditer(text):
        word = match[0]
        if _UNSPACED.search(word):
            found.extend(_UNSPACED.findall(word))
        else:
            found.append(word)
    return found


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A word without its commonest English endings, so that forms of one word meet."""
    if len(word) > 3 and word.endswith("'s"):
        word = word[:-2]
    for ending in ("ings", "ing", "edly", "ed", "ies", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] in "eyi" else word


@lru_cache(maxsize=2_000)
def content_words(text: str) -> frozenset[str]:
    """The stems of a text's words that say what it is about."""
    return frozenset(
        stem(word)
        for word in words(text)
        if word not in FUNCTION_WORDS and not (len(word) == 1 and "a" <= word <= "z")
    )


def containment(part: frozenset[str], whole: frozenset[str]) -> float:
    """The share of ``part`` that is in ``whole``, 0 to 1; 0 when ``part`` is empty."""
    return len(part & whole) / len(part) if part else 0.0


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence of a text, without the space around it."""
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if text[start : match.start()].strip():
            yield _trimmed(text, start, match.end())
        start = match.end()
    if text[start:].strip():
        yield _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def weekday(at: datetime) -> str:
    """The English name of the day of the week."""
    return _WEEKDAYS[at.weekday()]


def format_date(at: datetime) -> str:
    """A date as it is read aloud: ``8 May 2023``. In the datetime's own offset."""
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}"


def is_unspaced(text: str) -> bool:
    """Whether a text is in a script that writes no spaces between words."""
    return _UNSPACED.search(text) is not None
