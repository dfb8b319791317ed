"""Decoding text by the charset that its sender names, in the names that senders use."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress

_ALIASES = {
    "unicode11utf7": "utf-7",
    "utf8mb4": "utf-8",
    "xuserdefined": "cp1252",
    "xunknown": "utf-8",
    "unknown8bit": "utf-8",
    "ansi": "cp1252",
    "ansix3110": "ascii",
    "macintosh": "mac-roman",
    "xmaccroatian": "mac-croatian",
    "xmacce": "mac-latin2",
    "xsjis": "cp932",
    "shiftjis": "cp932",
    "windows31j": "cp932",
    "ksc56011987": "cp949",
    "euckr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "xgbk": "gb18030",
    "big5": "big5hkscs",
    "iso88591": "cp1252",
    "latin1": "cp1252",
    "usascii": "utf-8",
    "ascii": "utf-8",
    "iso88599": "cp1254",
    "tis620": "cp874",
    "iso885911": "cp874",
}
"""Names that Python lacks, and charsets that senders mean by a part of them, as WHATWG lists."""


def decode_charset(data: bytes, name: str) -> str:
    """Return text in a charset; one that isn't known, or is wrong, is UTF-8 or else Windows's."""
    known = _codec(name)
    for candidate in dict.fromkeys((known, "utf-8")):
        try:
            return data.decode(candidate)
        except UnicodeError:
            continue
    return data.decode("cp1252" if known == "utf-8" else known, "replace")


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
