"""Read the own end of what is logged: ``expires`` and ``verify_by``, as arguments or metadata."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from theanine.client.options import Moment, read_moment
from theanine.ends import ENDS, EXPIRES, end_text
from theanine.errors import BadInput, SettingsError
from theanine.store.validate import check_time
from theanine.types import Metadata, Scalar


def with_ends(
    metadata: Metadata | None, expires: Moment | None, verify_by: Moment | None
) -> dict[str, Scalar]:
    """Return metadata with the ends that are given as arguments, not read yet.

    Raises SettingsError for a time without a UTC offset.
    """
    ends = dict(zip(ENDS, (expires, verify_by), strict=True))
    return {
        **(metadata or {}),
        **{name: _text(name, value) for name, value in ends.items() if value is not None},
    }


def has_ends(metadata: Mapping[str, Any]) -> bool:
    """Return whether metadata names an end."""
    return any(metadata.get(name) is not None for name in ENDS)


def read_ends(
    metadata: Metadata, now: datetime, said: datetime | None, where: str = ""
) -> Metadata:
    """Return metadata with its ends as they are stored; a day is read in the time zone of ``now``.

    ``said`` is when that was said which ends; None if it is not known. Raises BadInput for what is
    no time, and for what would expire before it was said: then it would never be shown.
    """
    ends: dict[str, str] = {}
    for name in ENDS:
        value = metadata.get(name)
        if value is None:
            continue
        try:
            at = read_moment(name, value, now, end=True) if isinstance(value, str) else None
        except SettingsError as error:
            raise BadInput(str(error), where) from None
        if at is None:
            raise BadInput(
                f"{name} must be a time such as 2027-05-01, not {value!r}; in metadata, it is when "
                "something ends: keep other data under another name",
                where,
            )
        check_time(at, name, where)
        if name == EXPIRES and said is not None and at <= said:
            raise BadInput(
                f"{name} ({at.isoformat(timespec='seconds')}) is over: it was said at "
                f"{said.isoformat(timespec='seconds')}; name a later time, or leave {name} out",
                where,
            )
        ends[name] = end_text(at)
    return {**metadata, **ends}


def _text(name: str, value: Moment) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, datetime) and value.utcoffset() is None:
        raise SettingsError(f"{name} needs a UTC offset, such as {value.isoformat()}+00:00")
    return value.isoformat()
