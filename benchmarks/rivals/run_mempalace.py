"""Measure MemPalace: a drawer for each message, by ``sweep``, and its hybrid search."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measuring import MODEL, Rival, Said, System, main


class MemPalace:
    """A palace in ChromaDB, its default, with the endpoint's vectors."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        os.environ |= {
            "MEMPALACE_EMBEDDING_MODEL": "openai-compat",
            "MEMPALACE_EMBEDDING_API_URL": endpoint,
            "MEMPALACE_EMBEDDING_API_MODEL": MODEL,
            "MEMPALACE_EMBEDDING_API_KEY": "none",
        }
        self._folder = folder
        self._palace = str(folder / "palace")
        self._turns: dict[str, str] = {}

    def add(self, turns: Sequence[Said], user: str) -> None:
        """Sweep the turns as a transcript."""
        from mempalace.sweeper import sweep

        file = self._folder / "talk.jsonl"
        with file.open("w") as lines:
            for turn in turns:
                role = "user" if turn.speaker == user else "assistant"
                record: dict[str, Any] = {
                    "type": role,
                    "sessionId": turn.session,
                    "uuid": turn.id,
                    "timestamp": turn.at,
                    "message": {"role": role, "content": turn.line},
                }
                print(json.dumps(record), file=lines)
                self._turns[f"sweep_{turn.session}_{turn.id}"] = turn.id
        swept = sweep(str(file), self._palace)
        if swept["drawers_added"] < len(turns):
            raise RuntimeError(f"not all turns were stored: {swept}")

    def ask(self, question: str, limit: int | None) -> list[str]:
        """Search as its MCP server does."""
        from mempalace.searcher import search_memories

        limited = {} if limit is None else {"n_results": limit}
        found = search_memories(question, self._palace, **limited)
        if "error" in found:
            raise RuntimeError(found["error"])
        return [self._turns[hit["drawer_id"]] for hit in found["results"]]

    def close(self) -> None:
        """Nothing runs for it."""


def open_system(folder: Path, endpoint: str, dimension: int) -> System:
    """Open it."""
    return MemPalace(folder, endpoint)


RIVAL = Rival(
    "mempalace",
    ("mempalace==3.11.0",),
    "search_memories: n_results=5, no threshold",
    open_system,
    __file__,
)

if __name__ == "__main__":
    main(RIVAL)
