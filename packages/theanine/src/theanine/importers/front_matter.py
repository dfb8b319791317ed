"""Front matter: ``key: value`` lines between two lines ``---`` at the start of a Markdown file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from theanine.clock import fault_of_time
from theanine.errors import BadInput
from theanine.importers.base import ZONELESS, Intake
from theanine.importers.wording import wording
from theanine.importers.written_dates import any_time, find_date, written_time

_FIELD = re.compile(r"(?P<key>[^\W\d_][\w -]{0,40}):\s+(?P<value>\S.*)")
_DATES = wording("notes")["dates"]
_NUMBER = re.compile(r"\d{9,10}(?:\.\d+)?|\d{12,13}")

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
    """Return the words of the date that front matter gives; empty if it gives none."""
    plain = {re.sub(r"[\s_-]", "", key): value for key, value in fields.items()}
    dates = (plain.get(key, "") for key in _DATES)
    return next((value for value in dates if _is_date(value)), "")


def _is_date(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text) or ISO_DATE.search(text) or find_date(text))


def date_in(intake: Intake, text: str) -> datetime | None:
    """Return the date in a text, by its day noon if it has no time; None if it has none.

    It can be in ISO 8601, as people write it in any language, or a number since 1970.
    """
    if match := ISO_DATE.search(text):
        with suppress(BadInput):
            return intake.iso_date(match[0], intake.name)
        return None
    if _NUMBER.fullmatch(text):
        return any_time(text, intake.options.local)
    at = written_time(text, intake.options.local)
    if at is None or fault_of_time(at):
        return None
    intake.notes[ZONELESS] += intake.options.zone is None
    found = find_date(text)
    swapped = "dates that could also have month and day the other way round"
    intake.notes[swapped] += found is not None and found.swappable
    return at
