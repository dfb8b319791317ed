"""Ids in tools: ``m12`` is a memory, ``t34`` a turn, and ``m12@2`` the second page of ``m12``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from theanine.errors import BadInput

_ID = re.compile(r"([mt])([1-9][0-9]{0,8})(?:@([1-9][0-9]{0,3}))?")
URI = "theanine://memory/"
"""Prefix of the ids' URIs."""


@dataclass(frozen=True, slots=True)
class RecordId:
    """The id of a memory (``m``) or a turn (``t``), and which page of its text."""

    kind: Literal["m", "t"]
    number: int
    page: int = 1

    @classmethod
    def parse(cls, text: str) -> RecordId:
        """Read an id or its URI. Raises BadInput."""
        match = _ID.fullmatch(text.strip().removeprefix(URI))
        if match is None:
            raise BadInput(f"{text[:80]!r} is not an id: pass one of `search`, such as m12 or t34")
        return cls("m" if match[1] == "m" else "t", int(match[2]), int(match[3] or 1))

    @property
    def uri(self) -> str:
        """The URI of the first page."""
        return f"{URI}{self.kind}{self.number}"

    def __str__(self) -> str:
        page = f"@{self.page}" if self.page > 1 else ""
        return f"{self.kind}{self.number}{page}"
