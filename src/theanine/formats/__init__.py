"""Reads histories from elsewhere: one module a format, all found by :func:`read_histories`."""

from __future__ import annotations

from theanine.formats.base import Format, Rejected
from theanine.formats.dump import is_dump
from theanine.formats.reading import FORMATS, Reading, read_histories

__all__ = ["FORMATS", "Format", "Reading", "Rejected", "is_dump", "read_histories"]
