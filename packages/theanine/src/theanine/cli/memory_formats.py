"""Export the statements that hold, in the formats that other memory systems import."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from theanine.client import UserMemory
from theanine.errors import SettingsError
from theanine.types import REPLACED, STATE, Memory

_ENDED = ("superseded", "withdrawn", "corrected")


def memories_as(format: str, owner: UserMemory) -> Iterator[Mapping[str, Any]]:
    """Yield the lines that a system takes in: the statements of a user that hold.

    Raises SettingsError for a format that isn't known.
    """
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise SettingsError(f'unknown format "{format}" of an export; known: {known}')
    ended = {mark.memory for mark in owner.marks() if mark.kind in _ENDED}
    ended |= {link.older for link in owner.links() if link.relation in REPLACED}
    memories = [  # what a state tells, its statements tell, each with its own end
        memory for memory in owner.memories() if memory.id not in ended and memory.kind != STATE
    ]
    if memories:
        yield from FORMATS[format](owner, memories)


def _server_memory(owner: UserMemory, memories: Sequence[Memory]) -> Iterator[Mapping[str, Any]]:
    """Yield one entity: its file has a line for each, and knows no dates, so they are words."""
    yield {
        "type": "entity",
        "name": owner.name,
        "entityType": "person",
        "observations": [
            f"{memory.text} ({memory.at:%Y-%m-%d})" if memory.dated else memory.text
            for memory in memories
        ],
    }


def _mem0(owner: UserMemory, memories: Sequence[Memory]) -> Iterator[Mapping[str, Any]]:
    """Yield the arguments of mem0's ``client.add``, which stores them as they are."""
    for memory in memories:
        yield {
            "messages": [{"role": "user", "content": memory.text}],
            "user_id": owner.scope.user,
            "infer": False,
            **({"timestamp": int(memory.at.timestamp())} if memory.dated else {}),
            "metadata": {"source": "theanine", "id": memory.id},
        }


FORMATS: Mapping[str, Callable[[UserMemory, Sequence[Memory]], Iterator[Mapping[str, Any]]]] = {
    "server-memory": _server_memory,
    "mem0": _mem0,
}
"""The formats by name."""
