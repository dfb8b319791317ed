"""Decoding text by the charset that its sender names, in the names that senders use."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress

from theanine.importers.wording import wording

_ALIASES = wording("charsets")


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
