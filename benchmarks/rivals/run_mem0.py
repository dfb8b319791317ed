"""Measure mem0's library as its README sets it up, storing turns as they are (``infer=False``)."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measuring import MODEL, Rival, Said, System, main

USER = "ana"


class Mem0:
    """A memory with Qdrant on disk; its language model is never called."""

    def __init__(self, folder: Path, endpoint: str, dimension: int) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0")}
        from mem0 import Memory

        openai = {"api_key": "none", "openai_base_url": endpoint}
        qdrant = {
            "path": str(folder / "qdrant"),
            "on_disk": True,
            "embedding_model_dims": dimension,
        }
        self._memory: Any = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": qdrant},
                "embedder": {"provider": "openai", "config": {**openai, "model": MODEL}},
                "llm": {"provider": "openai", "config": openai},
                "history_db_path": str(folder / "history.db"),
            }
        )

    def add(self, turns: Sequence[Said], user: str) -> None:
        """Add each turn."""
        for turn in turns:
            self._memory.add(turn.line, user_id=USER, infer=False, metadata={"turn": turn.id})

    def ask(self, question: str, limit: int | None) -> list[str]:
        """Search the user's memories."""
        limited = {} if limit is None else {"top_k": limit}
        found = self._memory.search(question, filters={"user_id": USER}, **limited)
        return [memory["metadata"]["turn"] for memory in found["results"]]

    def close(self) -> None:
        """Close its files."""
        self._memory.close()


def open_system(folder: Path, endpoint: str, dimension: int) -> System:
    """Open it."""
    return Mem0(folder, endpoint, dimension)


RIVAL = Rival(
    "mem0",
    ("mem0ai==2.2.1",),
    "search: top_k=20, threshold=0.1",
    open_system,
    __file__,
)

if __name__ == "__main__":
    main(RIVAL)
