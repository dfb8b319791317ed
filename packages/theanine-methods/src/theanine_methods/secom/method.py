"""SeCom: keep each topic of a session as one memory, indexed by a denoised copy.

Source: Pan et al., "On Memory Construction and Retrieval for Personalized Conversational Agents"
(SeCom, 2025). After a session, segment it by topic (section 2.2) and index a denoised copy of each
segment (section 2.3). Before a reply, retrieve segments and return them verbatim in time order.

Differences from the paper; ``SecomConfig.paper()`` sets its values for the last three:

- Sessions between peers are divided between turns, others between exchanges.
- The model sees only the beginning of a very long turn, and answers with one JSON object.
- Words are dropped by self-information, as LLMLingua-2 needs a model that is not bundled.
- Retrieval is hybrid, and the best segments are reranked by their single turns.
- Where a token budget cuts, segments come with their best turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from theanine.methods.base import Context, Estimate
from theanine.methods.shared.estimates import count_prompt_tokens, count_turn_tokens
from theanine.methods.shared.memories import make_memory, with_vectors
from theanine.methods.shared.method_base import MethodBase
from theanine.methods.shared.recall import make_part, pack, query_text, retrieve, search_depth
from theanine.text.formatting import format_dated_turns
from theanine.tokenizer import count_tokens
from theanine.types import (
    ImportedMemory,
    Memory,
    MemoryBatch,
    NewMemory,
    Recollection,
    Session,
    Turn,
    Utterance,
)
from theanine_methods.denoising import check_denoising
from theanine_methods.secom.ask_segments import (
    SEGMENT,
    SEGMENT_GUIDED,
    split_into_blocks,
    split_into_windows,
)
from theanine_methods.secom.config import SecomConfig
from theanine_methods.secom.guidance import read_guidance
from theanine_methods.secom.packing import best_turns
from theanine_methods.secom.segmenting import Division, divide, trained_folder
from theanine_methods.secom.turn_rerank import TurnReranker
from theanine_methods.segmentation.trained import check_segmenter
from theanine_methods.shared.excerpts import denoised_dialogue

_TOKENS_PER_SEGMENT = 14
_TURNS_PER_SEGMENT = 5

FELL_BACK = "no reply of the model divided the session; the local segmenter did"


class Secom(MethodBase[SecomConfig]):
    """SeCom in its steps."""

    name = "secom"
    Config = SecomConfig

    def __init__(self, config: SecomConfig | None = None) -> None:
        """Raise BadInput for an unreadable guidance file.

        Raises as ``check_denoising`` and ``check_segmenter`` do, too.
        """
        super().__init__(config)
        check_denoising(self.config.denoise, self.config.llmlingua_model)
        if folder := trained_folder(self.config):
            check_segmenter(folder)
        guidance = self.config.guidance
        self.guidance = read_guidance(Path(guidance)).text if guidance else ""
        self._reranker = TurnReranker()

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Return one call for each window of the session if the model segments it."""
        config = self.config
        blocks = split_into_blocks(turns)
        if config.granularity != "segment" or config.segmenter != "llm" or len(blocks) < 2:
            return Estimate()
        calls = len(split_into_windows([block.cost for block in blocks]))
        step = SEGMENT_GUIDED if self.guidance else SEGMENT
        prompt_tokens = count_prompt_tokens(step) + count_tokens(self.guidance)
        thirds = 4 if calls > 1 else 3  # windows overlap by a third
        return Estimate(
            calls=calls,
            input_tokens=calls * prompt_tokens + count_turn_tokens(turns) * thirds // 3,
            output_tokens=_TOKENS_PER_SEGMENT * (len(turns) // _TURNS_PER_SEGMENT + calls),
        )

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        imported: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Make a memory of every segment; imported memories are not used."""
        division = await divide(turns, context.chat, self.config, self.guidance)
        segments = [turns[first : last + 1] for first, last in division.spans]
        memories = [
            await self._memory(segment, division)
            for segment in segments
            if any(turn.full_text.strip() for turn in segment)
        ]
        notes = [FELL_BACK] if division.fell_back else []
        return await with_vectors(MemoryBatch(memories=memories, notes=notes), context)

    async def _memory(self, segment: Sequence[Turn], division: Division) -> NewMemory:
        config = self.config
        return make_memory(
            await denoised_dialogue(segment, config),
            segment,
            kind=config.granularity,
            made_by=division.made_by,
            prompt=division.prompt,
        )

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Return the best segments in time order, within the budget."""
        query = query_text(dialogue, self.config.query_turns, names=self.config.query_names)
        budget = context.token_budget(self.config.budget)
        parts = [
            make_part(memory, score, format_dated_turns(turns), turns)
            for memory, score, turns in await self._segments(query, dialogue, budget, context)
        ]
        return pack(query, parts, budget)

    async def _segments(
        self, query: str, dialogue: Sequence[Utterance], budget: int | None, context: Context
    ) -> Sequence[tuple[Memory, float, Sequence[Turn]]]:
        """Return segments, best first, with their scores and the turns to return of each."""
        config = self.config
        # A configured reranker already reads the segments' texts closely.
        depth = 0 if context.reranking else config.close_look
        limit = search_depth(config.retrieved, budget)
        ranked = await retrieve(query, dialogue, max(limit, depth), context, config.retrieval)
        if depth and ranked:
            reranked = await self._reranker.rerank(
                ranked[:depth], query, dialogue, context, config.retrieval
            )
            if budget is not None and not config.whole:
                return best_turns(reranked, budget)
            lowest = reranked[-1].score
            rest = [(memory, lowest - n) for n, (memory, _) in enumerate(ranked[depth:], 1)]
            ranked = [(segment.memory, segment.score) for segment in reranked] + rest
        return [
            (memory, score, await context.index.turns(memory.source_turns))
            for memory, score in ranked[:limit]
        ]
