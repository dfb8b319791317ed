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
ASKS = lazy_pattern(
    r"[?？؟]\W*$|\bplease\W*$|[.!:;,–—]\s+(?:please )?(?:remind me|tell me|summari[sz]e)\b|"
    r"^\W*(?:(?:so|and|but|well|ok|okay|please|now|just)\W+)?"
    r"(?:what|which|who|whom|whose|when|where|why|how|tell me|remind me|list|show|"
    r"summari[sz]e|sum up|recap|find|give me|name|do you (?:know|remember)|"
    r"(?:walk|talk|fill|catch|read) me|bring me up|go over|review|look up|pull up|search|"
    r"any(?:thing|one|body)?)\b",
    re.IGNORECASE | re.MULTILINE,
)
_BEFORE_QUESTION = lazy_pattern(r".*[.!?:;\n]\s+(?=\w[^.!?:;\n]*[?？؟]\W*$)", re.DOTALL)
_REFERS = lazy_pattern(
    r"(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )\bthere\b(?! (?:is|are|was|were)\b)|"
    r"\b(?:it|its|that|this|these|those|then|he|she|they|him|her|his|them|their|one|ones|"
    r"both|same)\b",
    re.IGNORECASE,
)
_AND = lazy_pattern(
    r"\W*(?:and|what about|how about|und|y|et|e|i|a|и|а|ve|peki|और) ", re.IGNORECASE
)
"""How a question begins that asks of another one what was asked before."""
MIN_WORDS = 4
"""Words of a question that tells by itself what it is about."""
MIN_WORDS_REFERRING = 10
"""Words of one that tells it even if it refers to what is beside it: "What was X on this list?"."""
MIN_PASTED = 200
"""Characters beside a line that asks from which they are taken for a document that was pasted."""
MIN_PASTED_LINES = 3
"""Lines beside it from which they are taken for one."""


def without_frame(text: str) -> str:
    """Return a message without stamps before it, mentions, pictures and a signature below it.

    Unchanged if nothing else is left.
    """
    rest = _SIGNATURE.sub("", _BLOB.sub(" ", text))
    rest = _STAMP.sub("", _MENTION.sub(" ", rest)).strip()
    return rest if any(map(str.isalnum, rest)) else text


def without_pasted(text: str) -> str:
    """Return the first or last line of a message if it asks, without the document beside it.

    The whole message if that line refers to the document, and says little else.
    """
    lines = [line for line in text.splitlines() if any(map(str.isalnum, line))]
    for line in (lines[-1:] + lines[:1]) if len(lines) > 1 else ():
        is_document = len(text) - len(line) >= MIN_PASTED or len(lines) > MIN_PASTED_LINES
        asks = _asking_sentences(line) or (" " in line.strip() and ASKS.search(line))
        if not is_document or not asks:
            continue
        if len(line.split()) >= MIN_WORDS_REFERRING or not _REFERS.search(asking_part(line)):
            return line.strip()
    return text


def asking_part(text: str) -> str:
    """Return the last sentence of a message that asks, without what is in brackets.

    The whole message if none asks, or if that sentence refers to what is said before. "And hers?"
    refers to a question alone: "His is on 3 May. And hers?" asks of no day.
    """
    asking = _asking_sentences(text)
    if not asking:
        return text
    last = _ASIDE.sub(" ", asking[-1]).strip()
    if len(asking) == 1 and _AND.match(last):
        return last
    if len(last.split()) < MIN_WORDS or _REFERS.search(last):
        return text
    return last


def _asking_sentences(text: str) -> list[str]:
    sentences = [text[slice(*span)] for span in sentence_spans(text)]
    return [sentence for sentence in sentences if ENDS_ASKING.search(sentence)]


def begin_of_question(text: str) -> int:
    """Return where the last sentence of a text begins that asks; what is before introduces it.

    "Before we begin today: where is it?" does not ask about today.
    """
    before = _BEFORE_QUESTION.match(text)
    return before.end() if before else 0
