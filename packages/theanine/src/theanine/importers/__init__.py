"""Reads histories from elsewhere: one module a format, all found by :func:`read_histories`."""

from __future__ import annotations

from theanine.importers.base import Format, Rejected
from theanine.importers.reading import FORMATS, HistoryReader, read_histories
from theanine.importers.store_export import is_store_export

__all__ = ["FORMATS", "Format", "HistoryReader", "Rejected", "is_store_export", "read_histories"]
