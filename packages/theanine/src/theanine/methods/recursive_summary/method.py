"""Recursive summary: after each session a summary made of the one before and of what was said.

Source: Wang et al., "Recursively Summarizing Enables Long-Term Dialogue Memory in Large Language
Models" (LLM-Rsum): memory management (section 3.2.1), response (3.2.2), demonstrations (6.3),
utterances as local memory beside the summary (6.4).

Differences from the paper: each sentence of the summary names the turns and the earlier sentences
that it rests on, and one that still holds is named by its number instead of written again, which
costs less and keeps it from drifting. So every sentence is a memory of its own, and the summary
after a session is what was live then. Sentences show the day of their last source. A session that
passes one prompt is taken in window by window. With a token budget the sentences that fit the
dialogue best are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.base import Context, Estimate, Reply
from theanine.methods.recursive_summary.config import RecursiveSummaryConfig
from theanine.methods.recursive_summary.few_shot import respond_few_shot
from theanine.methods.shared.provenance import sessions_behind
from theanine.methods.shared.retrieve import query_of, reply, retrieve
from theanine.methods.shared.running_summary import (
    bring_up_to_date,
    sentence_parts,
    summary_estimate,
)
from theanine.methods.shared.statements import embedded
from theanine.methods.shared.utterances import UTTERANCE, utterances_of
from theanine.retrieval.budget import within
from theanine.text.formatting import spoken, when
from theanine.types import (
    GivenMemory,
    NewMemory,
    Part,
    Recollection,
    Remembered,
    Session,
    Turn,
    Utterance,
)


class RecursiveSummary:
    """Keeps one summary of all sessions, sentence by sentence, and every earlier state of it."""

    name = "recursive-summary"
    Config = RecursiveSummaryConfig

    def __init__(self, config: RecursiveSummaryConfig | None = None) -> None:
        self.config = config or RecursiveSummaryConfig()

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[GivenMemory],
        context: Context,
    ) -> Remembered:
        """M_i from M_{i-1} and the session; what it takes the place of is marked superseded."""
        memories, marks = await bring_up_to_date(
            session, turns, given, context, most=self.config.sentences
        )
        if self.config.utterances:
            memories += utterances_of(turns)
        return Remembered(memories=memories, vectors=await _vectors(memories, context), marks=marks)

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """One call a session, or one for each window of a very long one."""
        return summary_estimate(turns, self.config.sentences)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """The summary as it stands, in time order, then the utterances that fit, in time order."""
        query = query_of(dialogue, self.config.query_turns)
        parts = await sentence_parts(query, dialogue, context)
        parts += await self._said(query, dialogue, context)
        budget = context.room(self.config.budget)
        kept = within([(part, part.text) for part in parts], budget)
        kept.sort(key=lambda part: (part.memories[0].kind == UTTERANCE, part.memories[0].order))
        return Recollection(query=query, parts=tuple(kept))

    async def respond(
        self,
        dialogue: Sequence[Utterance],
        recollection: Recollection,
        speaker: str,
        context: Context,
    ) -> Reply:
        """Reply from the dialogue and the summary, after demonstrations where they are set."""
        if context.chat is None or not self.config.demonstrations:
            return await reply(dialogue, recollection, speaker, context)
        return await respond_few_shot(
            dialogue,
            recollection,
            speaker,
            context.chat,
            examples=self.config.demonstrations,
            touches=sessions_behind(recollection.memories, context.view),
        )

    async def _said(
        self, query: str, dialogue: Sequence[Utterance], context: Context
    ) -> list[Part]:
        """The past utterances that fit best: the local memory beside the global one."""
        view = context.view
        if not self.config.utterances:
            return []
        found = await retrieve(
            query,
            dialogue,
            self.config.utterances,
            context,
            self.config.retrieval,
            kinds=[UTTERANCE],
        )
        parts: list[Part] = []
        for memory, score in found:
            turns = tuple(await view.turns(memory.sources))
            text = when(memory.at, memory.session, view.undated) + " ".join(map(spoken, turns))
            parts.append(Part(text=text, memories=(memory,), sources=turns, score=score))
        return parts


async def _vectors(memories: Sequence[NewMemory], context: Context) -> object:
    return await embedded(memories, context) if memories else None
