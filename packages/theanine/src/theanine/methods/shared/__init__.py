"""What methods share: settings, recall, replies, statements, provenance and estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theanine.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from theanine.methods.shared.config import BudgetConfig, RecallConfig, check_minimums
    from theanine.methods.shared.memories import (
        embed_memories,
        excerpt_memories,
        make_memory,
        with_vectors,
    )
    from theanine.methods.shared.method_base import MethodBase
    from theanine.methods.shared.provenance import (
        dialogue_sessions,
        source_sessions,
        source_turns,
        with_ancestors,
    )
    from theanine.methods.shared.recall import (
        excerpt_part,
        fit_parts,
        live_by_time,
        make_part,
        pack,
        query_text,
        recall_memories,
        retrieve,
        statement_part,
    )
    from theanine.methods.shared.respond import ask_reply, reply
    from theanine.methods.shared.statements import summarize_session

__all__ = [
    "BudgetConfig",
    "MethodBase",
    "RecallConfig",
    "ask_reply",
    "check_minimums",
    "dialogue_sessions",
    "embed_memories",
    "excerpt_memories",
    "excerpt_part",
    "fit_parts",
    "live_by_time",
    "make_memory",
    "make_part",
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
    "with_vectors",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "config": "BudgetConfig RecallConfig check_minimums",
        "memories": "embed_memories excerpt_memories make_memory with_vectors",
        "provenance": "dialogue_sessions source_sessions source_turns with_ancestors",
        "recall": "excerpt_part fit_parts live_by_time make_part pack query_text recall_memories "
        "retrieve statement_part",
        "method_base": "MethodBase",
        "respond": "ask_reply reply",
        "statements": "summarize_session",
    },
)
