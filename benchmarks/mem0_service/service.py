"""mem0's library behind a minimal web service, set up as its README does, on local endpoints.

Environment: ``FOLDER`` for its files, ``ENDPOINT`` for an OpenAI-compatible server.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from mem0 import Memory
from pydantic import BaseModel

FOUND = 10

folder, endpoint = Path(os.environ["FOLDER"]), os.environ["ENDPOINT"]
openai = {"api_key": "none", "openai_base_url": endpoint}
memory = Memory.from_config(
    {
        "vector_store": {
            "provider": "qdrant",
            "config": {"path": str(folder / "qdrant"), "on_disk": True},
        },
        "embedder": {
            "provider": "openai",
            "config": {**openai, "model": "text-embedding-3-small"},
        },
        "llm": {"provider": "openai", "config": {**openai, "model": "gpt-4o-mini"}},
        "history_db_path": str(folder / "history.db"),
    }
)
app = FastAPI()


class Words(BaseModel):
    """A message or a question of a user."""

    user: str
    text: str


@app.post("/recall")
def recall(asked: Words) -> Any:
    """Search a user's memories."""
    return memory.search(asked.text, filters={"user_id": asked.user}, top_k=FOUND)


@app.post("/hear")
def hear(said: Words) -> Any:
    """Store what a user says, as it is: no model is asked."""
    return memory.add(said.text, user_id=said.user, infer=False)
