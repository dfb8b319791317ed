"""SeCom: keep each topic of a session as one memory, found by a denoised copy of it.

Source: Pan et al., "On Memory Construction and Retrieval for Personalized Conversational Agents"
(SeCom, 2025). After a session: segment it by topic (section 2.2), denoise a copy of each segment
for the index (section 2.3). Before a reply: retrieve segments, and give them back raw, in time
order.

Differences from the paper: a session is divided between peers' turns as well as between exchanges;
of a very long turn the model that segments sees the beginning; the answer is one JSON object. By
default words are dropped by self-information, as LLMLingua-2 needs a model that is not bundled;
retrieval is hybrid; the best segments are looked at turn by turn, and where a token budget cuts,
segments come with the turns that fit best (``whole=True`` and ``close_look=0``: the paper's way).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from theanine.methods.base import Context, Estimate
from theanine.methods.secom.ask_segments import (
    SEGMENT,
    SEGMENT_GUIDED,
    blocks_of,
    windows_over,
)
from theanine.methods.secom.close_look import CloseLook
from theanine.methods.secom.config import SecomConfig
from theanine.methods.secom.guidance import read_guidance
from theanine.methods.secom.packing import best_turns
from theanine.methods.secom.segmenting import Divided, divide
from theanine.methods.shared.estimates import count_prompt_tokens, count_turn_tokens
from theanine.methods.shared.recall import query_text, retrieve, search_depth
from theanine.methods.shared.respond import ReplyMixin
from theanine.methods.shared.statements import embed_memories
from theanine.retrieval.budget import fit_budget
from theanine.text.denoising.denoise import check_denoising, denoise
from theanine.text.formatting import format_dated_turns, format_speaker, one_line
from theanine.tokenizer import count_tokens
from theanine.types import (
    LOCAL_MODEL,
    ImportedMemory,
    Memory,
    MemoryBatch,
    NewMemory,
    Part,
    Recollection,
    Session,
    Turn,
    Utterance,
)

_TOKENS_A_SEGMENT = 14
_TURNS_A_SEGMENT = 5

Found = tuple[Memory, float, Sequence[Turn]]
"""A segment, its score, and those of its turns that are given back."""


FELL_BACK = "no reply of the model divided the session; the local segmenter did"


class Secom(ReplyMixin):
    """The method, in its steps."""

    name = "secom"
    Config = SecomConfig

    def __init__(self, config: SecomConfig | None = None) -> None:
        """Raises BadInput for a guidance file that can't be read, and as ``check_denoising``."""
        self.config = config or SecomConfig()
        check_denoising(self.config.denoise, self.config.llmlingua_model)
        guidance = self.config.guidance
        self.guidance = read_guidance(Path(guidance)).text if guidance else ""
        self._look = CloseLook()

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """A call for each window of the session, where a model segments."""
        config = self.config
        blocks = blocks_of(turns)
        if config.granularity != "segment" or config.segmenter != "llm" or len(blocks) < 2:
            return Estimate()
        calls = len(windows_over([block.cost for block in blocks]))
        step = SEGMENT_GUIDED if self.guidance else SEGMENT
        each = count_prompt_tokens(step) + count_tokens(self.guidance)
        return Estimate(
            calls=calls,
            input_tokens=calls * each + count_turn_tokens(turns) * (4 if calls > 1 else 3) // 3,
            output_tokens=_TOKENS_A_SEGMENT * (len(turns) // _TURNS_A_SEGMENT + calls),
        )

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Every segment of the session becomes a memory; ready-made memories are not needed."""
        divided = await divide(turns, context.chat, context.embedder, self.config, self.guidance)
        pieces = [turns[first : last + 1] for first, last in divided.spans]
        memories = [
            await self._memory(piece, divided)
            for piece in pieces
            if any(turn.full_text.strip() for turn in piece)
        ]
        notes = [FELL_BACK] if divided.fell_back else []
        return MemoryBatch(
            memories=memories, vectors=await embed_memories(memories, context), notes=notes
        )

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """The segments that fit the dialogue best, in time order, within the budget."""
        query = query_text(dialogue, self.config.query_turns)
        budget = context.token_budget(self.config.budget)
        found = await self._found(query, dialogue, budget, context)
        parts = [
            Part(
                text=format_dated_turns(turns),
                memories=(memory,),
                source_turns=tuple(turns),
                score=score,
            )
            for memory, score, turns in found
        ]
        kept = fit_budget([(part, part.text) for part in parts], budget)
        kept.sort(key=lambda part: part.memories[0].order)
        return Recollection(query=query, parts=tuple(kept))

    async def _memory(self, piece: Sequence[Turn], divided: Divided) -> NewMemory:
        config = self.config
        said = [one_line(turn.full_text) for turn in piece]
        kept = await denoise(said, config.denoise, config.rate, config.llmlingua_model)
        lines = [
            f"{format_speaker(t.speaker)}: {text}" for t, text in zip(piece, kept, strict=True)
        ]
        return NewMemory(
            text="\n".join(lines),
            at=piece[-1].at,
            source_turns=tuple(turn.id for turn in piece),
            speakers=tuple(dict.fromkeys(turn.speaker for turn in piece)),
            kind=config.granularity,
            made_by=divided.made_by,
            prompt=divided.prompt,
        )

    async def _found(
        self, query: str, dialogue: Sequence[Utterance], budget: int | None, context: Context
    ) -> list[Found]:
        """The segments, best first, with the turns to give back of each."""
        config = self.config
        close = 0 if context.reranking else config.close_look  # a reranker reads closely itself
        limit = search_depth(config.retrieved, budget)
        found = await retrieve(query, dialogue, max(limit, close), context, config.retrieval)
        if not close or not found:
            return await _whole(found[:limit], context)
        looked = await self._look.at(found[:close], query, dialogue, context, config.retrieval)
        if budget is not None and not config.whole:
            return list(best_turns(looked, budget))
        lowest = looked[-1].score
        rest = [(memory, lowest - place) for place, (memory, _) in enumerate(found[close:], 1)]
        seen = [(one.memory, one.score) for one in looked]
        return await _whole((seen + rest)[:limit], context)


async def _whole(found: Sequence[tuple[Memory, float]], context: Context) -> list[Found]:
    return [
        (memory, score, await context.index.turns(memory.source_turns)) for memory, score in found
    ]


def fallbacks(memories: Iterable[Memory]) -> int:
    """In how many sessions the local segmenter took the model's place, its replies unusable."""
    return len({one.session for one in memories if one.prompt and one.made_by == LOCAL_MODEL})
