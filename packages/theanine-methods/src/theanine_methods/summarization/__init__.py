"""A running summary of all sessions."""

from theanine_methods.summarization.running_summary import (
    REWRITE_SUMMARY,
    UPDATE_SUMMARY,
    SummarySentence,
    WholeSummary,
    local_update_summary,
    update_summary,
)

__all__ = [
    "REWRITE_SUMMARY",
    "UPDATE_SUMMARY",
    "SummarySentence",
    "WholeSummary",
    "local_update_summary",
    "update_summary",
]
