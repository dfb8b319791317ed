"""The part of a message that asks: applications and people put much around a question.

What stands beside it, such as a stamp, a signature or the number of a flight, is said, not asked
about.
"""

from __future__ import annotations

import re

from theanine.lazy_pattern import lazy_pattern
from theanine.sentences import sentence_spans

_BLOB = re.compile(r"!?\[[^\]\n]*\]\(data:[^)\s]*\)|\bdata:[\w/+.-]+;base64,[\w+/=-]*")
_MENTION = re.compile(r"<[@#!&]+\w+(?:\|[^>\n]*)?>|(?<![\w.])@\w+")
_STAMP = re.compile(
    r"\A\s*(?:\[[^\]\n]*\d[^\]\n]*\]|\([^)\n]*\d[^)\n]*\)|<time>[^<]*</time>|"
    r"(?:time|date|sent|timestamp): [^\n]*\d[^\n]*\n)\s*(?:message: )?",
    re.IGNORECASE,
)
_SIGNATURE = re.compile(
    r"\n-- ?\n(?=[^?]{0,500}\Z).*|\n\s*\n(?=[^?]*\Z)[^\n]*(?:confidential|privileged).*", re.DOTALL
)
_ASIDE = re.compile(r"\([^()]*\)")
ENDS_ASKING = re.compile(r"[?？؟]\W*$")
_BEFORE_QUESTION = lazy_pattern(r".*[.!?:;\n]\s+(?=\w[^.!?:;\n]*[?？؟]\W*$)", re.DOTALL)
_REFERS = lazy_pattern(
    r"(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )\bthere\b(?! (?:is|are|was|were)\b)|"
    r"\b(?:it|its|that|this|these|those|then|he|she|they|him|her|his|them|their|one|ones|"
    r"both|same)\b",
    re.IGNORECASE,
)
MIN_WORDS = 4
"""Words of a question that tells by itself what it is about."""


def without_frame(text: str) -> str:
    """Return a message without stamps before it, mentions, pictures and a signature below it.

    Unchanged if nothing else is left.
    """
    rest = _SIGNATURE.sub("", _BLOB.sub(" ", text))
    rest = _STAMP.sub("", _MENTION.sub(" ", rest)).strip()
    return rest if any(map(str.isalnum, rest)) else text


def asking_part(text: str) -> str:
    """Return the last sentence of a message that asks, without what is in brackets.

    The whole message if none asks, or if that sentence refers to what is said before.
    """
    asking = [text[slice(*span)] for span in sentence_spans(text)]
    asking = [sentence for sentence in asking if ENDS_ASKING.search(sentence)]
    if not asking:
        return text
    last = _ASIDE.sub(" ", asking[-1]).strip()
    if len(last.split()) < MIN_WORDS or _REFERS.search(last):
        return text
    return last


def begin_of_question(text: str) -> int:
    """Return where the last sentence of a text begins that asks; what is before introduces it.

    "Before we begin today: where is it?" does not ask about today.
    """
    before = _BEFORE_QUESTION.match(text)
    return before.end() if before else 0
