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
from theanine.summarization.summarize import (
    SUMMARIZE,
    drop_recalled,
    is_summarized,
    summarize,
)
from theanine.summarization.summarize_known import (
    SUMMARIZE_KNOWN,
    Known,
    Summarized,
    summarize_known,
)

__all__ = [
    "REWRITE_SUMMARY",
    "SUMMARIZE",
    "SUMMARIZE_KNOWN",
    "UPDATE_SUMMARY",
    "Known",
    "Summarized",
    "SummarySentence",
    "WholeSummary",
    "drop_recalled",
    "is_summarized",
    "local_summarize",
    "local_update_summary",
    "repeats_memories",
    "summarize",
    "summarize_known",
    "update_summary",
]
