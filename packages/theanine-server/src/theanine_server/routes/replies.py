"""Replies: recall, let the service's model write the assistant's next turn, and log it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, Literal

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from theanine.client import AsyncReplyStream
from theanine.client.reply_options import ReplyArguments
from theanine.client.session import WINDOW
from theanine.errors import TheanineError
from theanine.llm.base import ToolCall
from theanine.methods.base import Reply
from theanine.types import Recollection
from theanine_server.access import Replier, Writable
from theanine_server.bodies import JsonBody, JsonRoute
from theanine_server.parameters import Time
from theanine_server.problems import find_problem, write_responses
from theanine_server.routes.recall import Asked, RecallRequest
from theanine_server.routes.threads import Thread
from theanine_server.state import ServerState, State

router = APIRouter(prefix="/v1/users/{user}", route_class=JsonRoute, tags=["replies"])


class ReplyRequest(RecallRequest):
    """How the model is asked, and what may be recalled."""

    system: str = ""
    persona: str = ""
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
    stop: list[str] = Field(default=[])
    tools: list[dict[str, Any]] = Field(default=[])
    prompt: Literal["chat", "transcript"] | None = None

    def reply_arguments(self, state: ServerState) -> ReplyArguments:
        """Return the arguments of the library's reply that were given."""
        given = {name: getattr(self, name) for name in _OWN if name in self.model_fields_set}
        return ReplyArguments(**self.in_time(state), **given)


_OWN = ("system", "persona", "temperature", "max_tokens", "stop", "tools", "prompt")


class ThreadReply(ReplyRequest):
    """A reply in a thread."""

    at: Time | None = None
    stream: bool = Field(default=False, description="Answer with server-sent events.")
    window: int | None = Field(
        default=WINDOW, ge=1, description="Minimum number of turns that the model sees."
    )


class DialogueReply(ReplyRequest, Asked):
    """A reply to a dialogue, which is not logged."""

    speaker: str = ""


class Replied(BaseModel):
    """The assistant's turn, and what it is based on."""

    text: str
    recollection: Recollection
    rationale: str
    made_by: str
    notes: dict[str, str]
    tool_calls: list[ToolCall]
    finish: str

    @classmethod
    def of(cls, reply: Reply) -> Replied:
        """Return the answer for a reply."""
        return cls(
            text=reply.text,
            recollection=reply.recollection,
            rationale=reply.rationale,
            made_by=reply.made_by,
            notes=dict(reply.notes),
            tool_calls=list(reply.tool_calls),
            finish=reply.finish,
        )


@router.post(
    "/threads/{thread}/reply",
    response_model=Replied,
    responses={200: {"content": {"text/event-stream": {}}}, **write_responses(502)},
)
async def reply(
    state: State, principal: Replier, session: Thread, asked: JsonBody[ThreadReply]
) -> Replied | Response:
    """Recall, let the model write the next turn of a thread, and log it.

    A stream has events `{"piece": "…"}` and at last `{"reply": …}` or `{"problem": …}`.
    """
    await state.spending.take(principal.tenant)
    session.window = asked.window
    if asked.stream:
        stream = session.reply(stream=True, at=asked.at, **asked.reply_arguments(state))
        return StreamingResponse(_events(stream), media_type="text/event-stream")
    return Replied.of(await session.reply(at=asked.at, **asked.reply_arguments(state)))


@router.post("/reply", responses=write_responses(502))
async def reply_to_dialogue(
    state: State, principal: Replier, memory: Writable, asked: JsonBody[DialogueReply]
) -> Replied:
    """Recall and let the model write the next turn of a dialogue; nothing is logged."""
    await state.spending.take(principal.tenant)
    found = await memory.reply(asked.given, speaker=asked.speaker, **asked.reply_arguments(state))
    return Replied.of(found)


async def _events(stream: AsyncReplyStream) -> AsyncIterator[str]:
    try:
        async for piece in stream:
            yield _event({"piece": piece})
        if stream.reply is not None:
            yield _event({"reply": Replied.of(stream.reply).model_dump(mode="json")})
    except TheanineError as error:  # the answer has begun, so its status can't say so
        yield _event({"problem": find_problem(error).model_dump()})
    finally:
        await stream.aclose()


def _event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
