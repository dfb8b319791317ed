"""Front matter: ``key: value`` lines between two lines ``---`` at the start of a Markdown file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_FIELD = re.compile(r"(?P<key>[A-Za-z][\w -]{0,40}):\s+(?P<value>\S.*)")
_DATES = ("date", "created", "created_at", "create_time", "creation_date", "started", "day")

ISO_DATE = re.compile(
    r"(?<!\d)\d{4}-\d\d-\d\d"
    r"(?:(?:T|,? (?:at )?)\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:\s?Z|\s?[+-]\d\d:?\d\d)?)?(?!\d)"
)
"""A date in ISO 8601, with or without a time of day and an offset."""


def split_front_matter(lines: Sequence[str]) -> tuple[Mapping[str, str], int]:
    """Return the fields of a file's front matter, and the index of the first line after it.

    Only fields of one line are read; quotes around a value are taken off.
    """
    if not lines or lines[0].strip() != "---":
        return {}, 0
    for end, line in enumerate(lines[1:], 1):
        if line.strip() in ("---", "..."):
            matches = (_FIELD.fullmatch(each.strip()) for each in lines[1:end])
            fields = {m["key"].lower(): m["value"].strip().strip("\"'") for m in matches if m}
            return fields, end + 1
    return {}, 0


def front_matter_date(fields: Mapping[str, str]) -> str:
    """Return the date that front matter gives, in ISO 8601; empty if it gives none."""
    for key in _DATES:
        if match := ISO_DATE.search(fields.get(key, "")):
            return match[0]
    return ""
