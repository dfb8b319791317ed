"""Cues in the wording of a turn that a topic begins with it, or ended before it.

The cues are conversational English on any subject; other languages show none. Patterns match the
normalized form of :func:`plain`.
"""

from __future__ import annotations

import re

HEAD = TAIL = 300
"""Characters searched for cues at the beginning and at the end of a turn."""
_APOSTROPHES = re.compile("['’]")
_MARKS = re.compile(r"([^\w\s])")
_SPACE = re.compile(r"\s+")


def plain(text: str) -> str:
    """Return the text in lower case, without apostrophes, with spaces around punctuation."""
    text = _MARKS.sub(r" \1 ", _APOSTROPHES.sub("", text.lower()))
    return _SPACE.sub(" ", text).strip()


def _cue(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_THANKS = _cue(r"\b(?:thank|thanks|thx|appreciate|cheers)\b")
_QUESTION = _cue(r"\?")
_ENDS_ASKING = _cue(r"\?\W*$")

HERE = {
    "greets": _cue(r"^(?:hi|hello|hey|good (?:morning|evening|afternoon|day)|greetings)\b"),
    "needs": _cue(
        r"\b(?:i|we) (?:really |also |just )?(?:need|want|would like|wanna|m trying|am trying|"
        r"am looking|was looking|was wondering|m looking|have a question)\b|\b(?:im|id|ill) "
        r"(?:also )?(?:looking|like|need|interested|trying|wondering)\b|\blooking for\b"
    ),
    "orders": _cue(
        r"^(?:please |so |ok |now )?(?:find|show|give|get|set|schedule|tell|book|check|remind|"
        r"take|make|search|look|add|list|write|explain|describe|help|suggest|recommend|create)\b"
    ),
    "asks": _cue(
        r"^(?:and |so |oh |but |well )?(?:what|where|when|who|how|which|why|whats|wheres|hows|"
        r"can you|could you|would you|will you|please)\b"
    ),
    "asks yes or no": _cue(
        r"^(?:and |so |but )?(?:do|does|did|is|are|am|was|were|have|has|had|will|any)\b"
    ),
    "asks about you": _cue(r"\b(?:do|are|have|did|were) (?:you|u)\b[^?]*\?"),
    "small talk": _cue(r"\b(?:favou?rite|hobb(?:y|ies)|for (?:a )?(?:fun|living)|ever)\b"),
    "tells of self": _cue(r"^(?:well |so |and )?(?:i|my|im|ive)\b"),
    "first person": _cue(r"\b(?:i|im|my|me|ive|id|we|our)\b"),
    "something new": _cue(r"\b(?:a|an|any|some|somewhere|something)\b"),
    "refers back": _cue(r"\b(?:it|that|they|those|these|them|its|he|she|him|her|ones)\b"),
    "asks on": _cue(r"^(?:and )?(?:what|how) (?:about|much|many|long|far|else)\b"),
    "agrees": _cue(
        r"^(?:yes|yeah|yep|yup|no|nope|nah|sure|ok|okay|right|alright|exactly|absolutely|"
        r"definitely|fine|correct)\b"
    ),
    "gives a number": _cue(r"\d"),
    "thanks": _THANKS,
    "parts": _cue(
        r"\b(?:bye|goodbye|good ?night|see you|have a (?:good|great|nice)|take care|later)\b|"
        r"\b(?:thats|that is|that will be) all\b|\b(?:welcome|no problem)\b"
    ),
}
"""Cues in the turn after the gap, which may begin a segment."""
BEFORE = {
    "offers more": _cue(
        r"\b(?:anything|something|what|any|more) (?:else|other|more|further)\b|\bfurther "
        r"(?:assist|help)|\b(?:assist|help) you (?:with|further|today|any)|\bthat all\b"
    ),
    "reports done": _cue(
        r"\b(?:done|booked|reserved|scheduled|confirmed|ordered|sent|sending|saved|added|setting|"
        r"set up)\b"
    ),
    "closes": _cue(
        r"\b(?:welcome|bye|goodbye|good ?night|see you|take care|no problem|have a "
        r"(?:good|great|nice|lovely|wonderful))\b"
    ),
    "ends asking": _ENDS_ASKING,
    "asked": _QUESTION,
}
"""Cues in the turn before the gap."""


def head(text: str) -> str:
    """Return the normalized beginning of a turn."""
    return plain(text[:HEAD])


def tail(text: str) -> str:
    """Return the normalized end of a turn."""
    return plain(text[-TAIL:])


def ends_asking(tail: str) -> bool:
    """Whether a turn with this normalized end ends with a question."""
    return _ENDS_ASKING.search(tail) is not None


def questions(head: str) -> str:
    """Return the questions of a normalized text."""
    return " ".join(part for part in re.findall(r"[^.?!]*[.?!]?", head) if part.endswith("?"))
