"""Claude Agent SDK: a store of session transcripts in a user's memory.

::

    options = ClaudeAgentOptions(session_store=TheanineSessionStore(client.user("ana")))
"""
# pyright: basic, reportMissingImports=false
# Where the package is missing, pyright takes this module for it:
# pyright: reportGeneralTypeIssues=false, reportCallIssue=false

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from theanine.errors import NotFound
from theanine.types import Message, Turn
from theanine_adapters.handles import UserHandle, call, needs_extra
from theanine_adapters.words import entry_message

with needs_extra("claude-agent-sdk"):
    from claude_agent_sdk import SessionStore, fold_session_summary

_PROJECT, _SESSION, _SUBPATH = "claude_project", "claude_session", "claude_subpath"


class TheanineSessionStore(SessionStore):
    """A ``SessionStore`` of the Claude Agent SDK whose entries are turns of a user's memory.

    Entries come back as they were appended; one whose ``uuid`` is known is left out. What the user
    and Claude say in a session is remembered; calls of tools, transcripts of subagents and all
    other entries are only kept. ``delete`` erases a session, with those of its subagents, from the
    store. Where the client redacts, entries come back redacted.

    Args:
        user: the handle of the user, of either kind of client.
    """

    def __init__(self, user: UserHandle) -> None:
        self._user = user

    async def append(self, key: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> None:
        """Log entries, in one step. Raises BadInput for one that JSON can't hold."""
        messages: dict[object, Message] = {}
        for position, entry in enumerate(entries):
            messages.setdefault(entry.get("uuid") or position, _entry_message(key, entry))
        if messages:
            await call(
                self._user.add,
                [*messages.values()],
                session=_thread(key),
                resent=False,
                metadata={
                    _PROJECT: key["project_key"],
                    _SESSION: key["session_id"],
                    _SUBPATH: key.get("subpath") or "",
                },
            )

    async def load(self, key: Mapping[str, Any]) -> list[Any] | None:
        """Return the entries of a session or a subagent; None if there are none."""
        turns = await call(self._user.turns, thread=_thread(key), with_content=True)
        return [deepcopy(turn.content[0]["value"]) for turn in turns] or None

    async def list_sessions(self, project_key: str) -> list[Any]:
        """Return the sessions of a project with the times of their latest entries."""
        latest = {
            turn.metadata[_SESSION]: int(1000 * turn.at.timestamp())
            for turn in await self._turns({_PROJECT: project_key, _SUBPATH: ""})
        }
        return [{"session_id": session, "mtime": time} for session, time in latest.items()]

    async def list_session_summaries(self, project_key: str) -> list[Any]:
        """Return the SDK's summaries of the sessions of a project, made from their entries."""
        summaries: list[Any] = []
        for session in await self.list_sessions(project_key):
            key: Any = {"project_key": project_key, "session_id": session["session_id"]}
            summary = fold_session_summary(None, key, await self.load(key) or [])
            summaries.append({**summary, "mtime": session["mtime"]})
        return summaries

    async def list_subkeys(self, key: Mapping[str, Any]) -> list[str]:
        """Return the subpaths of a session."""
        turns = await self._turns(_of_session(key) | {_SUBPATH: {"!=": ""}})
        return sorted({str(turn.metadata[_SUBPATH]) for turn in turns})

    async def delete(self, key: Mapping[str, Any]) -> None:
        """Erase a session with its subagents or, with a subpath, one of these."""
        subkeys = [] if key.get("subpath") else await self.list_subkeys(key)
        for each in (key, *({**key, "subpath": subpath} for subpath in subkeys)):
            try:
                await call(self._user.forget, thread=_thread(each))
            except NotFound:
                continue

    async def _turns(self, where: Mapping[str, Any]) -> list[Turn]:
        return await call(self._user.turns, where=where)


def _of_session(key: Mapping[str, Any]) -> dict[str, Any]:
    return {_PROJECT: key["project_key"], _SESSION: key["session_id"]}


def _thread(key: Mapping[str, Any]) -> str:
    return "claude:" + json.dumps([*_of_session(key).values(), key.get("subpath") or ""])


def _entry_message(key: Mapping[str, Any], entry: Mapping[str, Any]) -> Message:
    """Return an entry as one message; only words of the main session are anyone's."""
    said = entry.get("message") if entry.get("type") in ("user", "assistant") else None
    hidden = key.get("subpath") or entry.get("isSidechain") or entry.get("isMeta")
    message = entry_message(entry, None if hidden else said)
    return {**message, "id": entry["uuid"]} if entry.get("uuid") else message
