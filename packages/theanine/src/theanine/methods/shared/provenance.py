"""Whose words stand in a memory: its own session's, and those of all that it was made of."""

from __future__ import annotations

from collections.abc import Iterable

from theanine.retrieval.scope_index import ScopeIndex
from theanine.types import Memory


def source_sessions(memories: Iterable[Memory], view: ScopeIndex) -> set[int]:
    """Numbers of the sessions whose words the memories may hold.

    A prompt that shows a memory touches all of them: forgetting one must reach that prompt.
    """
    waiting = list(memories)
    seen, sessions = {memory.id for memory in waiting}, set[int]()
    while waiting:
        memory = waiting.pop()
        sessions.add(memory.session)
        fresh = [origin for origin in memory.derived_from if origin not in seen and origin in view]
        seen.update(fresh)
        waiting += [view[origin] for origin in fresh]
    return sessions
