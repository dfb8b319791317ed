"""Threads: the application's own loop of hearing, recalling, saying, by the key of a conversation.

A thread goes on wherever it was left, by any process. A message with an ``id`` that is known is not
logged again, so a request may be repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, BeforeValidator, Field

from theanine.client import AddReport, AsyncLiveSession
from theanine.client.own_ends import with_ends
from theanine.client.session import WINDOW
from theanine.remembering.report import RememberReport
from theanine.store.values import ForgetReport
from theanine.types import Message, MessageFormat, Metadata, Scalar, Turn, Utterance
from theanine_server.access import Readable, Repeatable, Writable
from theanine_server.bodies import JsonBody, JsonRoute
from theanine_server.names import read_name
from theanine_server.parameters import IN_DIGITS, Time
from theanine_server.problems import responses, write_responses
from theanine_server.routes.ends import WithEnds
from theanine_server.routes.recall import Recalled, RecallRequest
from theanine_server.state import State

router = APIRouter(prefix="/v1/users/{user}", route_class=JsonRoute, tags=["threads"])

ThreadKey = Annotated[
    str,
    BeforeValidator(read_name),
    Path(min_length=1, description="The application's conversation id."),
]


class WithMetadata(WithEnds):
    """What is logged, with the application's own data."""

    metadata: dict[str, Scalar] | None = None

    @property
    def all_metadata(self) -> Metadata:
        """The metadata with the ends."""
        return with_ends(self.metadata, self.expires, self.verify_by)


class Words(BaseModel, extra="forbid"):
    """One message of a thread."""

    content: str | list[dict[str, Any]] = Field(
        description="A text, or parts of a message's content."
    )
    id: str | None = Field(
        default=None, min_length=1, description="The application's id of the message."
    )
    at: Time | None = None


class Said(WithMetadata, Words):
    """A message of the user."""

    speaker: str | None = Field(default=None, min_length=1)


class SaidByAssistant(WithMetadata, Words):
    """A message of the assistant, whose name is the agent's."""

    recalled: list[int] = Field(
        default=[], description="Ids of the memories that were in the model's prompt."
    )


class MessageList(BaseModel, extra="forbid"):
    """Messages as the APIs of OpenAI and Anthropic have them."""

    messages: list[dict[str, Any]] = Field(default=[], max_length=10_000)
    utterances: list[Utterance] = Field(
        default=[], max_length=10_000, description="Turns in full, instead of messages."
    )
    resent: bool = Field(
        default=True, description="Whether the list may begin with messages sent before."
    )
    speaker: str = ""
    at: Time | None = None

    @property
    def given(self) -> Sequence[Message | Utterance]:
        """The messages or utterances."""
        return [*self.messages, *self.utterances]


class NewMessages(WithMetadata, MessageList):
    """Messages to log."""


class ThreadMessages(NewMessages):
    """Messages of a thread."""

    recalled: list[int] | None = Field(
        default=None, description="Ids of the memories that the assistant was shown."
    )


class ThreadRecall(RecallRequest):
    """Bounds of a recall in a thread."""

    last: int | None = Field(
        default=None, ge=1, description="The `last` that was given to `messages`."
    )
    window: int | None = Field(
        default=WINDOW, ge=1, description="Minimum number of turns; grows in steps."
    )


class SessionEnd(BaseModel, extra="forbid"):
    """How a session ends."""

    remember: bool | None = Field(
        default=None,
        description="Remember now (true) or later (false); default: the service's setting.",
    )
    at: Time | None = None


async def _thread(memory: Writable, thread: ThreadKey, speaker: str = "") -> AsyncLiveSession:
    return memory.session(thread, speaker=speaker)


Thread = Annotated[AsyncLiveSession, Depends(_thread)]


async def _ending_thread(memory: Repeatable, thread: ThreadKey) -> AsyncLiveSession:
    return memory.session(thread)


async def _readable_thread(memory: Readable, thread: ThreadKey) -> AsyncLiveSession:
    return memory.session(thread)


ReadableThread = Annotated[AsyncLiveSession, Depends(_readable_thread)]


@router.post("/messages", status_code=201, responses=write_responses())
async def add(memory: Writable, new: JsonBody[NewMessages]) -> AddReport:
    """Log messages as a whole session that ends at once, and remember it."""
    return await memory.add(
        new.given, resent=new.resent, speaker=new.speaker, at=new.at, metadata=new.all_metadata
    )


@router.post("/threads/{thread}/messages", status_code=201, responses=write_responses())
async def add_to_thread(
    memory: Writable, thread: ThreadKey, new: JsonBody[ThreadMessages]
) -> AddReport:
    """Log messages of a thread; those that it has already are left out."""
    session = memory.session(thread, speaker=new.speaker)
    return await session.add(
        new.given, recalled=new.recalled, resent=new.resent, at=new.at, metadata=new.all_metadata
    )


@router.post("/threads/{thread}/hear", status_code=201, responses=write_responses())
async def hear(session: Thread, said: JsonBody[Said]) -> Turn:
    """Log what the user says; it is on disk when the answer comes."""
    return await session.hear(
        said.content, speaker=said.speaker, id=said.id, at=said.at, metadata=said.all_metadata
    )


@router.post("/threads/{thread}/say", status_code=201, responses=write_responses())
async def say(session: Thread, said: JsonBody[SaidByAssistant]) -> Turn:
    """Log what the assistant says; what only repeats what was recalled is not remembered."""
    return await session.say(
        said.content,
        recalled=said.recalled,
        id=said.id,
        at=said.at,
        metadata=said.all_metadata,
    )


@router.get("/threads/{thread}/messages", responses=responses())
async def messages(
    session: ReadableThread,
    format: MessageFormat = "openai",
    last: Annotated[int | None, Query(ge=1, le=10_000), IN_DIGITS] = None,
    window: Annotated[int, Query(ge=1, le=10_000), IN_DIGITS] = WINDOW,
) -> list[Message]:
    """Return the newest turns of a thread as messages for a chat model.

    As many as `last`, or at least `window`, in steps that let a provider's cache be of use.
    """
    session.window = window
    return await session.messages(format, last=last)


@router.get("/threads/{thread}/system", responses=responses())
async def system(session: ReadableThread) -> str:
    """Return the newest system prompt of a thread; empty if there is none."""
    return await session.system()


@router.get("/threads/{thread}/turns", responses=responses())
async def open_turns(session: ReadableThread) -> list[Turn]:
    """Return the turns of the open session of a thread."""
    return await session.turns()


@router.post("/threads/{thread}/recall", responses=responses(413, 502, 507))
async def recall_in_thread(
    state: State, session: ReadableThread, asked: JsonBody[ThreadRecall]
) -> Recalled:
    """Return what matters for the dialogue of a thread so far."""
    session.window = asked.window
    return Recalled.of(await session.recall(last=asked.last, **asked.in_time(state)))


@router.post("/threads/{thread}/end", responses=write_responses(502))
async def end_thread(
    session: Annotated[AsyncLiveSession, Depends(_ending_thread)], end: JsonBody[SessionEnd]
) -> list[RememberReport]:
    """End the open session of a thread, and remember it."""
    return await session.end(remember=end.remember, at=end.at)


@router.delete("/threads/{thread}", responses=write_responses(404))
async def forget_thread(memory: Writable, thread: ThreadKey) -> ForgetReport:
    """Erase all sessions of a thread; return the receipt."""
    return await memory.forget(thread=thread)
