"""The web service that ``serving`` measures: each request is one turn, without a model."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from pydantic import BaseModel

import theanine


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
    """Open one client in each worker."""
    async with theanine.aopen(os.environ["THEANINE_STORE"], remembering="later") as memory:
        app.state.memory = memory
        yield


app = FastAPI(lifespan=lifespan)


class Said(BaseModel):
    """The words of a client in a request."""

    text: str


@app.post("/users/{user}/threads/{thread}/turns")
async def turn(user: str, thread: str, said: Said, request: Request) -> int:
    """Log a turn and recall for it; return its number."""
    live = request.app.state.memory.user(user).session(thread)
    heard = await live.hear(said.text)
    await live.recall()
    return heard.id
