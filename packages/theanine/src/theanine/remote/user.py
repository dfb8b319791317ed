"""The handle of one user of a service."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar, Unpack, cast
from urllib.parse import quote

import anyio
from pydantic import TypeAdapter

from theanine.client import AddReport, ImportReport
from theanine.client.arguments import check_arguments
from theanine.client.explaining import Explanation
from theanine.client.options import ListArguments, Moment, RecallArguments, SearchArguments
from theanine.client.other_names import name_ours
from theanine.client.own_ends import with_ends
from theanine.client.reply_options import ReplyArguments
from theanine.client.searching import SearchHit, SearchHits
from theanine.client.session import WINDOW, speakers
from theanine.clock import system_clock
from theanine.errors import BadInput, StoreError
from theanine.messages import read_messages
from theanine.methods.base import Reply
from theanine.profile import Profile
from theanine.remembering.rebuild import RebuildReport
from theanine.remembering.report import Progress, RememberReport
from theanine.remote.requests import (
    RequestOptions,
    call_for_user,
    given,
    moment_text,
    path_part,
    read_reply,
    recall_body,
    said,
    user_path,
)
from theanine.remote.session import AsyncRemoteSession
from theanine.remote.transport import PAGE, Transport
from theanine.store.validate import check_scope
from theanine.store.values import CostLine, ForgetReport, Pending, UserSettings
from theanine.types import (
    History,
    Link,
    Mark,
    Memory,
    Message,
    Metadata,
    Recollection,
    Scope,
    Session,
    Timeline,
    Turn,
    Utterance,
)

T = TypeVar("T")
POLL = 0.2
"""Seconds between two looks at an operation."""


@name_ours(of_client=False)
@check_arguments
class AsyncRemoteUser:
    """What a service has of one user, with the face of :class:`theanine.AsyncUserMemory`."""

    def __init__(self, transport: Transport, scope: Scope, name: str = "") -> None:
        check_scope(scope)
        self._transport, self.scope, self.name = transport, scope, name or scope.user

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.scope}>"

    def session(
        self,
        key: str | None = None,
        *,
        speaker: str = "",
        window: int | None = WINDOW,
        metadata: Metadata | None = None,
    ) -> AsyncRemoteSession:
        """Return a session with the user; see :meth:`theanine.AsyncUserMemory.session`."""
        return AsyncRemoteSession(
            self._transport,
            self.scope,
            key,
            speaker=speaker or (self.name if self.name != self.scope.user else ""),
            window=window,
            metadata=metadata,
        )

    async def add(
        self,
        messages: str | Message | Sequence[Message | Utterance],
        *,
        session: str | None = None,
        resent: bool = True,
        speaker: str = "",
        at: datetime | None = None,
        metadata: Metadata | None = None,
        expires: Moment | None = None,
        verify_by: Moment | None = None,
    ) -> AddReport:
        """Log what was said; see :meth:`theanine.AsyncUserMemory.add`."""
        body = {
            **said(messages, self.scope, speaker or self.name),
            "resent": resent and not isinstance(messages, str | Mapping),
            "speaker": speaker or (self.name if self.name != self.scope.user else ""),
            "at": at,
            "metadata": with_ends(metadata, expires, verify_by) or None,
        }
        path = "/messages" if session is None else f"/threads/{path_part(session)}/messages"
        return await self._call(AddReport, "POST", path, body=body)

    async def recall(
        self, dialogue: str | Sequence[Utterance | Message], **options: Unpack[RecallArguments]
    ) -> Recollection:
        """Return what matters for a question or a dialogue."""
        body = {**self._dialogue(dialogue), **recall_body(options)}
        found = await self._call(dict[str, Any], "POST", "/recall", body=body, safe=True)
        return TypeAdapter(Recollection).validate_python(found["recollection"])

    async def search(self, query: str, **options: Unpack[SearchArguments]) -> SearchHits:
        """Return the turns and memories that match a question or words best, with their scores."""
        answer = await self._transport.send(
            "POST",
            f"{user_path(self.scope)}/search",
            params={"agent": self.scope.agent},
            body={"query": query, **recall_body(options)},
            safe=True,
        )
        hits = self._transport.read(TypeAdapter(list[SearchHit]), answer)
        return SearchHits(hits, int(answer.headers.get("Theanine-Found", len(hits))))

    async def explain(
        self,
        dialogue: str | Sequence[Utterance | Message] | Turn,
        *,
        method: str | None = None,
        **options: Unpack[RecallArguments],
    ) -> Explanation:
        """Recall, and return how it came to its result."""
        about = {"reply": dialogue.id} if isinstance(dialogue, Turn) else self._dialogue(dialogue)
        body = {**about, **recall_body(options), "method": method}
        return await self._call(Explanation, "POST", "/explain", body=body, safe=True)

    async def reply(
        self,
        dialogue: str | Sequence[Utterance | Message],
        *,
        speaker: str = "",
        **options: Unpack[ReplyArguments],
    ) -> Reply:
        """Recall and return the next turn of the assistant. Logs nothing."""
        body = {**self._dialogue(dialogue), **recall_body(options), "speaker": speaker}
        return read_reply(await self._call(dict[str, Any], "POST", "/reply", body=body))

    async def log(self, history: History) -> ImportReport:
        """Log a history's sessions, each completely or not at all."""
        return await self._call(ImportReport, "POST", "/histories", body=history)

    # lists

    async def sessions(
        self, *, thread: str | None = None, **options: Unpack[ListArguments]
    ) -> list[Session]:
        """Return the sessions in time order; pages by id."""
        found = await self._list(Session, "/sessions", options, thread=thread)
        if not {"limit", "after", "newest_first"} & set(options):
            found.sort(key=lambda session: session.order)
        return found

    async def turns(
        self,
        *,
        session: int | None = None,
        thread: str | None = None,
        ids: Sequence[int] | None = None,
        with_content: bool = False,
        **options: Unpack[ListArguments],
    ) -> list[Turn]:
        """Return turns: all, those of one session or thread, or those of ``ids``."""
        if ids is not None:
            found: list[Turn] = []
            wanted = sorted(set(ids))
            for start in range(0, len(wanted), PAGE):
                params = {
                    "ids": wanted[start : start + PAGE],
                    "limit": PAGE,
                    "with_content": with_content,
                }
                page = await self._call(dict[str, Any], "GET", "/turns", params=params)
                found += TypeAdapter(list[Turn]).validate_python(page["items"])
            return [turn for turn in found if session in (None, turn.session)]
        filters = {"session": session, "thread": thread, "with_content": with_content}
        return await self._list(Turn, "/turns", options, **filters)

    async def memories(
        self, *, pinned: bool | None = None, **options: Unpack[ListArguments]
    ) -> list[Memory]:
        """Return memories: all, or only those that are ``pinned``, or not."""
        return await self._list(Memory, "/memories", options, pinned=pinned)

    async def marks(self) -> list[Mark]:
        """Return the marks of memories that are not in effect."""
        return await self._call(list[Mark], "GET", "/marks")

    async def links(self) -> list[Link]:
        """Return the links between memories."""
        return await self._call(list[Link], "GET", "/links")

    async def timelines(self, memory: int | None = None) -> list[Timeline]:
        """Return what is remembered of each matter, oldest first, as a timeline with a title."""
        return await self._call(list[Timeline], "GET", "/timelines", params=given(memory=memory))

    async def profile(self, *, as_of: Moment | None = None, with_model: bool = False) -> Profile:
        """Return what is known of the user; see :meth:`theanine.AsyncUserMemory.profile`."""
        name = self.name if self.name != self.scope.user else None
        options = given(as_of=as_of and moment_text(as_of), name=name)
        if with_model:
            return await self._call(Profile, "POST", "/profile", body=options, safe=True)
        return await self._call(Profile, "GET", "/profile", params=options)

    async def warm_up(self) -> None:
        """Have the service load what a recall needs; it doesn't wait for vectors."""
        await self.recall("?", limit=1)

    # one memory

    async def get(self, memory: int) -> Memory:
        """Return the memory with this id. Raises NotFound."""
        detail = await self._call(dict[str, Any], "GET", f"/memories/{memory}")
        return TypeAdapter(Memory).validate_python(detail["memory"])

    async def history(self, memory: int) -> list[Memory]:
        """Return what the memory was before and what it became, the oldest first."""
        return await self._call(list[Memory], "GET", f"/memories/{memory}/versions")

    async def correct(
        self,
        memory: int,
        text: str,
        *,
        expires: Moment | None = None,
        verify_by: Moment | None = None,
    ) -> Memory:
        """Replace what a memory says, and return the new one."""
        path = f"/memories/{memory}/corrections"
        body = {"text": text, **with_ends(None, expires, verify_by)}
        return await self._call(Memory, "POST", path, body=body)

    async def pin(self, memory: int) -> bool:
        """Have a memory in every recollection; False if it was pinned."""
        pinned = await self._call(dict[str, bool], "PUT", f"/memories/{memory}/pin")
        return pinned["changed"]

    async def unpin(self, memory: int) -> bool:
        """Take the pin off a memory; False if it was not pinned."""
        pinned = await self._call(dict[str, bool], "DELETE", f"/memories/{memory}/pin")
        return pinned["changed"]

    # settings and forgetting

    async def settings(self) -> UserSettings:
        """Return what is set for this user."""
        return await self._call(UserSettings, "GET", "/settings")

    async def set_time_zone(self, name: str | None) -> None:
        """Set the user's time zone by its IANA name; None unsets it."""
        await self._call(UserSettings, "PATCH", "/settings", body={"time_zone": name})

    async def set_retention(self, retention: timedelta | None) -> None:
        """Set how long this user's turns and memories are kept."""
        await self._call(UserSettings, "PATCH", "/settings", body={"retention": retention})

    async def forget(
        self,
        *,
        session: int | None = None,
        thread: str | None = None,
        turn: int | Sequence[int] | None = None,
        memory: int | None = None,
        keep_turns: bool = False,
    ) -> ForgetReport:
        """Erase one thing: a session, thread, turn or memory. Raises NotFound, and BadInput."""
        named = given(sessions=session, threads=thread, turns=turn, memories=memory)
        if len(named) != 1:
            raise BadInput("name exactly one of session=, thread=, turn= and memory= to forget")
        [(kind, number)] = named.items()
        if isinstance(number, Sequence) and not isinstance(number, str):
            ids = list(cast("Sequence[int]", number))
            return await self._call(ForgetReport, "DELETE", "/turns", params={"ids": ids})
        params = {"keep_turns": keep_turns} if kind == "memories" else None
        return await self._call(
            ForgetReport, "DELETE", f"/{kind}/{path_part(str(number))}", params=params
        )

    async def forget_all(self) -> ForgetReport:
        """Erase the user, with everything that was said, made and set."""
        report = await self._call(ForgetReport, "DELETE", "")
        return replace(report, scope=self.scope)  # which the service no longer names

    # remembering

    async def remember(
        self, *, elsewhere: bool = False, progress: Progress | None = None
    ) -> list[RememberReport]:
        """Remember every session that has ended and is pending; one report each."""
        result = await self._operate("remember")
        reports = TypeAdapter(list[RememberReport]).validate_python(result["reports"])
        for report in reports:
            if progress:
                progress(report)
        return reports

    async def rebuild(
        self,
        *,
        again: bool = False,
        instead: bool = False,
        fresh: bool = False,
        progress: Progress | None = None,
    ) -> RebuildReport:
        """Remember the whole log again."""
        if instead:
            raise BadInput("dropping other methods is for the command line where the service runs")
        result = await self._operate("rebuild", again=again, fresh=fresh)
        reports = TypeAdapter(list[RememberReport]).validate_python(result["reports"])
        for report in reports:
            if progress:
                progress(report)
        replaced = {
            name.removeprefix("replaced "): count
            for name, count in result.items()
            if name.startswith("replaced ")
        }
        waiting = await self.pending() if any(report.failure for report in reports) else ()
        return RebuildReport(reports=reports, waiting=waiting, replaced=replaced)

    async def expire(self) -> list[ForgetReport]:
        """Forget the turns and memories that are older than their retention."""
        result = await self._operate("expire")
        return TypeAdapter(list[ForgetReport]).validate_python(result["receipts"])

    async def pending(self, *, cancelled: bool = False) -> list[Pending]:
        """Return the sessions that have ended and are not remembered yet."""
        params = {"cancelled": cancelled}
        return await self._call(list[Pending], "GET", "/pending", params=params)

    async def retry_remembering(self, session: int | None = None) -> int:
        """Have pending sessions wait to be remembered again; one, or all."""
        path = "/pending/retry" if session is None else f"/pending/{session}/retry"
        return (await self._call(dict[str, int], "POST", path, safe=True))["waiting"]

    async def cancel_remembering(self, session: int) -> bool:
        """Never remember a session, until it is retried; False if it was cancelled before."""
        path = f"/pending/{session}/cancel"
        return (await self._call(dict[str, bool], "POST", path, safe=True))["changed"]

    async def costs(self) -> list[CostLine]:
        """Return the model calls made so far."""
        return await self._call(list[CostLine], "GET", "/costs")

    async def export(self) -> AsyncIterator[dict[str, Any]]:
        """Yield everything as JSON-ready records."""
        path = f"{user_path(self.scope)}/export?agent={quote(self.scope.agent)}"
        async with self._transport.stream("GET", path) as lines:
            async for line in lines:
                if line.strip():
                    yield json.loads(line)

    # requests

    async def _call(
        self, kind: type[T], method: str, path: str, **options: Unpack[RequestOptions]
    ) -> T:
        return await call_for_user(self._transport, self.scope, kind, method, path, **options)

    async def _list(
        self, kind: type[T], path: str, options: ListArguments, **filters: Any
    ) -> list[T]:
        """Return all pages of a list, or as many items as are asked for."""
        where = options.get("where")
        params = given(
            **filters,
            newest_first=options.get("newest_first") or None,
            search=options.get("search") or None,
            since=moment_text(options.get("since")),
            until=moment_text(options.get("until")),
            where=where if where is None or isinstance(where, str) else json.dumps(where),
            after=options.get("after"),
            due=options.get("due") or None,
        )
        params["agent"] = self.scope.agent
        return await self._transport.list_all(
            kind, user_path(self.scope) + path, params, options.get("limit")
        )

    async def _operate(self, kind: str, **options: bool) -> dict[str, Any]:
        """Run an operation to its end and return its result. Raises StoreError if it failed."""
        adapter = TypeAdapter(dict[str, Any])
        body = {"kind": kind, "user": self.scope.user, "agent": self.scope.agent, **options}
        operation = await self._transport.call(adapter, "POST", "/v1/operations", body=body)
        while operation["state"] in ("waiting", "running"):
            await anyio.sleep(POLL)
            operation = await self._transport.call(
                adapter, "GET", f"/v1/operations/{operation['id']}"
            )
        if operation["state"] != "succeeded" and not operation["result"].get("reports"):
            raise StoreError(f"the operation {kind} {operation['state']}: {operation['error']}")
        return operation["result"]

    def _dialogue(self, dialogue: str | Sequence[Utterance | Message]) -> dict[str, Any]:
        if isinstance(dialogue, str) and self.name == self.scope.user:
            return {"dialogue": dialogue}
        if isinstance(dialogue, str):
            dialogue = [Utterance(text=dialogue, speaker=self.name, at=system_clock())]
        names = speakers(self.scope, self.name)
        return {"utterances": read_messages(dialogue, names, system_clock())}
