"""What methods share: settings, recall, replies, statements, provenance and estimates."""

from theanine.methods.shared.config import RecallConfig, check_minimums
from theanine.methods.shared.provenance import (
    dialogue_sessions,
    source_sessions,
    source_turns,
    with_ancestors,
)
from theanine.methods.shared.recall import (
    excerpt_part,
    pack,
    query_text,
    recall_memories,
    retrieve,
    statement_part,
)
from theanine.methods.shared.respond import ReplyMixin, reply
from theanine.methods.shared.statements import embed_memories, summarize_session

__all__ = [
    "RecallConfig",
    "ReplyMixin",
    "check_minimums",
    "dialogue_sessions",
    "embed_memories",
    "excerpt_part",
    "pack",
    "query_text",
    "recall_memories",
    "reply",
    "retrieve",
    "source_sessions",
    "source_turns",
    "statement_part",
    "summarize_session",
    "with_ancestors",
]
