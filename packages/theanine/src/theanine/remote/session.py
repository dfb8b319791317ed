"""A session with a user of a service."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Self, TypeVar, Unpack, cast, overload
from uuid import uuid4

from pydantic import TypeAdapter

from theanine.client import AddReport, AsyncReplyStream
from theanine.client.arguments import check_arguments
from theanine.client.merging import memory_ids
from theanine.client.options import Moment, RecallArguments, RememberWhen
from theanine.client.own_ends import with_ends
from theanine.client.reply_options import ReplyArguments
from theanine.client.session import Words
from theanine.methods.base import Reply
from theanine.remembering.report import RememberReport
from theanine.remote.requests import (
    RequestOptions,
    call_for_user,
    given,
    path_part,
    read_reply,
    recall_body,
    said,
    user_path,
)
from theanine.remote.transport import Transport, raise_problem
from theanine.types import Message, MessageFormat, Metadata, Recollection, Scope, Turn, Utterance

T = TypeVar("T")
MAX_WINDOW = 10_000
"""Most turns that a service shows a model."""


@check_arguments
class AsyncRemoteSession:
    """A session with a user of a service, with the face of :class:`theanine.AsyncLiveSession`.

    Without a key it belongs to this object, and has a thread of its own.
    """

    def __init__(
        self,
        transport: Transport,
        scope: Scope,
        key: str | None,
        *,
        speaker: str,
        window: int | None,
        metadata: Metadata | None,
    ) -> None:
        self._transport, self._scope, self._speaker = transport, scope, speaker
        self.key, self.window, self._metadata = key, window, dict(metadata or {})
        self._thread = key or f"session-{uuid4().hex}"
        self._recalled: tuple[int, ...] = ()
        self.id: int | None = None

    def __repr__(self) -> str:
        key = f" {self.key!r}" if self.key is not None else ""
        return f"<{type(self).__name__}{key} of {self._scope}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        if self.key is None and self.id is not None:
            await self.end(remember=None if kind is None else False)

    async def hear(
        self,
        words: Words,
        *,
        speaker: str | None = None,
        id: str | None = None,
        at: datetime | None = None,
        metadata: Metadata | None = None,
        expires: Moment | None = None,
        verify_by: Moment | None = None,
    ) -> Turn:
        """Log what the user, or another ``speaker``, says. It is on disk when this returns."""
        metadata = with_ends(metadata, expires, verify_by)
        return await self._log("hear", words, id, at, metadata, speaker=speaker)

    async def say(
        self,
        words: Words,
        *,
        recalled: Recollection | Sequence[int] | None = None,
        id: str | None = None,
        at: datetime | None = None,
        metadata: Metadata | None = None,
        expires: Moment | None = None,
        verify_by: Moment | None = None,
    ) -> Turn:
        """Log what the assistant says, however its words were made."""
        shown = self._recalled if recalled is None else memory_ids(recalled, self._scope)
        metadata = with_ends(metadata, expires, verify_by)
        return await self._log("say", words, id, at, metadata, recalled=shown)

    async def _log(
        self,
        act: str,
        words: Words,
        id: str | None,
        at: datetime | None,
        metadata: Metadata,
        **fields: Any,
    ) -> Turn:
        body = {
            "content": words,
            # So that the request can be repeated if its answer is lost.
            "id": uuid4().hex if id is None else id,
            **given(at=at, metadata={**self._metadata, **metadata} or None, **fields),
        }
        if act == "hear" and self._speaker:
            body.setdefault("speaker", self._speaker)
        turn = await self._call(Turn, "POST", f"/{act}", body=body, safe=True)
        self.id, self._recalled = turn.session, ()
        return turn

    async def add(
        self,
        messages: str | Message | Sequence[Message | Utterance],
        *,
        recalled: Recollection | Sequence[int] | None = None,
        resent: bool = True,
        at: datetime | None = None,
        metadata: Metadata | None = None,
        expires: Moment | None = None,
        verify_by: Moment | None = None,
    ) -> AddReport:
        """Log messages as the APIs of OpenAI and Anthropic have them."""
        metadata = with_ends(metadata, expires, verify_by)
        body = {
            **said(messages, self._scope, self._speaker or self._scope.user),
            "recalled": self._recalled if recalled is None else memory_ids(recalled, self._scope),
            "resent": resent and not isinstance(messages, str | Mapping),
            "speaker": self._speaker,
            **given(at=at, metadata={**self._metadata, **metadata} or None),
        }
        report = await self._call(AddReport, "POST", "/messages", body=body)
        self.id, self._recalled = report.session, ()
        return report

    async def turns(self) -> list[Turn]:
        """Return the turns of the open session so far."""
        if self.key is not None:
            return await self._call(list[Turn], "GET", "/turns")
        if self.id is None:
            return []
        return await self._transport.list_all(
            Turn,
            f"{user_path(self._scope)}/turns",
            {"agent": self._scope.agent, "session": self.id},
        )

    async def messages(
        self, format: MessageFormat = "openai", *, last: int | None = None
    ) -> list[Message]:
        """Return the newest turns under the session's key as messages for a chat model."""
        shown = self._window(last) or {"last": MAX_WINDOW}
        params = {"format": format, **shown}
        found = await self._call(list[dict[str, Any]], "GET", "/messages", params=params)
        return cast("list[Message]", found)

    async def system(self) -> str:
        """Return the newest system prompt that was logged under the session's key."""
        return await self._call(str, "GET", "/system")

    async def recall(
        self, *, last: int | None = None, **options: Unpack[RecallArguments]
    ) -> Recollection:
        """Return what matters for the dialogue so far."""
        body = {**recall_body(options), "window": self.window, **given(last=last)}
        found = await self._call(dict[str, Any], "POST", "/recall", body=body, safe=True)
        recollection = TypeAdapter(Recollection).validate_python(found["recollection"])
        self._recalled = memory_ids(recollection, self._scope)
        return recollection

    @overload
    def reply(
        self,
        *,
        stream: Literal[True],
        at: datetime | None = None,
        **options: Unpack[ReplyArguments],
    ) -> AsyncReplyStream: ...

    @overload
    def reply(
        self,
        *,
        stream: Literal[False] = False,
        at: datetime | None = None,
        **options: Unpack[ReplyArguments],
    ) -> Coroutine[Any, Any, Reply]: ...

    def reply(
        self,
        *,
        stream: bool = False,
        at: datetime | None = None,
        **options: Unpack[ReplyArguments],
    ) -> AsyncReplyStream | Coroutine[Any, Any, Reply]:
        """Recall, let the service's model write the assistant's next turn, and log it."""
        if isinstance(stop := options.get("stop"), str):
            options["stop"] = [stop]
        body = {**recall_body(options), "window": self.window, **given(at=at)}
        if not stream:
            return self._whole(body)
        return AsyncReplyStream(self._pieces({**body, "stream": True}), _begin)

    async def _whole(self, body: Mapping[str, Any]) -> Reply:
        return read_reply(await self._call(dict[str, Any], "POST", "/reply", body=body))

    async def _pieces(self, body: Mapping[str, Any]) -> AsyncGenerator[str | Reply]:
        thread = f"{user_path(self._scope)}/threads/{path_part(self._thread)}"
        path = f"{thread}/reply?agent={path_part(self._scope.agent)}"
        async with self._transport.stream("POST", path, body=body) as lines:
            async for line in lines:
                if not line.startswith("data:"):
                    continue
                event = json.loads(line[5:])
                if "problem" in event:
                    raise_problem(event["problem"])
                yield event["piece"] if "piece" in event else read_reply(event["reply"])

    async def end(
        self, *, remember: bool | RememberWhen | None = None, at: datetime | None = None
    ) -> list[RememberReport]:
        """End the session, and remember it: ``now``, or as the service is set."""
        now = {"now": True, "later": False, "background": None}
        when = now[remember] if isinstance(remember, str) else remember
        reports = await self._call(
            list[RememberReport], "POST", "/end", body=given(remember=when, at=at)
        )
        self.id, self._recalled = None, ()
        if self.key is None:
            self._thread = f"session-{uuid4().hex}"
        return reports

    def _window(self, last: int | None) -> dict[str, Any]:
        return given(last=last, window=self.window if last is None else None)

    async def _call(
        self, kind: type[T], method: str, path: str, **options: Unpack[RequestOptions]
    ) -> T:
        path = f"/threads/{path_part(self._thread)}{path}"
        return await call_for_user(self._transport, self._scope, kind, method, path, **options)


async def _begin(stream: AsyncReplyStream) -> None:
    """Begin nothing: the service breaks off a reply that goes on."""
