"""What requests to a service have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, TypeVar, Unpack, cast
from urllib.parse import quote

from pydantic import TypeAdapter

from theanine.client.options import Moment
from theanine.client.session import speakers
from theanine.clock import system_clock
from theanine.llm.base import ToolCall
from theanine.messages import read_messages
from theanine.methods.base import Reply
from theanine.remote.transport import Transport
from theanine.types import Message, Recollection, Scope, Utterance

T = TypeVar("T")


class RequestOptions(TypedDict, total=False):
    """What a request has besides its path; see :meth:`Transport.call`."""

    params: Mapping[str, Any] | None
    body: object
    safe: bool | None


async def call_for_user(
    transport: Transport,
    scope: Scope,
    kind: type[T],
    method: str,
    path: str,
    **options: Unpack[RequestOptions],
) -> T:
    """Send a request about a user, to a path below the user's, and return its answer."""
    return await transport.call(
        cast("TypeAdapter[T]", TypeAdapter(kind)),
        method,
        user_path(scope) + path,
        params={"agent": scope.agent, **(options.get("params") or {})},
        body=options.get("body"),
        safe=options.get("safe"),
    )


def user_path(scope: Scope) -> str:
    """Return the path of a user."""
    return f"/v1/users/{path_part(scope.user)}"


def said(
    messages: str | Message | Sequence[Message | Utterance], scope: Scope, name: str
) -> dict[str, Any]:
    """Return messages as the body of a request has them."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    listed = [messages] if isinstance(messages, Mapping) else list(messages)
    if any(isinstance(message, Utterance) for message in listed):
        return {"utterances": read_messages(listed, speakers(scope, name), system_clock())}
    return {"messages": listed}


def recall_body(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a recall or reply as the body of a request has them."""
    return {
        name: moment_text(value) if name in ("since", "until", "as_of") else value
        for name, value in options.items()
    }


def read_reply(answer: Mapping[str, Any]) -> Reply:
    """Return a reply, of which a service sends all but what belongs to its process."""
    return Reply(
        text=answer["text"],
        recollection=_RECOLLECTION.validate_python(answer["recollection"]),
        rationale=answer["rationale"],
        made_by=answer["made_by"],
        notes=answer["notes"],
        tool_calls=tuple(map(_TOOL_CALL.validate_python, answer["tool_calls"])),
        finish=answer["finish"],
    )


_RECOLLECTION: TypeAdapter[Recollection] = TypeAdapter(Recollection)
_TOOL_CALL: TypeAdapter[ToolCall] = TypeAdapter(ToolCall)


def moment_text(value: Moment | None) -> str | None:
    """Return a moment as a request has it."""
    return value if value is None or isinstance(value, str) else value.isoformat()


def given(**values: Any) -> dict[str, Any]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def path_part(name: str) -> str:
    """Return a name as a part of a path; one of dots is no step to another folder."""
    return quote(name, safe="") if name.strip(".") else "%2E" * len(name)
