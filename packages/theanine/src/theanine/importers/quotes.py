"""Stripping what a mail quotes of earlier mails, and signatures.

A quotation is known by its form in any language: a block of headers, a line that introduces it by a
date and an address, or lines that begin with ">". Cautious rather than thorough: a line is only
taken away when its form says that it is a quote, so that no word of the writer is lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from theanine.importers.wording import wording

_WORDS = wording("mail")
_ORIGINAL = re.compile(
    rf"\s*-{{3,}}\s*(?:{'|'.join(_WORDS['original'])})\s*-{{3,}}\s*", re.IGNORECASE
)
_HEADER = re.compile(rf"[*\s]*(?:{'|'.join(_WORDS['headers'])})\s?[:：][*\s]?.*")
_LABELLED = re.compile(
    r"[*\s]*[^\W\d_](?:[^\n:：*@]{0,28}[^\s:：*@])?\*?\s?[:：]\*?\s*(?P<value>\S.*)"
)
"""A line of a block of headers in any language."""
_ADDRESS = re.compile(r"[^\s<>()\[\]:;,]+@[^\s<>()\[\]:;,]+\.[^\W\d_]{2,}")
_AT_AN_END = re.compile(rf"{_ADDRESS.pattern}.*|.*{_ADDRESS.pattern}[^\d@]{{0,30}}", re.DOTALL)
_IN_BRACKETS = re.compile(rf"[<(\[]\s*(?:mailto:)?{_ADDRESS.pattern}[^<>()\[\]]*[>)\]]")
_YEAR = re.compile(r"(?<!\d)(?:\d{4}|\d{1,2}([./-])\d{1,2}\1\d{2})(?!\d)")
_CLOCK = re.compile(r"(?<!\d)\d{1,2}(?:[:.]|\s?[hH時时点點시]\s?)\d{2}(?!\d)")
_SEPARATOR = re.compile(r"\s*(?:[_=*-]{10,}|-{3,}[^\d\n-][^\d\n]{0,50}?-{3,}|[*_]{0,2}>?)\s*")
"""The separator that a mail program draws above a quotation; a blank line counts as one."""
_BETWEEN_DASHES = re.compile(r"\s*-{3,40}(?=[\W\d_]{0,40}[^\W\d_])[^\n]{1,250}?-{3,}\s*")
_WRAPPED = re.compile(r"(<(?=[^<>]*@)[^<>\s]*)[ \t]*\n[ \t]*([^<>\s]*>)")
"""An address that goes on, or is closed, on the next line."""
_QUOTED = re.compile(r"[ \t]{0,3}>")
_SIGNATURE = re.compile(r"--\s?")
_APP, _SENT = "|".join(_WORDS["apps"]), "|".join(_WORDS["sent"])
_SENT_BY_APP = re.compile(
    rf"(?=.*(?:{_APP}))(?:(?:{_SENT})(?![^\W\d_]{{2}}).*|.*(?:{_SENT})[^\w]*)", re.IGNORECASE
)
"""The line that an app adds below a mail: "sent", first or last, and by what."""
_APP_LINK = re.compile(
    r"https?://(?:aka\.ms|go\.onelink\.me|[\w.]*mail\.yahoo|yho\.com|proton\.me)/"
)
_MAX_APP_WORDS = 8


def strip_quotes(text: str) -> str:
    """Return a mail's text without quoted replies and signature."""
    lines = _WRAPPED.sub(r"\1\2", text.replace("\r\n", "\n")).split("\n")
    for number, line in enumerate(lines):
        if _SIGNATURE.fullmatch(line) or _ORIGINAL.fullmatch(line):
            lines = lines[:number]
            break
        if _begins_headers(lines, number) or _introduces(lines, number):
            lines = lines[:number]
            while lines and _SEPARATOR.fullmatch(lines[-1]):
                lines.pop()
            break
    kept: list[str] = []
    for number, line in enumerate(lines):
        if not _QUOTED.match(line):
            kept.append(line)
        elif number and not _QUOTED.match(lines[number - 1]):
            _drop_introduction(kept)
    _drop_app_line(kept)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _begins_headers(lines: Sequence[str], start: int) -> bool:
    """Return whether the headers of a quoted mail begin: known words, or their form.

    The form is three lines or more of a word and a colon, among the first five of which one has an
    address, and another the year and the time of day; below a line between dashes an address is
    enough.
    """
    first = lines[start : start + 3]
    if len(first) < 3 or not lines[start].strip():
        return False
    if all(_HEADER.fullmatch(line) for line in first):
        return True
    values: list[str] = []
    for line in lines[start : start + 5]:
        if not (match := _LABELLED.fullmatch(line)):
            break
        values.append(match["value"])
    addressed = {i for i, value in enumerate(values) if _ADDRESS.search(value)}
    if addressed and start and _BETWEEN_DASHES.fullmatch(lines[start - 1]):
        return True
    dated = {i for i, value in enumerate(values) if _YEAR.search(value) and _CLOCK.search(value)}
    return len(values) >= 3 and bool(addressed) and bool(dated - addressed)


def _introduces(lines: Sequence[str], start: int) -> bool:
    """Return whether a line introduces a quotation without ">", by a date, an address and a colon.

    Instead of the colon there can be dashes around it; an address without brackets is at an end. It
    can go on over three lines. One that is followed by ">" is taken away with what is quoted.
    """
    if not lines[start].strip() or (start and not _SEPARATOR.fullmatch(lines[start - 1])):
        return False
    for end in range(start + 1, min(start + 4, len(lines) + 1)):
        if not lines[end - 1].strip():
            return False
        joined = " ".join(lines[start:end]).strip(" *_")
        if _BETWEEN_DASHES.fullmatch(joined) and _ADDRESS.search(joined):
            return _YEAR.search(_ADDRESS.sub("", joined)) is not None
        if joined.endswith((":", "：")):
            following = next((line for line in lines[end:] if line.strip()), "")
            return (
                len(joined) < 300
                and not _QUOTED.match(following)
                and (
                    _IN_BRACKETS.search(joined) is not None
                    or (_CLOCK.search(joined) and _AT_AN_END.fullmatch(joined)) is not None
                )
                and _YEAR.search(_ADDRESS.sub("", joined)) is not None
            )
    return False


def _drop_introduction(kept: list[str]) -> None:
    """Take away "On 8 May 2024, Bo <bo@example.org> wrote:" above a quote, on up to three lines."""
    while kept and not kept[-1].strip():
        kept.pop()
    length = 0
    for count in (1, 2, 3):
        paragraph = kept[-count:]
        joined = " ".join(paragraph).strip()
        is_whole = len(paragraph) == count and all(line.strip() for line in paragraph)
        if not (is_whole and joined.endswith((":", "："))):
            break
        if re.search(r"\d", joined) and (count == 3 or "@" in joined or _YEAR.search(joined)):
            length = count
            break
        if _IN_BRACKETS.search(joined, 1):  # undated, behind a name
            length = length or count
    if length:
        del kept[-length:]
        while kept and _SEPARATOR.fullmatch(kept[-1]):
            kept.pop()


def _drop_app_line(kept: list[str]) -> None:
    """Take away the last paragraph if it is one line that an app added, such as where it ran."""
    while kept:
        while kept and not kept[-1].strip():
            kept.pop()
        line = kept[-1].strip(" *_<>[]()") if kept else ""
        alone = len(kept) < 2 or not kept[-2].strip()
        words = len(re.sub(r"https?://\S+", "", line).split())
        is_sentence = line.endswith(("?", "!")) or words > _MAX_APP_WORDS
        if not (alone and not is_sentence and len(kept) > 1):
            return
        if not (_APP_LINK.search(line) or _SENT_BY_APP.fullmatch(line)):
            return
        kept.pop()
