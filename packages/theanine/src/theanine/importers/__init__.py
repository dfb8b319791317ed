"""Importers: conversations of other programs and of data sets as histories.

The formats are rows of ``formats.toml``; what a row cannot say is in a module.
"""

from __future__ import annotations

from theanine.importers.base import Format, Rejected
from theanine.importers.preview import HistoryPreview, is_one_account, preview_history
from theanine.importers.reading import (
    FORMATS,
    ImportedHistories,
    UnknownFormat,
    read_histories,
)
from theanine.importers.source import is_store_export, read_export, read_text

__all__ = [
    "FORMATS",
    "Format",
    "HistoryPreview",
    "ImportedHistories",
    "Rejected",
    "UnknownFormat",
    "is_one_account",
    "is_store_export",
    "preview_history",
    "read_export",
    "read_histories",
    "read_text",
]
