"""Mark what should be verified before it is relied on: its ``verify_by`` has passed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from theanine.ends import to_verify_since
from theanine.text.formatting import day_label
from theanine.types import Memory, Part, Turn


def unverified_note(of: Collection[Turn | Memory], present: datetime | None) -> str:
    """Return what to add to words that rest on some turns or memories; empty if they may stand.

    ``present`` is the time of the recall; None never marks anything.
    """
    since = to_verify_since(of, present) if present else None
    if since is None:
        return ""
    zone = next(each.at.tzinfo for each in of)
    return f" (unverified since {day_label(since.astimezone(zone), dated=True)})"


def marked(part: Part, present: datetime | None) -> Part:
    """Return a part whose text says if anything behind it is to be verified."""
    note = unverified_note((*part.memories, *part.source_turns), present)
    return replace(part, text=part.text + note) if note else part
