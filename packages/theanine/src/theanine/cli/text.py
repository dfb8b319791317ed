"""Text that is safe and correct to print: control characters, formulas, plurals."""

from __future__ import annotations

import re
from typing import TypeVar

T = TypeVar("T")

_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters that steer a terminal or change the reading order without being seen."""


def visible(text: str) -> str:
    """Return foreign text with its control characters escaped (``\\u001b``).

    Line breaks and tabs are kept. Inside JSON the escapes stand for the same characters.
    """
    return _INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")


def csv_cell(value: T) -> T | str:
    """Return a value for a CSV file; of a text, one that no spreadsheet reads as a formula.

    A text that could begin a formula gets an apostrophe before it. Numbers stay as they are.
    """
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def pluralize(count: int, things: str) -> str:
    """Return a count with its noun: ``2,000 new memories``, ``1 label of no turn``.

    Args:
        things: the plural. For a count of 1 its first word that ends in s becomes singular.
    """
    if count == 1:
        things = re.sub(r"(?:(ie)|)s\b", lambda s: "y" if s[1] else "", things, count=1)
    return f"{count:,} {things}"
