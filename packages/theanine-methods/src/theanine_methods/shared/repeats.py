"""Memories of one batch that say the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from theanine.types import NewMemory


def join_repeated(memories: Iterable[NewMemory]) -> list[NewMemory]:
    """Return the memories with each text once, supported by the turns of all its repeats."""
    joined: dict[tuple[str, str], NewMemory] = {}
    for memory in memories:
        key = (memory.kind, memory.text.casefold())
        if first := joined.get(key):
            memory = replace(
                first,
                at=max(first.at, memory.at),
                source_turns=tuple(sorted({*first.source_turns, *memory.source_turns})),
                speakers=tuple(dict.fromkeys((*first.speakers, *memory.speakers))),
            )
        joined[key] = memory
    return list(joined.values())
