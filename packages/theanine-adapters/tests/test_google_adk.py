"""Google ADK's memory service: sessions by their events' ids, recall, deletion."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.errors import BadInput, NotFound

pytest.importorskip("google.adk.memory", reason="google-adk is not installed (make extras)")

from google.adk.events import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import Session
from google.genai import types

from theanine_adapters.google_adk import TheanineMemoryService

pytestmark = pytest.mark.anyio
WHO: dict[str, Any] = {"app_name": "trips", "user_id": "ana"}


def service_of(client: theanine.Client | theanine.AsyncClient) -> TheanineMemoryService:
    return TheanineMemoryService(lambda app_name, user_id: client.user(user_id, agent=app_name))


def event(number: int, author: str, *parts: Any, **fields: Any) -> Event:
    made = [types.Part(text=part) if isinstance(part, str) else part for part in parts]
    content = types.Content(parts=made, role="user" if author == "user" else "model")
    time = 1_700_000_000.0 + number
    return Event(id=f"e{number}", author=author, content=content, timestamp=time, **fields)


def session(*events: Event, name: str = "s1") -> Session:
    return Session(id=name, app_name="trips", user_id="ana", events=list(events))


TALK = (
    event(1, "user", "I'm terrified of ships since the storm."),
    event(2, "guide", types.Part(text="Ships?", thought=True), "I see."),
    event(3, "guide", types.Part.from_function_call(name="find", args={})),
    event(4, "guide", "No cr", partial=True),
    Event(id="e5", author="guide"),
)


async def test_a_session_that_is_added_again_adds_what_is_new(client: theanine.Client) -> None:
    service, ana = service_of(client), client.user("ana", agent="trips")
    await service.add_session_to_memory(session(*TALK[:1]))
    await service.add_session_to_memory(session(*TALK))
    later = event(9, "user", "My dog is called Rex.")
    await service.add_events_to_memory(
        **WHO, events=[TALK[0], later], session_id="s1", custom_metadata={"n": 1, "x": []}
    )
    await service.add_session_to_memory(session(*TALK, later))
    turns = ana.turns()
    assert [(turn.speaker, turn.role, turn.text) for turn in turns] == [
        ("ana", "user", "I'm terrified of ships since the storm."),
        ("guide", "assistant", "I see."),
        ("ana", "user", "My dog is called Rex."),
    ]
    assert [turn.at.timestamp() for turn in turns] == [1_700_000_000.0 + n for n in (1, 2, 9)]
    assert turns[-1].metadata == {"n": 1} and len(ana.sessions()) == 1
    await service.add_session_to_memory(session(TALK[4], name="empty"))
    assert len(ana.sessions()) == 1


async def test_search_returns_turns_and_nothing_where_nothing_matters(
    client: theanine.Client,
) -> None:
    service = service_of(client)
    await service.add_session_to_memory(session(*TALK))
    found = await service.search_memory(**WHO, query="Shall we book that cruise on a ship?")
    first = found.memories[0]
    assert first.content.parts and first.content.parts[0].text == (
        "I'm terrified of ships since the storm."
    )
    assert (first.author, first.timestamp) == ("ana", "2023-11-14T22:13:21+00:00")
    for who in ({**WHO, "user_id": "bo"}, {**WHO, "app_name": "bank"}):
        assert (await service.search_memory(**who, query="ships")).memories == []
    for query in (" ", "Quantum chromodynamics lattice?"):
        assert (await service.search_memory(**WHO, query=query)).memories == []


async def test_what_is_deleted_stays_gone(client: theanine.Client) -> None:
    service = service_of(client)
    await service.add_session_to_memory(session(*TALK))
    [first, *_] = (await service.search_memory(**WHO, query="a ship in a storm")).memories
    await service.delete_memory(**WHO, memory_id=first.id)
    await service.add_session_to_memory(session(*TALK))
    turns = client.user("ana", agent="trips").turns()
    assert [turn.text for turn in turns] == ["I see."]
    with pytest.raises(NotFound, match="no turn"):
        await service.delete_memory(**WHO, memory_id=first.id)
    with pytest.raises(BadInput, match="take it from search_memory"):
        await service.delete_memory(**WHO, memory_id="e1")


async def test_memories_are_written_on_either_handle(tmp_path: Path) -> None:
    async with theanine.aopen(tmp_path / "memory.db") as client:
        service = service_of(client)
        content = types.Content(parts=[types.Part(text="Ana's dog is called Rex.")])
        time = "2026-03-01T12:00:00+01:00"
        entry = MemoryEntry(id="m1", content=content, timestamp=time)
        for _ in range(2):
            await service.add_memory(**WHO, memories=[entry])
        [turn] = await client.user("ana", agent="trips").turns()
        assert (turn.role, turn.at.isoformat()) == ("assistant", "2026-03-01T11:00:00+00:00")
        found = await service.search_memory(**WHO, query="What is her dog called?")
        assert [each.id for each in found.memories] == [str(turn.id)]
