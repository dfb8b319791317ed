"""Theanine: link memories into timelines of cause and change, recall them, refine them, reply.

Source: Kim et al., "Theanine" (NAACL 2025): phases I (section 2.1), II (2.2) and III (2.3).

Differences from the paper: statements keep the time of the last turn that supports them beside the
time of their session; by default one call relates a whole session, the query is the dialogue's last
six turns, retrieval adds words, neighbours, speakers and days to the cosine, and a timeline is
refined without near-duplicates and in at most 40 statements (``TheanineConfig.paper()`` has the
paper's ways); a statement in which the agent only repeats what it had just been reminded of is not
remembered again; where a retrieved memory can't be reached from its component's oldest, its
timeline starts at its oldest ancestor; the same timeline is never given twice; within a token
budget each memory is told once, by the best of its timelines, and all in time order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

from theanine.llm.gather import gather
from theanine.methods.base import Context, Estimate, Reply
from theanine.methods.shared.retrieve import query_text, reply, retrieve
from theanine.methods.shared.statements import embed_memories, summarize_session
from theanine.methods.theanine.config import TheanineConfig
from theanine.methods.theanine.estimate import estimate
from theanine.methods.theanine.judgement import Judgement, Pair
from theanine.methods.theanine.link import associate, choose_links
from theanine.methods.theanine.refine import raw, refine
from theanine.methods.theanine.relate import Scene, relate
from theanine.methods.theanine.shorten import retrieved_position
from theanine.methods.theanine.timeline import longest_paths, sample_timelines
from theanine.retrieval.budget import fit_budget
from theanine.types import (
    ImportedMemory,
    Memory,
    MemoryBatch,
    Part,
    Recollection,
    Session,
    Timeline,
    Turn,
    Utterance,
)


class Theanine:
    """The method of the paper, in its three phases."""

    name = "theanine"
    Config = TheanineConfig

    def __init__(self, config: TheanineConfig | None = None) -> None:
        self.config = config or TheanineConfig()

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Phase I: summarize, find associates, relate, link."""
        memories = await summarize_session(session, turns, given, context)
        vectors = await embed_memories(memories, context)
        pairs = associate(memories, vectors, session, context.index, self.config.associates)
        judgements = await self._judged(pairs, session, turns, context)
        links = choose_links(pairs, judgements, context.index, self.config)
        return MemoryBatch(memories=memories, vectors=vectors, links=links, pairs=len(pairs))

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """The summary, and the relations by the way that they are asked for."""
        return estimate(turns, self.config)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Phase II: retrieve, sample timelines, refine them."""
        query = query_text(dialogue, self.config.query_turns)
        found = await retrieve(
            query, dialogue, self.config.retrieved, context, self.config.retrieval
        )
        timelines = self._timelines([memory for memory, _ in found], context)
        scores = {memory.id: score for memory, score in found}
        if self.config.shuffle:
            timelines = _alone(timelines, context)
        if context.budget is not None:
            timelines = deduplicate_timelines(timelines)
        await context.index.turns(
            [n for t in timelines for m in t.memories for n in m.source_turns]
        )
        calls = [partial(self._part, line, dialogue, scores, context) for line in timelines]
        # Tasks only pay where there is something to wait for.
        parts = await gather(calls) if context.chat else [await call() for call in calls]
        kept = fit_budget([(part, part.text) for part in parts], context.budget)
        if self.config.shuffle:
            context.rng.shuffle(kept)
        elif context.budget is not None:
            kept.sort(key=lambda part: part.memories[0].order)
        return Recollection(query=query, parts=tuple(kept))

    async def respond(
        self,
        dialogue: Sequence[Utterance],
        recollection: Recollection,
        speaker: str,
        context: Context,
    ) -> Reply:
        """Phase III: reply from the dialogue and the refined timelines."""
        return await reply(
            dialogue, recollection, speaker, context, rationale=self.config.rationale
        )

    async def _judged(
        self, pairs: Sequence[Pair], session: Session, turns: Sequence[Turn], context: Context
    ) -> list[Judgement]:
        if not pairs or not self.config.relation_aware:
            return [Judgement(relation=None) for _ in pairs]
        scene = Scene(
            session=session.id,
            turns=turns,
            dialogue=context.index.session_turns,
            around=context.index.turns_with_neighbors,
            undated=context.index.undated,
        )
        return await relate(pairs, scene, mode=self.config.relating, caller=context.chat)

    def _timelines(self, retrieved: Sequence[Memory], context: Context) -> list[Timeline]:
        view, given, lines = context.index, set[tuple[int, ...]](), list[Timeline]()
        for memory in retrieved:
            paths = sample_timelines(
                view.graph,
                memory.id,
                self.config.samples,
                context.rng,
                lambda n: view[n].order,
                given,
            )
            given.update(paths)
            lines += [timeline_of(path, memory.id, context) for path in paths]
        return lines

    async def _part(
        self,
        timeline: Timeline,
        dialogue: Sequence[Utterance],
        scores: dict[int, float],
        context: Context,
    ) -> Part:
        caller = context.chat if self.config.refine else None
        undated = context.index.undated
        if self.config.refine:
            whole = self.config.whole
            text = await refine(timeline, dialogue, caller, undated=undated, whole=whole)
        else:
            text = raw(timeline, undated=undated)
        sources = await context.index.turns([n for m in timeline.memories for n in m.source_turns])
        return Part(
            text=text,
            memories=timeline.memories,
            source_turns=tuple(sorted(sources, key=lambda turn: (turn.at, turn.id))),
            timeline=timeline,
            score=scores.get(timeline.retrieved, 0.0),
            made_by=caller.model if caller else "local",
        )


def timeline_of(path: Sequence[int], retrieved: int, context: Context) -> Timeline:
    """A path of memory numbers as memories and links."""
    links = context.index.graph.links
    return Timeline(
        memories=tuple(context.index[n] for n in path),
        links=tuple(links[pair] for pair in pairwise(path)),
        retrieved=retrieved,
    )


def deduplicate_timelines(timelines: Sequence[Timeline]) -> list[Timeline]:
    """The timelines, best first, without what a better one tells already.

    Of each there remains the run of new memories around its retrieved one; none where that is told.
    """
    told, kept = set[int](), list[Timeline]()
    for line in timelines:
        ids = [memory.id for memory in line.memories]
        centre = retrieved_position(line)
        if ids[centre] in told:
            continue
        start = max((n + 1 for n in range(centre) if ids[n] in told), default=0)
        end = next((n for n in range(centre, len(ids)) if ids[n] in told), len(ids))
        told.update(ids[start:end])
        kept.append(
            replace(line, memories=line.memories[start:end], links=line.links[start : end - 1])
        )
    return kept


def _alone(timelines: Sequence[Timeline], context: Context) -> list[Timeline]:
    """The same memories, each alone, those of the best timeline first (ablation ``shuffle``)."""
    alone: dict[int, int] = {}
    for line in timelines:
        for memory in line.memories:
            alone.setdefault(memory.id, line.retrieved)
    return [Timeline(memories=(context.index[n],), links=(), retrieved=alone[n]) for n in alone]


def longest_timelines(context: Context, memory: int | None = None) -> list[Timeline]:
    """The longest timeline to each end of the graph, or of one memory's component."""
    view = context.index
    nodes = [m.id for m in view.memories] if memory is None else view.graph.members(memory)
    paths = longest_paths(view.graph, view.order, nodes)
    return [timeline_of(path, memory or path[-1], context) for path in paths]
