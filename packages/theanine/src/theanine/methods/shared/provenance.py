"""Provenance: which memories, turns and sessions a memory was made from.

A prompt that shows a memory must name every session that the memory may quote: forgetting a session
then erases the prompt as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from theanine.retrieval.scope_index import ScopeIndex
from theanine.types import Memory, Turn, Utterance


def with_ancestors(memories: Iterable[Memory], index: ScopeIndex) -> list[Memory]:
    """Return the memories and all that they were derived from, each once."""
    collected = {memory.id: memory for memory in memories}
    pending = list(collected.values())
    while pending:
        for ancestor in pending.pop().derived_from:
            if ancestor not in collected and ancestor in index:
                collected[ancestor] = index[ancestor]
                pending.append(index[ancestor])
    return list(collected.values())


def source_sessions(memories: Iterable[Memory], index: ScopeIndex) -> set[int]:
    """Return the numbers of the sessions of the memories and of their ancestors."""
    return {memory.session for memory in with_ancestors(memories, index)}


def source_turns(memory: Memory, index: ScopeIndex) -> tuple[int, ...]:
    """Return the ids of all turns that support a memory or its ancestors, ascending."""
    turns = {turn for ancestor in with_ancestors([memory], index) for turn in ancestor.source_turns}
    return tuple(sorted(turns))


def dialogue_sessions(dialogue: Iterable[Utterance]) -> set[int]:
    """Return the sessions of the logged turns of a dialogue; utterances not logged have none."""
    return {utterance.session for utterance in dialogue if isinstance(utterance, Turn)}
