"""Pinned memories: parts of every recollection, as far as its budget goes."""

from __future__ import annotations

from dataclasses import replace

from theanine.methods.base import Context
from theanine.methods.shared.recall import fit_parts, statement_part
from theanine.recall.verify import marked
from theanine.tokenizer import count_tokens
from theanine.types import Part

_MARK = "(pinned) "


async def reserve_pinned(
    context: Context, default_budget: int | None
) -> tuple[list[Part], Context]:
    """Return the parts of the pinned memories, and a context with the rest of the budget.

    The latest pins come first where the budget is short. What was corrected, or is outside of the
    bounds of the recall, is not among them.
    """
    index, options = context.index, context.options
    pinned = [
        memory
        for memory in await index.read_memories(index.pins.keys() - index.marks.keys())
        if not options.bounds or index.includes(memory.id)
    ]
    if not pinned:
        return [], context
    order = list(index.pins)
    pinned.sort(key=lambda memory: -order.index(memory.id))
    budget = context.token_budget(default_budget)
    made = [await statement_part(memory, 0.0, context) for memory in pinned]
    marked_parts = [marked(part, options.present) for part in made]
    parts = [replace(part, text=_MARK + part.text, pinned=True) for part in marked_parts]
    kept = fit_parts(parts[: options.limit], budget)
    memories = tuple(memory for part in kept for memory in part.memories)
    if budget is not None:
        budget = max(budget - sum(count_tokens(f"\n{part.text}") for part in kept), 0)
    return kept, replace(context, pinned=memories, options=replace(options, budget=budget))
