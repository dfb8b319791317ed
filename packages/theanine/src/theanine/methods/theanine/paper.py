"""Theanine as published: recall from sampled timelines, refined for the dialogue.

Source: Ong, Kim et al., "Towards Lifelong Dialogue Agents via Timeline-based Memory Management"
(NAACL 2025; the first two authors share the first place): phases I (section 2.1), II (2.2) and III
(2.3). Its first version is Kim, Ong et al., "Theanine: Revisiting Memory Management in Long-term
Conversations with Timeline-augmented Response Generation" (arXiv, 2024).

Differences from the paper:

- Statements keep the time of the last turn that supports them, besides that of their session.
- A statement in which the assistant only repeats a recalled memory is not remembered again.
- Where the component's oldest memory doesn't reach a retrieved one, its timeline starts at its
  oldest ancestor.
- No timeline is returned twice. Within a token budget each memory appears once, in the best of its
  timelines, and all timelines are in time order.

The authors' program differs from the paper, which is followed here: docs/methods/theanine-paper.md
has a list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

from theanine.llm.gather import gather
from theanine.methods.base import Context, Reply
from theanine.methods.shared.recall import retrieve
from theanine.methods.shared.respond import reply
from theanine.methods.theanine.config import TheaninePaperConfig
from theanine.methods.theanine.limit_statements import retrieved_position
from theanine.methods.theanine.refine import format_timeline, refine
from theanine.methods.theanine.sample_timelines import sample_timelines
from theanine.methods.theanine.timelines import RemembersTimelines
from theanine.recall.understand import query_text
from theanine.retrieval.budget import fit_budget
from theanine.text.formatting import format_memory
from theanine.types import (
    LOCAL_MODEL,
    STATE,
    STATEMENT,
    Memory,
    Part,
    Recollection,
    Timeline,
    Utterance,
)


class TheaninePaper(RemembersTimelines[TheaninePaperConfig]):
    """The paper's method in its three phases."""

    name = "theanine-paper"
    memories_of = "theanine"
    Config = TheaninePaperConfig

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Phase II: retrieve memories, sample their timelines, refine them."""
        config = self.config
        query = query_text(dialogue, config.query_turns, names=config.query_names)
        budget = context.token_budget(config.budget)
        # The default method adds states, which only repeat statements.
        kinds = (STATEMENT,) if context.index.kind_mask(STATE).any() else ()
        ranked = await retrieve(
            query, dialogue, config.retrieved, context, config.retrieval, kinds=kinds
        )
        scores = {memory.id: score for memory, score in ranked}
        timelines = self._timelines([memory for memory, _ in ranked], context)
        if config.shuffle:
            timelines = _split(timelines, context)
        if budget is not None:
            timelines = deduplicate_timelines(timelines)
        # Load all source turns with one query.
        await context.index.turns(
            [turn for line in timelines for memory in line.memories for turn in memory.source_turns]
        )
        calls = [partial(self._part, line, dialogue, scores, context) for line in timelines]
        # Tasks cost time and only a model call has something to wait for.
        parts = await gather(calls) if context.chat else [await call() for call in calls]
        kept = fit_budget([(part, part.text) for part in parts], budget)
        if config.shuffle:
            context.rng.shuffle(kept)
        elif budget is not None:
            kept.sort(key=lambda part: part.memories[0].order)
        return Recollection(query=query, parts=tuple(kept))

    def _timelines(self, retrieved: Sequence[Memory], context: Context) -> list[Timeline]:
        index = context.index
        drawn, timelines = set[tuple[int, ...]](), list[Timeline]()
        for memory in retrieved:
            paths = sample_timelines(
                index.graph, memory.id, self.config.samples, context.rng, index.order, drawn
            )
            drawn.update(paths)
            timelines += [_timeline(path, memory.id, context) for path in paths]
        return timelines

    async def _part(
        self,
        timeline: Timeline,
        dialogue: Sequence[Utterance],
        scores: Mapping[int, float],
        context: Context,
    ) -> Part:
        chat = context.chat if self.config.refine and not self.config.shuffle else None
        if self.config.shuffle:
            text = format_memory(timeline.memories[0])
        elif self.config.refine:
            text = await refine(timeline, dialogue, chat, whole=self.config.whole)
        else:
            text = format_timeline(timeline)
        turns = await context.index.turns(
            [turn for memory in timeline.memories for turn in memory.source_turns]
        )
        return Part(
            text=text,
            memories=timeline.memories,
            source_turns=tuple(sorted(turns, key=lambda turn: (turn.at, turn.id))),
            timeline=timeline,
            score=scores.get(timeline.retrieved, 0.0),
            made_by=chat.model if chat else LOCAL_MODEL,
        )

    async def respond(
        self,
        dialogue: Sequence[Utterance],
        recollection: Recollection,
        speaker: str,
        context: Context,
    ) -> Reply:
        """Phase III: reply from the dialogue and the refined timelines."""
        return await reply(
            dialogue,
            recollection,
            speaker,
            context,
            prompt=self.reply_prompt,
            rationale=self.config.rationale,
        )


def _timeline(path: Sequence[int], retrieved: int, context: Context) -> Timeline:
    """Return the timeline of a path of memory ids."""
    links = context.index.graph.links
    return Timeline(
        memories=tuple(context.index[memory] for memory in path),
        links=tuple(links[pair] for pair in pairwise(path)),
        retrieved=retrieved,
    )


def deduplicate_timelines(timelines: Sequence[Timeline]) -> list[Timeline]:
    """Cut each timeline to the memories that no earlier one has; earlier ones rank better.

    What remains is the consecutive run of new memories around the retrieved one. A timeline whose
    retrieved memory is in an earlier one is dropped.
    """
    covered, kept = set[int](), list[Timeline]()
    for line in timelines:
        ids = [memory.id for memory in line.memories]
        center = retrieved_position(line)
        if ids[center] in covered:
            continue
        start = max((n + 1 for n in range(center) if ids[n] in covered), default=0)
        end = next((n for n in range(center, len(ids)) if ids[n] in covered), len(ids))
        covered.update(ids[start:end])
        kept.append(
            replace(line, memories=line.memories[start:end], links=line.links[start : end - 1])
        )
    return kept


def _split(timelines: Sequence[Timeline], context: Context) -> list[Timeline]:
    """Return each memory as a timeline of its own, in order (ablation ``shuffle``)."""
    retrieved: dict[int, int] = {}
    for line in timelines:
        for memory in line.memories:
            retrieved.setdefault(memory.id, line.retrieved)
    return [
        Timeline(memories=(context.index[memory],), links=(), retrieved=root)
        for memory, root in retrieved.items()
    ]
