"""Decoding text by the charset that its sender names, in the names that senders use, or a guess."""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

from theanine.importers.wording import wording

_ALIASES = wording("charsets")
_ONE_BYTE = re.compile(r"(?:cp125[0-8]|iso8859-(?!11)\d+|koi8-[ru]|mac-.*)\Z")
_OF_WINDOWS: Mapping[str, str] = wording("windows_charsets")
"""Windows's charset by the standard one whose name it is sent under."""
_CONTROLS = re.compile(rb"[\x80-\x9f]")
"""Bytes that are letters and quotation marks on Windows, and nothing in the standard charsets."""
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CHINESE = re.compile(rb"\x1b\$\)A|\x0e([^\x0f\n]*)\x0f?")
_EXTENDED = "theanine-windows-japanese"
_HZ = re.compile(rb"~\{(?:[\x21-\x77][\x21-\x7e])+~\}")


_ALPHABETS: Mapping[str, Sequence[str]] = wording("alphabets")
_PAIRS: Mapping[str, Mapping[str, int]] = wording("pairs")
_ASCII = bytes(range(128))
_SIGNS = "\xa0«»“”„‘’–—…°€§"
_SIGN, _CAPITAL, _ODD, _ASCII_TRAIL = (math.log(each) for each in (32, 4, 512, 64))
"""How unlikely are a sign, a capital, and a byte that is no letter; and one of ASCII, which is
counted only in a pair."""
_LOOKED_AT = 1 << 16


def is_utf8(data: bytes) -> bool:
    """Return whether a text is UTF-8, or most of it is so."""
    beyond = [each for each in data.decode("utf-8", "surrogateescape") if each > "\x7f"]
    return sum("\udc80" <= each <= "\udcff" for each in beyond) * 3 <= len(beyond)


def guessed_charset(data: bytes) -> str:
    """Return the charset of a text that isn't UTF-8: that in which its bytes are likeliest."""
    data = data[:_LOOKED_AT]
    counts = Counter(data.translate(None, _ASCII))
    costs = {
        charset: min(_cost(counts, letters, charset) for letters in alphabets)
        for charset, alphabets in _ALPHABETS.items()
    }
    for charset, kinds in _PAIRS.items():
        signs = "".join(f"({kind})|" for kind in kinds) + r"[\x81-\xfe][\x40-\xfe]|([\x80-\xff])"
        each = {**dict(enumerate(map(math.log, kinds.values()), 1)), len(kinds) + 1: _ODD}
        costs[charset] = sum(
            each.get(sign.lastindex or 0, 2 * _ODD) - _ASCII_TRAIL * (sign[0][-1] < 0x80)
            for sign in re.finditer(signs.encode(), data)
        )
    usual = {charset: math.log(rank) for rank, charset in enumerate(costs, 1)}
    return min(costs, key=lambda charset: costs[charset] + usual[charset])


def _cost(counts: Mapping[int, int], letters: str, charset: str) -> float:
    """Return how unlikely bytes are in a charset if a language has these letters."""
    each = dict.fromkeys(_SIGNS.encode(charset, "ignore"), _SIGN)
    whole = math.log(sum(1 / rank for rank in range(3, len(letters) + 3)))
    for rank, letter in enumerate(letters, 3):
        unlikely = math.log(rank) + whole
        each |= dict.fromkeys(letter.upper().encode(charset, "ignore"), unlikely + _CAPITAL)
        each |= dict.fromkeys(letter.encode(charset), unlikely)
    return sum(each.get(byte, _ODD) * count for byte, count in counts.items())


def decode_charset(data: bytes, name: str) -> str:
    """Return text in a charset; one that isn't known, or is wrong, is UTF-8 or else guessed.

    Text that names its charset by its escapes or by its first bytes is in that.
    """
    known = _codec(name)
    if mark := next((mark for mark in _MARKS if data.startswith(mark)), None):
        return data.decode(_MARKS[mark], "replace")
    if data.isascii() and (b"\x1b$" in data or b"\x1b(I" in data):
        return _by_escapes(data, known)
    if known == "utf-8" and data.isascii() and _HZ.search(data):
        known = "hz"
    if _ONE_BYTE.match(known) and not data.isascii():
        with suppress(UnicodeError):  # which letters of such a charset never form
            return data.decode("utf-8")
    if known in _OF_WINDOWS and _CONTROLS.search(data):
        known = _OF_WINDOWS[known]
    for candidate in dict.fromkeys((known, "utf-8")):
        try:
            return data.decode(candidate)
        except UnicodeError:
            continue
    return data.decode(guessed_charset(data) if known == "utf-8" else known, "replace")


def _by_escapes(data: bytes, known: str) -> str:
    """Return text in ISO-2022 of Japan, as Windows extends it, of Korea or of China."""
    if b"\x1b$)A" in data:
        return _CHINESE.sub(lambda m: bytes(b | 0x80 for b in m[1] or b""), data).decode(
            "gb2312", "replace"
        )
    for codec in (known, "iso2022_kr"):
        with suppress(UnicodeError):
            if "\x1b" not in (text := data.decode(codec)):
                return text
    return data.decode("iso2022_jp_ext", _EXTENDED)


def _windows_japanese(fault: UnicodeError) -> tuple[str, int]:
    """Return what the standard lacks by its place in Windows's charset, and where it ends."""
    start, data = cast("UnicodeDecodeError", fault).start, cast("UnicodeDecodeError", fault).object
    row, cell = (*data[start : start + 2], 0)[:2]
    if not (0x20 < row < 0x7F and 0x20 < cell < 0x7F):
        return "\ufffd", start + 1
    lead = (row + 1) // 2 + (0x70 if row < 0x5F else 0xB0)
    trail = cell + (0x7E if row % 2 == 0 else 0x1F + (cell >= 0x60))
    return bytes((lead, trail)).decode("cp932", "replace"), start + 2


codecs.register_error(_EXTENDED, _windows_japanese)


def _codec(name: str) -> str:
    """Return Python's name of a charset; UTF-8 if it knows none."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    short = plain.removeprefix("x").removeprefix("cs")
    page = re.fullmatch(r"(?:x?cp|x?windows|win|ibm|dos|x?ansi)0*(\d{3,5})", plain)
    iso = re.fullmatch(r"x?iso8859(\d{1,2})[ei]?", plain)
    names = (
        *(_ALIASES.get(plain, ""), _ALIASES.get(short, "")),
        *(f"cp{page[1]}" if page else "", f"iso8859-{iso[1]}" if iso else ""),
        *(name, plain, short),
    )
    for each in filter(None, names):
        with suppress(LookupError, ValueError):
            "a".encode(each)  # raises LookupError also for codecs that aren't of text
            return codecs.lookup(each).name
    return "utf-8"
