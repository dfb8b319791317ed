"""The graph that the page draws: a user's memories, their links and marks, and topics."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from theanine.ends import ENDS, read_end
from theanine.linking.topics import Topic, find_topics
from theanine.quotes import shown_words
from theanine.types import REPLACED, STATE, Link, Mark, MarkKind, Memory, Relation, Session

R = TypeVar("R")

CHANGE = 2
"""Importance of a change in a topic, in memories."""
FIRST_PART, PART = 500, 3_000
"""Memories of the first part of a graph and of each further one, about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNode:
    """A memory as the graph shows it; details are loaded when it is opened.

    Attributes:
        words: its text; of a quote, the quoted words alone.
        at, dated, session, kind, speakers, method, made_by: as of :class:`theanine.Memory`.
        pinned: whether it is in every recollection.
    """

    id: int
    words: str
    at: datetime
    dated: bool
    session: int
    kind: str
    speakers: tuple[str, ...]
    method: str
    made_by: str
    pinned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkEdge:
    """A link without its explanation."""

    older: int
    newer: int
    relation: Relation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEnd:
    """When and why a memory is no longer in effect.

    Attributes:
        memory: its id.
        kind: see :data:`theanine.types.MarkKind`.
        by: id of the memory that replaced it, or None.
        at: when the session began whose remembering marked it; of a state that a change ended, when
            what replaced it was said.
    """

    memory: int
    kind: MarkKind
    by: int | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnEnd:
    """The end that a memory has by itself, as its metadata has it; see :mod:`theanine.ends`."""

    memory: int
    expires: datetime | None
    verify_by: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGraph:
    """All memories of a user, their links, their ends and their topics.

    Attributes:
        memories: in the order of ids.
        links: those between them.
        ends: those that are no longer in effect; a state ends with the statements that it is of.
        own_ends: of those that have one.
        topics: each memory is in one; the one with the most to tell first, then the newest.
        methods: the methods that have remembered something, and how many memories; if known.
    """

    memories: tuple[MemoryNode, ...]
    links: tuple[LinkEdge, ...]
    ends: tuple[MemoryEnd, ...]
    own_ends: tuple[OwnEnd, ...]
    topics: tuple[Topic, ...]
    methods: Mapping[str, int]


def build_graph(
    memories: Sequence[Memory],
    links: Sequence[Link],
    marks: Sequence[Mark],
    sessions: Mapping[int, Session],
    pinned: Collection[int] = (),
    methods: Mapping[str, int] | None = None,
    topics: Sequence[Topic] | None = None,
    assistants: frozenset[str] = frozenset(),
) -> MemoryGraph:
    """Return the graph of memories.

    Args:
        memories: all that are drawn.
        links: links; those to other memories are left out.
        marks: the marks of memories that are not in effect; those of memories that are not drawn
            only end states.
        sessions: the sessions of the marks, by id.
        pinned: ids of the memories that are pinned.
        methods: the methods that have remembered something, and how many memories.
        topics: the topics of the memories, if they are known; all memories must be in one.
        assistants: names of speakers whose words make no topic.
    """
    ids = {memory.id for memory in memories}
    links = [link for link in links if link.older in ids and link.newer in ids]
    return MemoryGraph(
        memories=tuple(
            MemoryNode(
                id=memory.id,
                words=shown_words(memory.text),
                at=memory.at,
                dated=memory.dated,
                session=memory.session,
                kind=memory.kind,
                speakers=memory.speakers,
                method=memory.method,
                made_by=memory.made_by,
                pinned=memory.id in pinned,
            )
            for memory in sorted(memories, key=lambda memory: memory.id)
        ),
        links=tuple(
            LinkEdge(older=link.older, newer=link.newer, relation=link.relation) for link in links
        ),
        ends=tuple(
            MemoryEnd(
                memory=mark.memory,
                kind=mark.kind,
                by=mark.by,
                at=sessions[mark.session].started_at,
            )
            for mark in marks
            if mark.memory in ids
        )
        + tuple(_find_state_ends(memories, links, marks, sessions)),
        own_ends=tuple(
            OwnEnd(memory=memory.id, **{name: read_end(memory.metadata, name) for name in ENDS})
            for memory in memories
            if any(name in memory.metadata for name in ENDS)
        ),
        topics=_most_told_first(
            find_topics(memories, links, assistants) if topics is None else topics, links
        ),
        methods=methods or {},
    )


def _most_told_first(topics: Sequence[Topic], links: Sequence[Link]) -> tuple[Topic, ...]:
    """Return topics in the order of their importance: a change counts as much as two memories."""
    changed = Counter(link.newer for link in links if link.relation in REPLACED)

    def weigh(topic: Topic) -> int:
        return len(topic.memories) + CHANGE * sum(changed[id] for id in topic.memories)

    return tuple(sorted(topics, key=weigh, reverse=True))


def split_graph(graph: MemoryGraph) -> Iterator[MemoryGraph]:
    """Yield a graph in parts of whole topics, a small one first, which together have all of it.

    A link is in the part of the later one of its memories, so that both are known by then.
    """
    memories = {memory.id: memory for memory in graph.memories}
    part_of: dict[int, int] = {}
    topics: list[list[Topic]] = [[]]
    room = FIRST_PART
    for topic in graph.topics:
        if room <= 0:
            topics.append([])
            room = PART
        own = (*topic.memories, *topic.repeats)
        part_of |= dict.fromkeys(own, len(topics) - 1)
        topics[-1].append(topic)
        room -= len(own)
    links = _by_part(graph.links, lambda link: max(part_of[link.older], part_of[link.newer]))
    ends = _by_part(graph.ends, lambda end: part_of[end.memory])
    own_ends = _by_part(graph.own_ends, lambda end: part_of[end.memory])
    for number, own in enumerate(topics):
        ids = sorted(id for topic in own for id in (*topic.memories, *topic.repeats))
        yield MemoryGraph(
            memories=tuple(memories[id] for id in ids),
            links=tuple(links[number]),
            ends=tuple(ends[number]),
            own_ends=tuple(own_ends[number]),
            topics=tuple(own),
            methods=graph.methods,
        )


def _by_part(rows: Iterable[R], part: Callable[[R], int]) -> defaultdict[int, list[R]]:
    found = defaultdict[int, list[R]](list)
    for row in rows:
        found[part(row)].append(row)
    return found


def _find_state_ends(
    memories: Sequence[Memory],
    links: Sequence[Link],
    marks: Sequence[Mark],
    sessions: Mapping[int, Session],
) -> Iterator[MemoryEnd]:
    """Yield when each state ended, by the rule of recall (:mod:`theanine.recall.states`).

    It ends when its newest statement is replaced, or any of its statements is corrected.
    """
    by_id = {memory.id: memory for memory in memories}
    replaced, corrected = defaultdict[int, list[Link]](list), defaultdict[int, list[Mark]](list)
    for link in links:
        if link.relation in REPLACED:
            replaced[link.older].append(link)
    for mark in marks:
        if mark.kind == "corrected":
            corrected[mark.memory].append(mark)
    for state in memories:
        if state.kind != STATE:
            continue
        ends = [
            MemoryEnd(memory=state.id, kind="superseded", by=link.newer, at=by_id[link.newer].at)
            for link in replaced.get(max(state.derived_from, default=0), ())
        ]
        ends += [
            MemoryEnd(
                memory=state.id,
                kind="superseded",
                by=mark.by,
                at=sessions[mark.session].started_at,
            )
            for told in state.derived_from
            for mark in corrected.get(told, ())
        ]
        if ends:
            yield min(ends, key=lambda end: end.at)
