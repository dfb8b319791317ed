"""Divide a session into the units that become memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import to_thread

from theanine.errors import UnusableReply
from theanine.types import LOCAL_MODEL, Turn
from theanine_methods.secom.ask_segments import SEGMENT, SEGMENT_GUIDED, ask_segments
from theanine_methods.secom.config import SecomConfig
from theanine_methods.segmentation import (
    Span,
    exchange_starts,
    exchanges,
    fixed_length_spans,
    load_weights,
    segment_locally,
    spans_of,
    with_expected_length,
)
from theanine_methods.segmentation.trained import segment_by_classifier

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """A session's units, and who divided it.

    Attributes:
        spans: the units; they tile the session's turns.
        made_by: the model, or ``local``.
        prompt: the prompt that the model was asked with. If ``made_by`` is ``local``, its replies
            were unusable and the local segmenter was used instead.
    """

    spans: Sequence[Span]
    made_by: str = LOCAL_MODEL
    prompt: str = ""

    @property
    def fell_back(self) -> bool:
        """Whether the local segmenter replaced the model."""
        return bool(self.prompt) and self.made_by == LOCAL_MODEL


async def divide(
    turns: Sequence[Turn],
    chat: ScopedChat | None,
    config: SecomConfig,
    guidance: str = "",
) -> Division:
    """Divide a session as the settings say.

    Raises ModelError when the model fails; unusable replies are no failure.
    """
    if config.granularity == "turn":
        return Division(spans=fixed_length_spans(1, len(turns)))
    if config.granularity == "exchange":
        return Division(spans=spans_of([len(exchange) for exchange in exchanges(turns)]))
    if config.granularity == "session" or len(turns) < 2:
        return Division(spans=spans_of([len(turns)] if turns else []))
    if config.segmenter.startswith("every:"):
        size = int(config.segmenter.removeprefix("every:"))
        return Division(spans=fixed_length_spans(size, len(turns)))
    if folder := trained_folder(config):
        texts = [turn.full_text for turn in turns]
        spans = await to_thread.run_sync(
            segment_by_classifier, texts, folder, exchange_starts(turns)
        )
        return Division(spans=spans)
    if config.segmenter == "local" or chat is None:
        return Division(spans=await divide_locally(turns, config.segment_turns))
    label = SEGMENT_GUIDED.label if guidance else SEGMENT.label
    try:
        spans = await ask_segments(
            turns, chat, guidance=guidance, source_sessions={turn.session for turn in turns}
        )
    except UnusableReply:
        spans = await divide_locally(turns, config.segment_turns)
        return Division(spans=spans, made_by=LOCAL_MODEL, prompt=label)
    return Division(spans=spans, made_by=chat.model, prompt=label)


def trained_folder(config: SecomConfig) -> str:
    """Return the folder of the trained segmenter; empty if there is none."""
    kind, _, folder = config.segmenter.partition(":")
    return folder if kind == "trained" else ""


async def divide_locally(turns: Sequence[Turn], segment_turns: int | None = None) -> list[Span]:
    """Divide a session by the local segmenter without splitting an exchange."""
    texts = [turn.full_text for turn in turns]
    weights = load_weights()
    if segment_turns:
        weights = with_expected_length(segment_turns, weights)
    return await to_thread.run_sync(segment_locally, texts, None, exchange_starts(turns), weights)
