"""Whose words stand in a memory: its own session's, and those of all that it was made of."""

from __future__ import annotations

from collections.abc import Iterable

from theanine.memory import Memory
from theanine.retrieval.view import View


def sessions_behind(memories: Iterable[Memory], view: View) -> set[int]:
    """Numbers of the sessions whose words the memories may hold.

    A prompt that shows a memory touches all of them: forgetting one must reach that prompt.
    """
    waiting, seen, sessions = list(memories), set[int](), set[int]()
    while waiting:
        memory = waiting.pop()
        if memory.id in seen:
            continue
        seen.add(memory.id)
        sessions.add(memory.session)
        waiting += [view[origin] for origin in memory.origins if origin in view]
    return sessions
