"""Summary buffer: the last turns as they were said, and a running summary of all before them.

Source: the system "SumMem" of SeCom (section 3), which names no figures; the library that it cites
keeps 2,000 tokens verbatim.

Differences: what leaves the buffer is folded in when a session ends, not in the middle of it. The
summary is that of LLM-Rsum: sentence by sentence, each with the turns behind it, every earlier
state kept. All of it is recalled; where a budget cuts, the buffer has at least half, newest first,
and of the summary the sentences that fit the dialogue best are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from theanine.embeddings.wordllama import count_tokens
from theanine.methods.base import Context, Estimate
from theanine.methods.shared.retrieve import Replying, query_of, retrieve
from theanine.methods.shared.running_summary import (
    bring_up_to_date,
    sentence_parts,
    summary_estimate,
)
from theanine.methods.shared.statements import embedded
from theanine.methods.shared.utterances import UTTERANCE, utterances_of
from theanine.methods.summary_buffer.config import SummaryBufferConfig
from theanine.retrieval.budget import leading, within
from theanine.retrieval.scope_index import View
from theanine.text.formatting import dated_lines, spoken
from theanine.types import (
    GivenMemory,
    Memory,
    NewMark,
    NewMemory,
    Part,
    Recollection,
    Remembered,
    Session,
    Turn,
    Utterance,
)


class SummaryBuffer(Replying):
    """Keeps the last turns verbatim, and a summary of what has left that buffer."""

    name = "summary-buffer"
    Config = SummaryBufferConfig

    def __init__(self, config: SummaryBufferConfig | None = None) -> None:
        self.config = config or SummaryBufferConfig()

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[GivenMemory],
        context: Context,
    ) -> Remembered:
        """The session's turns go into the buffer; what no longer fits goes into the summary.

        Ready-made memories, where there are any, become sentences of the summary as they are.
        """
        view = context.view
        held = [] if given else _buffered(view)
        said = [] if given else [turn for turn in turns if turn.words.strip()]
        known = await view.turns([memory.sources[0] for memory in held])
        leaving, staying = self._parted([*known, *said])
        gone = {turn.id for turn in leaving}
        left = [memory for memory in held if memory.sources[0] in gone]
        memories, marks = await bring_up_to_date(
            session, leaving, given, context, most=self.config.sentences, beside=left
        )
        marks += [_left(memory, memories) for memory in left]
        new = {turn.id for turn in said}
        memories += utterances_of([turn for turn in staying if turn.id in new])
        vectors = await embedded(memories, context) if memories else None
        return Remembered(memories=memories, vectors=vectors, marks=marks)

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """As many turns leave the buffer as come into it, once it is full."""
        return summary_estimate(turns, self.config.sentences)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """The summary, in time order, then the buffer, in time order, a part a session."""
        query = query_of(dialogue, self.config.query_turns)
        sentences = await sentence_parts(query, dialogue, context)
        said = await _verbatim(query, dialogue, context)
        budget = context.room(self.config.budget)
        if budget is not None:
            room = max(budget // 2, budget - _cost(sentences))
            said = leading(((part, part.text) for part in said), room)
            sentences = within([(part, part.text) for part in sentences], budget - _cost(said))
        sentences.sort(key=lambda part: part.memories[0].order)
        return Recollection(query=query, parts=(*sentences, *_by_session(said, context.view)))

    def _parted(self, turns: Sequence[Turn]) -> tuple[list[Turn], list[Turn]]:
        """What leaves the buffer and what stays in it, both in time order."""
        ordered = sorted(turns, key=lambda turn: (turn.at, turn.id))
        room = self.config.buffer
        if self.config.unit == "turns":
            stays = min(room, len(ordered))
        else:
            newest = ((turn, f"\n{spoken(turn)}") for turn in reversed(ordered))
            stays = len(leading(newest, room))
        first = len(ordered) - stays
        return ordered[:first], ordered[first:]


def _buffered(view: View) -> list[Memory]:
    """What is in the buffer, in time order."""
    mask = view.live_of(UTTERANCE)
    found = [memory for memory, held in zip(view.memories, mask, strict=True) if held]
    return sorted(found, key=lambda memory: memory.order)


def _left(memory: Memory, made: Sequence[NewMemory]) -> NewMark:
    """Marks a turn that left the buffer, by the first sentence that rests on it."""
    by = next((i for i, one in enumerate(made) if memory.sources[0] in one.sources), None)
    return NewMark(memory=memory.id, kind="superseded", by=by, reason="it left the buffer")


async def _verbatim(query: str, dialogue: Sequence[Utterance], context: Context) -> list[Part]:
    """A part for each turn in the buffer, the newest first."""
    view = context.view
    most = len(_buffered(view))
    found = await retrieve(query, dialogue, most, context, "hybrid", kinds=[UTTERANCE])
    scores = {memory.id: score for memory, score in found}
    parts: list[Part] = []
    for memory in reversed(_buffered(view)):
        turns = tuple(await view.turns(memory.sources))
        parts.append(
            Part(
                text=dated_lines(turns, view.undated),
                memories=(memory,),
                sources=turns,
                score=scores.get(memory.id, 0.0),
            )
        )
    return parts


def _by_session(parts: Sequence[Part], view: View) -> list[Part]:
    """One part for all turns of a session, in time order."""
    joined: list[Part] = []
    for _, run in groupby(reversed(parts), key=lambda part: part.sources[0].session):
        several = list(run)
        turns = tuple(turn for part in several for turn in part.sources)
        joined.append(
            Part(
                text=dated_lines(turns, view.undated),
                memories=tuple(memory for part in several for memory in part.memories),
                sources=turns,
                score=max(part.score for part in several),
            )
        )
    return joined


def _cost(parts: Sequence[Part]) -> int:
    return sum(count_tokens(f"\n{part.text}\n") for part in parts)
