"""The part of a message that asks: applications and people put much around a question.

What stands beside it, such as a stamp, a signature or the number of a flight, is said, not asked
about.
"""

from __future__ import annotations

import re

from theanine.lazy_pattern import lazy_pattern
from theanine.retrieval.languages import guess_language, written_words
from theanine.retrieval.query import speaks_of_asker
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
_REFERS_ELSEWHERE = lazy_pattern(
    r"\b(?:dies\w*|darauf|dazu|davon|damit|darin|das hier|est[aeo]s?|es[aeo]s?|ess[ea]s?|"
    r"ceci|cela|ça|(?<!-)cet?|ces|cette|quest[aeio]|ist[oa]|iss[oa]|ov[aeiou]|ovaj|to|"
    r"эт\w+|bun?u|şunu|هذ[اهي]\w*|यह|इस\w*|उस\w*)\b|[이그](?:것|거|걸|글)|[こそ][れの]|[这這那]",
    re.IGNORECASE,
)
_AND = lazy_pattern(r"\W*(?:and|what about|how about|und|y|et|e|и|а|ve|peki|और) ", re.IGNORECASE)
"""The beginning of a question that asks of another one what was asked before: "And hers?"."""
_OF_A_PLACE_OR_TIME = lazy_pattern(r"\b(?:then|there|that)\b", re.IGNORECASE)
_TELL_ME = lazy_pattern(r"\b(?:tell|remind|show|give) me\b", re.IGNORECASE)
_IDLE = frozenset(
    "should would could might must shall need know think mean help say write reply answer".split()
)
"""Words of a question that may be about anything, besides function words."""
MIN_WORDS = 4
"""Words of a question that tells by itself what it is about."""
MIN_WORDS_REFERRING = 10
"""Words of one that tells it even if it refers to what is beside it: "What was X on this list?"."""
MIN_CONTENT = 2
"""Words besides function words that a question beside a document must have, to be about another
matter: "What should I buy?" has one."""
MIN_PASTED = 200
"""Characters beside a line that asks from which they are taken for a document that was pasted."""
MIN_PASTED_LINES = 3
"""Lines beside it from which they are taken for one."""
MAX_LINE = 4_000
"""Characters of a line that may be a question."""


def ends_asking(text: str) -> bool:
    """Whether a text ends with a question mark, signs aside."""
    for sign in reversed(text):
        if sign in "?？؟":
            return True
        if sign.isalnum():
            return False
    return False


def without_frame(text: str) -> str:
    """Return a message without stamps before it, mentions, pictures and a signature below it.

    Unchanged if nothing else is left.
    """
    rest = _SIGNATURE.sub("", _BLOB.sub(" ", text))
    rest = _STAMP.sub("", _MENTION.sub(" ", rest)).strip()
    return rest if any(map(str.isalnum, rest)) else text


def without_pasted(text: str) -> str:
    """Return the first or last line of a message if it asks, without the document beside it.

    The whole message if that line refers to the document, or says little of another matter, if many
    lines ask, and if what is beside it is told in the first person, and so no document.
    """
    lines = [line.strip() for line in text.splitlines() if any(map(str.isalnum, line))]
    if len(lines) < 2 or 2 * sum(map(ends_asking, lines)) > len(lines):
        return text
    for line, others in ((lines[-1], lines[:-1]), (lines[0], lines[1:])):
        beside = "\n".join(others)
        is_long = len(beside) >= MIN_PASTED or len(others) >= MIN_PASTED_LINES
        if not is_long or len(line) > MAX_LINE or not _asks_of_another_matter(line):
            continue
        return text if speaks_of_asker(beside[:MAX_LINE]) else line
    return text


def _asks_of_another_matter(line: str) -> bool:
    if not (_asking_sentences(line) or _TELL_ME.search(line)):
        return False
    asked = asking_part(line)
    if len({*written_words(asked)} - _IDLE) < MIN_CONTENT:
        return False
    refers = _REFERS if guess_language(line) == "en" else _REFERS_ELSEWHERE
    return len(line.split()) >= MIN_WORDS_REFERRING or not refers.search(asked)


def asking_part(text: str) -> str:
    """Return the last sentence of a message that asks, without what is in brackets.

    The whole message if none asks, or if that sentence refers to what is said before. "And hers?"
    continues a question, not a statement: "His is on 3 May. And hers?" asks of no day.
    """
    asking = _asking_sentences(text)
    if not asking:
        return text
    last = _ASIDE.sub(" ", asking[-1]).strip()
    is_short = len(last.split()) < MIN_WORDS
    if len(asking) == 1 and is_short and _AND.match(last) and not _OF_A_PLACE_OR_TIME.search(last):
        return last
    return text if is_short or _REFERS.search(last) else last


def _asking_sentences(text: str) -> list[str]:
    return [text[slice(*span)] for span in sentence_spans(text) if ends_asking(text[slice(*span)])]


def begin_of_question(text: str) -> int:
    """Return where the last sentence of a text begins that asks; what is before introduces it.

    "Before we begin today: where is it?" does not ask about today.
    """
    before = _BEFORE_QUESTION.match(text)
    return before.end() if before else 0
