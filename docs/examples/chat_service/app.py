"""A chat service with a memory: ``uvicorn app:app --workers 4``.

Any worker can take any request. A conversation goes on under its thread's id, and `theanine
worker` remembers those that have paused.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse
from openai import AsyncOpenAI
from pydantic import BaseModel

import theanine

SYSTEM = {"role": "system", "content": "You are a concierge. Answer in one sentence."}


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
    """Open one client in each worker; all of them share the file."""
    store = os.environ.get("THEANINE_STORE", "memory.db")
    async with theanine.aopen(store, remembering="later") as memory, AsyncOpenAI() as model:
        app.state.memory, app.state.model = memory, model
        yield


app = FastAPI(lifespan=lifespan)


class Said(BaseModel):
    text: str
    id: str | None = None  # the same when a request is repeated


class Answer(BaseModel):
    text: str
    remembered: list[str]


def live_session(request: Request, user: str, thread: str) -> theanine.AsyncLiveSession:
    memory: theanine.AsyncClient = request.app.state.memory
    return memory.user(user).session(thread)


Live = Annotated[theanine.AsyncLiveSession, Depends(live_session)]


@app.exception_handler(theanine.UserError)
async def refuse(request: Request, error: Exception) -> JSONResponse:
    """Tell the caller what is wrong, such as an empty text or an unknown user."""
    return JSONResponse({"detail": str(error)}, status_code=422)


@app.post("/users/{user}/threads/{thread}/turns")
async def turn(said: Said, live: Live, request: Request) -> Answer:
    answer_id = said.id and f"{said.id}-answer"
    for logged in await live.turns() if answer_id else []:
        if logged.key == answer_id:  # the request is repeated
            return Answer(text=logged.text, remembered=[])
    await live.hear(said.text, id=said.id)  # on disk from here on
    found = await live.recall(budget=400)
    messages = [SYSTEM, *await live.messages(), *found.messages()]
    completion = await request.app.state.model.chat.completions.create(
        model=os.environ.get("MODEL", "gpt-4o-mini"), messages=messages
    )
    text = completion.choices[0].message.content
    answer = await live.say(text, recalled=found, id=answer_id)
    return Answer(text=answer.text, remembered=[part.text for part in found.parts])


@app.post("/users/{user}/threads/{thread}/end")
async def end(live: Live) -> None:
    await live.end()


@app.delete("/users/{user}")
async def forget(user: str, request: Request) -> int:
    report = await request.app.state.memory.user(user).forget_all()
    return report.turns
