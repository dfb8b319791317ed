"""The parts of a recollection: one for each aspect, within the budget."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from theanine.quotes import without_attribution
from theanine.retrieval.scope_index import ScopeIndex
from theanine.text.formatting import format_memory, format_speaker, one_line
from theanine.text.words import containment, content_words
from theanine.tokenizer import count_tokens
from theanine.types import LOCAL_MODEL, Memory, Part
from theanine_methods.comedy.aspects import ASPECTS, Aspect, aspect_of

MAX_NAMES = 4
"""Maximum names in a heading."""


async def aspect_parts(
    memories: Sequence[Memory], query: str, budget: int | None, index: ScopeIndex
) -> tuple[Part, ...]:
    """Return a part for each aspect that has memories: a heading, then the memories' texts.

    A budget (tokens of the bundled tokenizer) is spent on the aspects in turn, first memories
    first. A part's score is the share of the query's content words in it, 0 to 1.
    """
    by_aspect: dict[Aspect, list[Memory]] = {aspect: [] for aspect in ASPECTS}
    for memory in memories:
        by_aspect[aspect_of(memory.kind)].append(memory)
    headings = {aspect: _heading(aspect, by_aspect[aspect]) for aspect in ASPECTS}
    kept: dict[Aspect, list[Memory]] = {aspect: [] for aspect in ASPECTS}
    for row in zip_longest(*by_aspect.values()):
        for aspect, memory in zip(ASPECTS, row, strict=True):
            if memory is None:
                continue
            if budget is not None:
                heading = "" if kept[aspect] else headings[aspect]
                cost = count_tokens(f"{heading} {_format(memory)}\n")
                if cost > budget:
                    continue
                budget -= cost
            kept[aspect].append(memory)
    return tuple(
        [
            await _part(headings[aspect], memories, query, index)
            for aspect, memories in kept.items()
            if memories
        ]
    )


async def _part(heading: str, memories: Sequence[Memory], query: str, index: ScopeIndex) -> Part:
    turns = await index.turns([turn for memory in memories for turn in memory.source_turns])
    content = content_words(" ".join(without_attribution(memory.text) for memory in memories))
    models = [memory.made_by for memory in memories if memory.made_by != LOCAL_MODEL]
    return Part(
        text=" ".join([heading, *map(_format, memories)]),
        memories=tuple(memories),
        source_turns=tuple(sorted(turns, key=lambda turn: (turn.at, turn.id))),
        score=containment(content_words(query), content),
        made_by=models[0] if models else LOCAL_MODEL,
    )


def _format(memory: Memory) -> str:
    """Return the text on one line; a session memory, which may not name its day, with the day."""
    return one_line(memory.text) if memory.kind in ASPECTS else format_memory(memory)


def _heading(aspect: Aspect, memories: Sequence[Memory]) -> str:
    if aspect == "events":
        return "What happened:"
    names = list(
        dict.fromkeys(format_speaker(name) for memory in memories for name in memory.speakers)
    )
    shown = names[:MAX_NAMES]
    joined = " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
    if aspect == "portrait":
        return f"About {joined or 'the user'}:"
    return f"Between {joined if len(names) > 1 else 'user and agent'}:"
