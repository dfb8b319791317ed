"""Before a reply: the compressed memory as three parts, each sentence traced to its turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from theanine.methods.comedy.aspects import ASPECTS, Aspect, aspect_of
from theanine.retrieval.scope_index import ScopeIndex
from theanine.text.attribution import without_attribution
from theanine.text.formatting import format_memory, format_speaker, one_line
from theanine.text.words import containment, content_words
from theanine.tokenizer import count_tokens
from theanine.types import LOCAL_MODEL, Memory, Part

NAMES_SHOWN = 4
"""Names in a heading at most."""


async def hand_over(
    memories: Sequence[Memory], query: str, budget: int | None, view: ScopeIndex
) -> tuple[Part, ...]:
    """A part for each aspect that has any memory: a heading, then the memories' words.

    ``memories`` are the most telling first; where ``budget`` (tokens of the bundled tokenizer)
    cuts, the three parts are filled in turn. A part's score is the share of the query's content
    words that it holds.
    """
    lines = {memory.id: _line(memory, view) for memory in memories}
    of: dict[Aspect, list[Memory]] = {aspect: [] for aspect in ASPECTS}
    for memory in memories:
        of[aspect_of(memory.kind)].append(memory)
    asked = content_words(query)
    parts: list[Part] = []
    for aspect, kept in _fitting(of, lines, budget).items():
        if kept:
            text = " ".join([_heading(aspect, of[aspect]), *(lines[one.id] for one in kept)])
            sources = await view.turns([turn for one in kept for turn in one.source_turns])
            parts.append(
                Part(
                    text=text,
                    memories=tuple(kept),
                    source_turns=tuple(sorted(sources, key=lambda turn: (turn.at, turn.id))),
                    score=containment(
                        asked,
                        content_words(" ".join(without_attribution(one.text) for one in kept)),
                    ),
                    made_by=next(
                        (one.made_by for one in kept if one.made_by != LOCAL_MODEL), LOCAL_MODEL
                    ),
                )
            )
    return tuple(parts)


def _fitting(
    of: Mapping[Aspect, Sequence[Memory]], lines: Mapping[int, str], budget: int | None
) -> dict[Aspect, list[Memory]]:
    """As many of each as fit together, taken in turn."""
    kept: dict[Aspect, list[Memory]] = {aspect: [] for aspect in ASPECTS}
    left = budget
    for row in zip_longest(*(of[aspect] for aspect in ASPECTS)):
        for aspect, memory in zip(ASPECTS, row, strict=True):
            if memory is None:
                continue
            if left is not None:
                heading = "" if kept[aspect] else _heading(aspect, of[aspect])
                cost = count_tokens(f"{heading} {lines[memory.id]}\n")
                if cost > left:
                    continue
                left -= cost
            kept[aspect].append(memory)
    return kept


def _line(memory: Memory, view: ScopeIndex) -> str:
    """The words; a note that a model made of one session with its day, which it may not name."""
    return one_line(memory.text) if memory.kind in ASPECTS else format_memory(memory)


def _heading(aspect: Aspect, memories: Sequence[Memory]) -> str:
    names = list(
        dict.fromkeys(format_speaker(name) for memory in memories for name in memory.speakers)
    )
    some = _listed(names[:NAMES_SHOWN])
    if aspect == "events":
        return "What happened:"
    if aspect == "portrait":
        return f"About {some or 'the user'}:"
    return f"Between {some if len(names) > 1 else 'user and agent'}:"


def _listed(names: Sequence[str]) -> str:
    """``Ana``, ``Ana and Theo``, ``Ana, Bo and Theo``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
