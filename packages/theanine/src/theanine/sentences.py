"""Where the sentences of a text end: the one splitter for statements, passages and replies.

A sentence ends at its punctuation before a space, or at a line break; where a script has marks of
its own, such as ``。``, at those. A period also ends titles, abbreviations, initials and German
ordinals; those of English, German and Spanish are told apart from the end of a sentence by the
words around it. In doubt the text stays together: half a statement says something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Span = tuple[int, int]
"""First character of a part of a text, and the one after its last."""

_CLOSERS = r"""["'”’“‘»«)\]」』）*_]*"""
_END = re.compile(rf"(?<![.!?…])[.!?…]++{_CLOSERS}(?=\s|$)|[。！？｡؟।۔።]+{_CLOSERS}|\n")
_BEFORE = re.compile(r"""(?:(?<![\w.])[^\W\d_]\.[ \u00a0\u202f])*[^\s"'”’“„‘«([{*_/]*$""")
"""The word before a period; one letter and the next count as one word, as in ``z. B``."""
_AFTER = re.compile(r"""\s+["'“„‘«([{*_]*((?:[^\W_]|\.(?=\w))++)(\.)?""")
"""The word after a period, and whether it ends with another one."""
_WORD_CHARACTERS = 40
"""Characters before a period that are looked at."""

_TITLE = re.compile(r"dra?|prof|mrs?|ms|mx|messrs|sra|srta|dña|frl|dipl|mme|mlle|hrn", re.I)
"""Titles, which a name follows."""
_CAPITALIZED_TITLE = re.compile(
    r"Rev|Hon|Sen|Rep|Gov|Gen|Col|Capt|Cpt|Lt|Sgt|Maj|Cmdr|Pres|Fr|Hr|Mag|Ing|Lic|Msgr|Pfr|Univ"
)
"""Titles in capitals: without one, they can be words."""
_UNFINISHED = re.compile(
    r"e\.g|i\.e|cf|vs|approx|z\.b|d\.h|u\.a|v\.a|o\.g|bzw|ggf|evtl|inkl|exkl|zzgl|vgl|bspw|sog|ca|"
    r"p\.ej|aprox",
    re.I,
)
"""Abbreviations that never end a sentence."""
_ABBREVIATION = re.compile(
    r"(?:[^\W\d_]\.)+[^\W\d_]|ph\.d|etc|usw|usf|inc|ltd|corp|co|bros|jr|sr|st|mt|ft|ave?|avda|"
    r"blvd|dept|min|std|sek|hrs|uds?|vds?|ee|uu|ee\.uu|v\.chr|n\.chr|resp",
    re.I,
)
"""Abbreviations that end a sentence only before a word that begins one."""
_NUMBERED = re.compile(
    r"no|nos|nr|núm|num|n|pp?|s|fig|vol|art|abs|kap|ch|chap|sec|pág|tel|ext|\w*str|"
    r"jan|feb|febr|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mär|okt|dez|ene|abr|ago|dic|"
    r"mon|tues?|wed|thu|thurs?|fri|sat|sun",
    re.I,
)
"""Abbreviations before a number: what is counted, and months and weekdays."""
_DAY_OR_MONTH = re.compile(r"Febr?|Apr|Aug|Sept?|Oct|Nov|Dec|Okt|Dez|Mon|Tues?|Wed|Thu|Thurs?|Fri")
_SPACED = {("v", "chr"), ("n", "chr"), ("p", "ej"), ("ee", "uu")}
"""Abbreviations of two words whose second one has more than a letter."""
_SPANISH_USA = {"EE", "UU"}
"""The abbreviation in capitals; others, such as CA and ST, are names or words."""
_ORDINAL = re.compile(r"\d{1,2}")
_GERMAN_MONTH = re.compile(
    r"jan(?:uar)?|jänner|feb(?:ruar)?|märz?|apr(?:il)?|mai|juni?|juli?|aug(?:ust)?|sept?(?:ember)?|"
    r"okt(?:ober)?|nov(?:ember)?|dez(?:ember)?",
    re.I,
)
_BEFORE_ORDINAL = re.compile(
    r"(?:(?<!\bI )\bam|\b(?:der|dem|den|das|des|die|im|ins|zum|zur|vom|beim|ab|bis|seit|jeden))\s$",
    re.I,
)
_ORDINALS_JOINED = re.compile(r"\s+(?:und|oder|bis|[-–]|u\.)\s+\d")

_BEGINNINGS = frozenset(
    """
    I He She We They It The A An This That These Those There Here My Our His Her Their Your You
    And But So Then Now Also When Where What Why How Who Which If In On At After Before Because
    Since Maybe Yes No Not Let Lets Can Could Do Does Did Is Are Was Were Will Would For To As
    Ich Er Sie Wir Ihr Es Der Die Das Den Dem Ein Eine Einen Mein Meine Unser Unsere Dein Deine
    Sein Seine Und Aber Dann Da Danach Jetzt Heute Gestern Wenn Weil Wie Was Wo Wer Auch Im Am Auf
    Bei Mit Nach Ja Nein Nicht Man Deshalb Darum Vielleicht
    Yo Él Ella Nosotros Ellos Ellas El La Los Las Un Una Mi Mis Nuestro Nuestra Su Sus Pero Y
    Entonces Luego Después Ahora Hoy Ayer En Con Por Para Cuando Como Qué Sí También Ya Fue Era
    """.split()
)
"""Words that often begin a sentence, and seldom a name."""


def sentence_spans(text: str) -> Iterator[Span]:
    """Yield the span of each sentence of a text, in order, without the space around it."""
    start = 0
    for end in (*sentence_ends(text), len(text)):
        part = text[start:end]
        if stripped := part.strip():
            first = start + part.index(stripped[0])
            yield first, first + len(stripped)
        start = end


def sentence_ends(text: str) -> Iterator[int]:
    """Yield the position after each sentence's last mark; text after the last has no end."""
    start = 0
    for match in _END.finditer(text):
        single = match[0][0] == "." and match[0][1:2] not in {".", "!", "?", "…"}
        if not (single and _abbreviates(text, start, match.start(), match.end())):
            start = match.end()
            yield start


def _abbreviates(text: str, start: int, period: int, end: int) -> bool:
    """Whether a period belongs to the word before it, in the sentence from ``start``."""
    before = text[max(start, period - _WORD_CHARACTERS) : period]
    match = _BEFORE.search(before)
    assert match is not None  # it also matches an empty word
    word = re.sub(r"\s", "", match[0])
    part = word.rpartition("-")[2]
    after = _AFTER.match(text, end)
    if part.isalpha() and part.isupper() and len(part) > 1 and part not in _SPANISH_USA:
        return bool(after and after[1].isupper() and _TITLE.fullmatch(part))
    if _TITLE.fullmatch(part) or _UNFINISHED.fullmatch(part):
        return True
    if after is None or "\n" in text[end : after.start(1)]:
        return False
    following, dotted = after[1], after[2] is not None
    begins = following in _BEGINNINGS and not (dotted and len(following) == 1)
    if _ORDINAL.fullmatch(word):
        return (
            not text[start:period].replace(word, "", 1).strip()  # the number of a list's item
            or _GERMAN_MONTH.fullmatch(following) is not None
            or _ORDINALS_JOINED.match(text, end) is not None
            or (_BEFORE_ORDINAL.search(before[: match.start()]) is not None and not begins)
        )
    return _continues(word, part, following, begins=begins, dotted=dotted)


def _continues(word: str, part: str, following: str, *, begins: bool, dotted: bool) -> bool:
    """Whether a word with a period is an abbreviation that the following word continues.

    Args:
        word: the word before the period.
        part: its part after the last hyphen.
        following: the word after the period.
        begins: whether that word often begins a sentence.
        dotted: whether that word has a period as well.
    """
    named = following[0].isupper() and not begins
    if len(word) == 1 and word.isalpha():
        if word.isupper():
            return named or following[0].isdigit()
        if dotted and len(following) == 1 and following.isalpha():
            return True
    return bool(
        (_CAPITALIZED_TITLE.fullmatch(part) and named)
        or (_ABBREVIATION.fullmatch(part) and not begins)
        or (dotted and (part.lower(), following.lower()) in _SPACED)
        or (_NUMBERED.fullmatch(part) and following[0].isdigit())
        or (_DAY_OR_MONTH.fullmatch(part) and following[0].islower())
    )
