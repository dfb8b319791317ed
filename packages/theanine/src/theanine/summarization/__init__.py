"""Summaries of sessions: statements of what was said."""

from theanine.summarization.local_summarize import local_summarize, repeats_memories
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
    "SUMMARIZE",
    "SUMMARIZE_KNOWN",
    "Known",
    "Summarized",
    "drop_recalled",
    "is_summarized",
    "local_summarize",
    "repeats_memories",
    "summarize",
    "summarize_known",
]
