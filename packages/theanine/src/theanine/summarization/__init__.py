"""Summaries of sessions: statements, and a running summary of all sessions."""

from theanine.summarization.local_summarize import local_summarize, repeats_memories
from theanine.summarization.running_summary import (
    REWRITE_SUMMARY,
    UPDATE_SUMMARY,
    SummarySentence,
    WholeSummary,
    local_update_summary,
    update_summary,
)
from theanine.summarization.summarize import SUMMARIZE, drop_recalled, summarize

__all__ = [
    "REWRITE_SUMMARY",
    "SUMMARIZE",
    "UPDATE_SUMMARY",
    "SummarySentence",
    "WholeSummary",
    "drop_recalled",
    "local_summarize",
    "local_update_summary",
    "repeats_memories",
    "summarize",
    "update_summary",
]
