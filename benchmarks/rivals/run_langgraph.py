"""Measure LangGraph's store in main memory, which LangMem's tools search.

LangMem itself adds what a language model extracts, so the turns are put as they are, as its tool
``manage_memory`` would put them.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measuring import MODEL, Rival, Said, System, main

NAMESPACE = ("memories",)


class LangGraph:
    """An ``InMemoryStore`` with an index, searched by LangMem's tool."""

    def __init__(self, endpoint: str, dimension: int) -> None:
        from langchain_openai import OpenAIEmbeddings
        from langgraph.store.memory import InMemoryStore
        from langmem import create_search_memory_tool
        from pydantic import SecretStr

        embed = OpenAIEmbeddings(
            model=MODEL,
            base_url=endpoint,
            api_key=SecretStr("none"),
            check_embedding_ctx_length=False,
        )
        self._store = InMemoryStore(index={"dims": dimension, "embed": embed})
        self._search: Any = create_search_memory_tool(
            namespace=NAMESPACE, store=self._store, response_format="content_and_artifact"
        )

    def add(self, turns: Sequence[Said], user: str) -> None:
        """Put each turn."""
        for turn in turns:
            self._store.put(NAMESPACE, turn.id, {"content": turn.line})

    def ask(self, question: str, limit: int | None) -> list[str]:
        """Search by the tool."""
        limited = {} if limit is None else {"limit": limit}
        _, found = self._search.func(query=question, **limited)
        return [item.key for item in found]

    def close(self) -> None:
        """Nothing runs for it."""


def open_system(folder: Path, endpoint: str, dimension: int) -> System:
    """Open it; it keeps nothing on disk."""
    return LangGraph(endpoint, dimension)


RIVAL = Rival(
    "langgraph",
    ("langmem==0.0.30", "numpy"),
    "create_search_memory_tool: limit=10, no threshold",
    open_system,
    __file__,
)

if __name__ == "__main__":
    main(RIVAL)
