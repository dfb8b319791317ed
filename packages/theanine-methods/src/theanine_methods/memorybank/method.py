"""MemoryBank: exchanges, digests day by day, a portrait, and memories that fade.

Source: Zhong et al., "MemoryBank: Enhancing Large Language Models with Long-Term Memory" (AAAI
2024): daily summaries of events and of personality, a global summary of each, retrieval of pieces
of conversation, and forgetting after Ebbinghaus.

Differences from the paper:

- Nothing is erased. A faded memory ranks lower, where MemoryBank deletes at random; strength has no
  upper bound. A new digest supersedes the previous one, which stays.
- The portrait is of everyone who speaks as user, and itself says how to talk with them.
- A global digest is made from the newest ``days`` daily digests and, for earlier days, from the
  previous global digest, so that its cost stays constant.
- A session without dates is a day of its own, and does not fade.
- Forgetting is off by default: without recalls it only ranks by age, which loses evidence
  (``docs/methods/memorybank.md``).
"""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.base import Context, Estimate
from theanine.methods.shared.estimates import count_prompt_tokens, count_turn_tokens
from theanine.methods.shared.memories import excerpt_memories, with_vectors
from theanine.methods.shared.method_base import MethodBase
from theanine.methods.shared.recall import live_by_time, make_part, pack, query_text, retrieve
from theanine.methods.shared.statements import summarize_session
from theanine.text.formatting import format_dated_turns, format_memory, one_line
from theanine.text.numbering import split_windows
from theanine.types import (
    LOCAL_MODEL,
    STATEMENT,
    ImportedMemory,
    Memory,
    MemoryBatch,
    NewMark,
    Part,
    Recollection,
    Session,
    Turn,
    Utterance,
)
from theanine_methods.memorybank.config import MemoryBankConfig
from theanine_methods.memorybank.diary import SERIES, update_digests
from theanine_methods.memorybank.digest import DAY
from theanine_methods.memorybank.kinds import DAY_EVENTS, EVENTS, EXCHANGE, PORTRAIT, quoted_turns
from theanine_methods.memorybank.retention import retained
from theanine_methods.segmentation import exchanges

CANDIDATES_PER_MEMORY = 10
"""With forgetting, this many times ``retrieved`` memories are ranked by retention."""
GLOBAL_DIGEST_SCORE = -1.0
"""Score of the global digests, below all others: they are returned for any query."""
_HEADINGS = {EVENTS: "So far:", PORTRAIT: "What they are like:"}
_DAY_TOKENS = 200
"""Estimated tokens of a day's events, or of its traits."""
_GLOBAL_TOKENS = 200
"""Estimated tokens of a global digest."""


class MemoryBank(MethodBase[MemoryBankConfig]):
    """The method."""

    name = "memorybank"
    Config = MemoryBankConfig

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        imported: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Keep every exchange, and update the digests; imported memories are kept as well."""
        memories = excerpt_memories(exchanges(turns), EXCHANGE)
        marks: list[NewMark] = []
        if memories:
            exchange_count = len(memories)
            for update in await update_digests(session, turns, context, self.config):
                marks += update.append_to(memories, exchange_count)
        if imported:
            memories += await summarize_session(session, turns, imported, context)
        return await with_vectors(MemoryBatch(memories=memories, marks=marks), context)

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Estimate a session with a quarter of ``days`` days before it."""
        windows = len(split_windows(turns))
        if not windows:
            return Estimate()
        page_tokens = len(SERIES) * _DAY_TOKENS
        total = Estimate(
            calls=windows,
            input_tokens=windows * count_prompt_tokens(DAY)
            + count_turn_tokens(turns)
            + (windows - 1) * page_tokens,
            output_tokens=windows * page_tokens,
        )
        for series in SERIES if self.config.personality else SERIES[:1]:
            total += Estimate(
                calls=1,
                input_tokens=count_prompt_tokens(series.global_prompt)
                + (self.config.days + 3) // 4 * _DAY_TOKENS,
                output_tokens=_GLOBAL_TOKENS,
            )
        return total

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Return the global digests, and the best other memories in time order.

        A budget is spent on the other memories first, best first, and then on the digests.
        """
        query = query_text(dialogue, self.config.query_turns, names=self.config.query_names)
        ranked = await self._rank(query, dialogue, context)
        parts = [await _part(memory, score, context) for memory, score in ranked]
        kinds = (EVENTS, PORTRAIT) if self.config.personality else (EVENTS,)
        for kind in kinds:
            for memory in live_by_time(context.index, kind)[-1:]:
                parts.append(await _part(memory, GLOBAL_DIGEST_SCORE, context))
        return pack(query, parts, context.token_budget(self.config.budget), _position)

    async def _rank(
        self, query: str, dialogue: Sequence[Utterance], context: Context
    ) -> list[tuple[Memory, float]]:
        """Return the best memories, scored 0 to 1: relevance, times retention with forgetting."""
        config = self.config
        k = config.retrieved * (CANDIDATES_PER_MEMORY if config.forgetting else 1)
        kinds = (EXCHANGE, DAY_EVENTS, STATEMENT)
        ranked = _normalize(
            await retrieve(query, dialogue, k, context, config.retrieval, kinds=kinds)
        )
        if not config.forgetting or not ranked:
            return ranked
        recalls, now = await context.index.recall_times(), context.asked_at(dialogue)
        faded: list[tuple[Memory, float, float]] = []
        for memory, relevance in ranked:
            recalled_at = recalls.get(memory.id, ())
            retention = retained(memory.at, recalled_at, now) if memory.dated else 1.0
            faded.append((memory, relevance * retention, relevance))
        faded.sort(key=lambda item: (item[1], item[2], item[0].id), reverse=True)
        return [(memory, score) for memory, score, _ in faded[: config.retrieved]]


def _normalize(ranked: Sequence[tuple[Memory, float]]) -> list[tuple[Memory, float]]:
    """Scale scores to 0 for the lowest and 1 for the highest."""
    if not ranked:
        return []
    scores = [score for _, score in ranked]
    low, span = min(scores), max(scores) - min(scores)
    return [(memory, (score - low) / span if span > 0 else 1.0) for memory, score in ranked]


async def _part(memory: Memory, score: float, context: Context) -> Part:
    """Make a part of an exchange, a digest or an imported memory."""
    turns = await context.index.turns(quoted_turns(memory, context.index))
    if memory.kind in _HEADINGS:
        text = f"{_HEADINGS[memory.kind]} {one_line(memory.text)}"
    else:
        text = format_dated_turns(turns) if memory.kind == EXCHANGE else format_memory(memory)
    made_by = LOCAL_MODEL if memory.kind in (EXCHANGE, STATEMENT) else memory.made_by
    return make_part(memory, score, text, turns, made_by)


def _position(memory: Memory) -> tuple[bool, str, object]:
    """Sort the global digests first, then the other memories by time."""
    is_global = memory.kind in _HEADINGS
    return (not is_global, memory.kind if is_global else "", memory.order)
