"""Google ADK: a memory service over the memories of a store's users.

::

    service = TheanineMemoryService(lambda app_name, user_id: client.user(user_id, agent=app_name))
    runner = Runner(…, memory_service=service)
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Unpack

from theanine.client.options import RecallArguments
from theanine.errors import BadInput
from theanine.types import LOCAL_MODEL, History, Metadata, Part, Transcript, Turn, Utterance
from theanine_adapters.handles import UserHandle, call, needs_extra

with needs_extra("google-adk"):
    from google.adk.events import Event
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions import Session
    from google.genai import types as genai

NOTES = "google-adk"
"""Key of the session of what :meth:`TheanineMemoryService.add_memory` writes."""


class TheanineMemoryService(BaseMemoryService):
    """A ``BaseMemoryService`` of Google's ADK whose memories are those of a store's users.

    Sessions are logged by the ids of their events, so that one can be added again and again, and a
    deleted event stays gone. Recall finds them at once; with a chat model, ``client.remember()``
    makes memories of them. ``search_memory`` returns what ``user.recall`` finds, most relevant
    first: the turns, by whose numbers ``delete_memory`` erases them from the store, or what a model
    says of them.

    Args:
        users: returns a user's handle, of either kind of client, for an ``app_name`` and a
            ``user_id``.
        options: options of each recall, as in ``user.recall``.
    """

    def __init__(
        self, users: Callable[[str, str], UserHandle], **options: Unpack[RecallArguments]
    ) -> None:
        self._users, self._options = users, options

    async def add_session_to_memory(self, session: Session) -> None:
        """Log what is new of a session."""
        await self._log(session.app_name, session.user_id, session.id, session.events, {})

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Log what is new of some events; plain values of the metadata go with each turn."""
        plain: Metadata = {
            name: value
            for name, value in (custom_metadata or {}).items()
            if value is None or isinstance(value, (str, int, float))
        }
        await self._log(app_name, user_id, session_id or NOTES, events, plain)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Log memories as turns: of the user if that is the author, else of the assistant."""
        events = [
            Event(id=entry.id or "", author=entry.author or "agent", content=entry.content)
            for entry in memories
        ]
        for event, entry in zip(events, memories, strict=True):
            if entry.timestamp:
                event.timestamp = datetime.fromisoformat(entry.timestamp).timestamp()
        await self.add_events_to_memory(
            app_name=app_name, user_id=user_id, events=events, custom_metadata=custom_metadata
        )

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Return what matters for a query; nothing if nothing is relevant."""
        if not query.strip():
            return SearchMemoryResponse()
        found = await call(self._users(app_name, user_id).recall, query, **self._options)
        parts = sorted(found.parts, key=lambda part: part.score, reverse=True)
        entries = {entry.id: entry for part in parts for entry in _entries(part)}
        return SearchMemoryResponse(memories=[*entries.values()])

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Erase the turn that a search returned, with all that was made from it.

        Raises NotFound for an unknown turn, BadInput for an id that is none's.
        """
        if memory_id is None or not memory_id.isdecimal():
            raise BadInput(f"no turn has the id {memory_id!r}; take it from search_memory")
        await call(self._users(app_name, user_id).forget, turn=int(memory_id))

    async def _log(
        self,
        app_name: str,
        user_id: str,
        session: str,
        events: Iterable[Event],
        metadata: Metadata,
    ) -> None:
        user = self._users(app_name, user_id)
        turns = [turn for event in events if (turn := _utterance(event, user, metadata))]
        if turns:
            turns.sort(key=lambda turn: turn.at)
            transcript = Transcript(
                key=f"google-adk:{session}", turns=turns, at=turns[0].at, revised=True
            )
            await call(user.log, History(name=user.scope.user, transcripts=[transcript]))


def _utterance(event: Event, user: UserHandle, metadata: Metadata) -> Utterance | None:
    """Return what an event says; None for one without words, such as a call of a tool."""
    parts = event.content.parts if event.content else None
    text = "\n".join(part.text for part in parts or () if part.text and not part.thought)
    if not text.strip() or event.partial:
        return None
    is_user = event.author == "user"
    return Utterance(
        text=text,
        speaker=user.name if is_user else event.author,
        role="user" if is_user else "assistant",
        at=datetime.fromtimestamp(event.timestamp, UTC),
        key=event.id or None,
        metadata=metadata,
    )


def _entries(part: Part) -> list[MemoryEntry]:
    if part.made_by == LOCAL_MODEL and part.source_turns:
        return [_entry(turn.text, turn) for turn in part.source_turns]
    return [_entry(part.text, None)]


def _entry(text: str, turn: Turn | None) -> MemoryEntry:
    role = "model" if turn and turn.role == "assistant" else "user"
    return MemoryEntry(
        content=genai.Content(parts=[genai.Part(text=text)], role=role),
        id=str(turn.id) if turn else text,
        author=turn.speaker if turn else None,
        timestamp=turn.at.isoformat() if turn and turn.dated else None,
    )
