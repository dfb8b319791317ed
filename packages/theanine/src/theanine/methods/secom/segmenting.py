"""Divide a session into the pieces that become memories, as the settings say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from theanine.embeddings.base import Embedder
from theanine.errors import UnusableReply
from theanine.methods.secom.ask_segments import SEGMENT, SEGMENT_GUIDED, ask_segments
from theanine.methods.secom.config import SecomConfig
from theanine.segmentation.exchanges import exchanges
from theanine.segmentation.local import load_weights, segment_locally, with_expected_length
from theanine.segmentation.segments import Span, exchange_starts, fixed_length_spans, spans_of
from theanine.types import LOCAL_MODEL, Turn

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat


@dataclass(frozen=True, slots=True, kw_only=True)
class Divided:
    """A session's pieces, and who drew them.

    Attributes:
        spans: they tile the session's turns.
        made_by: the model, or ``local``.
        prompt: what the model was asked with; with ``local`` as maker it answered unusably, and
            the local segmenter took its place.
    """

    spans: Sequence[Span]
    made_by: str = LOCAL_MODEL
    prompt: str = ""

    @property
    def fell_back(self) -> bool:
        """Whether the local segmenter took the model's place."""
        return bool(self.prompt) and self.made_by == LOCAL_MODEL


async def divide(
    turns: Sequence[Turn],
    caller: ScopedChat | None,
    embedder: Embedder,
    config: SecomConfig,
    guidance: str = "",
) -> Divided:
    """The pieces of one session. Raises ModelError when the model fails, not when it only errs."""
    if config.granularity == "turn":
        return Divided(spans=fixed_length_spans(1, len(turns)))
    if config.granularity == "exchange":
        return Divided(spans=spans_of([len(one) for one in exchanges(turns)]))
    if config.granularity == "session" or len(turns) < 2:
        return Divided(spans=spans_of([len(turns)] if turns else []))
    if config.segmenter.startswith("every:"):
        return Divided(
            spans=fixed_length_spans(int(config.segmenter.removeprefix("every:")), len(turns))
        )
    if config.segmenter == "local" or caller is None:
        return Divided(spans=await divide_locally(turns, embedder, config.segment_turns))
    label = SEGMENT_GUIDED.label if guidance else SEGMENT.label
    try:
        spans = await ask_segments(
            turns, caller, guidance=guidance, touches={turn.session for turn in turns}
        )
    except UnusableReply:
        spans = await divide_locally(turns, embedder, config.segment_turns)
        return Divided(spans=spans, made_by=LOCAL_MODEL, prompt=label)
    return Divided(spans=spans, made_by=caller.model, prompt=label)


async def divide_locally(
    turns: Sequence[Turn], embedder: Embedder, segment_turns: int | None = None
) -> list[Span]:
    """By the local segmenter; no exchange is parted."""
    texts = [turn.full_text for turn in turns]
    weights = (
        with_expected_length(segment_turns, load_weights()) if segment_turns else load_weights()
    )
    return segment_locally(texts, await embedder.embed(texts), exchange_starts(turns), weights)
