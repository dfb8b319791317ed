"""Reads histories from elsewhere: one module a format, all found by :func:`read_histories`."""

from __future__ import annotations

from theanine.importers.base import Format, Rejected
from theanine.importers.reading import FORMATS, Reading, read_histories
from theanine.importers.store_export import is_dump

__all__ = ["FORMATS", "Format", "Reading", "Rejected", "is_dump", "read_histories"]
