"""What methods with a running summary share: the summary as it stands, what changes, what is told.

A summary is kept sentence by sentence. A sentence that stays as it is stays the memory that it was;
one that is taken up or left out is marked superseded, never removed. So the summary after any
session is what was live then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from theanine.methods.base import Context, Estimate
from theanine.methods.shared.estimates import count_prompt_tokens, count_turn_tokens
from theanine.methods.shared.provenance import source_sessions
from theanine.methods.shared.retrieve import retrieve
from theanine.methods.shared.statements import summarize_session
from theanine.retrieval.scope_index import ScopeIndex
from theanine.summarization.running_summary import Sentence
from theanine.summarization.summarize import drop_recalled
from theanine.summarization.update_summary import UPDATE_SUMMARY, update_summary
from theanine.text.formatting import format_day, one_line
from theanine.text.numbering import split_windows
from theanine.types import (
    LOCAL_MODEL,
    STATEMENT,
    ImportedMemory,
    Memory,
    NewMark,
    NewMemory,
    Part,
    Session,
    Turn,
    Utterance,
)

SENTENCE_TOKENS = 45
"""Tokens of one sentence, in the prompt and in the reply alike."""
CHANGED_A_SESSION = 0.5
"""Share of the sentences that a reply words anew; the others are named by number."""


def current_sentences(view: ScopeIndex) -> list[Memory]:
    """The summary as it stands, in time order."""
    mask = view.live_of(STATEMENT)
    found = [memory for memory, live in zip(view.memories, mask, strict=True) if live]
    return sorted(found, key=lambda memory: memory.order)


async def update_running_summary(
    session: Session,
    turns: Sequence[Turn],
    given: Sequence[ImportedMemory],
    context: Context,
    *,
    most: int,
    beside: Sequence[Memory] = (),
) -> tuple[list[NewMemory], list[NewMark]]:
    """The new sentences that these turns make, and marks on those that they take the place of.

    Ready-made memories, where there are any, become sentences as they are, and the oldest ones
    make room for them. ``beside`` are stored memories that hold some of the turns: the sentences
    are made of them as well. Raises ModelError when the model fails.
    """
    view = context.index
    before = current_sentences(view)
    if given:
        made = await summarize_session(session, turns, given, context)
        room = max(most - len(made), 0)
        gone = before[: max(len(before) - room, 0)]
        return _made_of(before, made), _marks(gone, [], LOCAL_MODEL, most)
    said = [turn for turn in turns if turn.full_text.strip()]
    after = await _sentences(before, view)
    touches = source_sessions(before, view)
    for dated, run in groupby(said, key=lambda turn: turn.session not in view.undated):
        after = await update_summary(
            after, list(run), context.chat, most=most, dated=dated, touches=touches
        )
    fresh = await _news([one for one in after if one.id is None], said, context)
    stays = {one.id for one in after}
    gone = [memory for memory in before if memory.id not in stays]
    by = context.chat.model if context.chat else LOCAL_MODEL
    memories = [_memory(one) for one in fresh]
    return _made_of([*before, *beside], memories), _marks(gone, fresh, by, most)


async def summary_parts(query: str, dialogue: Sequence[Utterance], context: Context) -> list[Part]:
    """A part for each sentence of the summary, the one that fits the dialogue best first.

    Where there is no dialogue the newest comes first.
    """
    view = context.index
    most = len(current_sentences(view))
    found = await retrieve(query, dialogue, most, context, "hybrid", kinds=[STATEMENT])
    scores = {memory.id: score for memory, score in found}
    ranked = [memory for memory, _ in found]
    ranked += [one for one in reversed(current_sentences(view)) if one.id not in scores]
    return [await _part(memory, scores.get(memory.id, 0.0), context) for memory in ranked]


def estimate_running_summary(turns: Sequence[Turn], most: int) -> Estimate:
    """What bringing a full summary up to date with these turns will about take."""
    calls = len(split_windows(turns))
    return Estimate(
        calls=calls,
        input_tokens=calls * (count_prompt_tokens(UPDATE_SUMMARY) + most * SENTENCE_TOKENS)
        + count_turn_tokens(turns),
        output_tokens=round(calls * most * SENTENCE_TOKENS * CHANGED_A_SESSION),
    )


async def _sentences(memories: Sequence[Memory], view: ScopeIndex) -> list[Sentence]:
    await view.turns([turn for memory in memories for turn in memory.source_turns])  # read at once
    return [
        Sentence(
            id=memory.id,
            text=memory.text,
            at=memory.at,
            sources=memory.source_turns,
            speakers=memory.speakers,
            dated=await _session_of(memory, view) not in view.undated,
            made_by=memory.made_by,
            prompt=memory.prompt,
        )
        for memory in memories
    ]


async def _session_of(memory: Memory, view: ScopeIndex) -> int:
    """The session that the memory's time comes from: that of its last source turn."""
    turns = await view.turns(memory.source_turns)
    return max(turns, key=lambda turn: (turn.at, turn.id)).session if turns else memory.session


async def _news(
    fresh: Sequence[Sentence], turns: Sequence[Turn], context: Context
) -> list[Sentence]:
    """Without sentences that only repeat what the agent had just been reminded of."""
    texts = await context.index.reminders(turns)
    return [one for one in fresh if one.kept or drop_recalled([_memory(one)], turns, texts)]


def _memory(sentence: Sentence) -> NewMemory:
    return NewMemory(
        text=sentence.text,
        at=sentence.at,
        source_turns=sentence.sources,
        speakers=sentence.speakers,
        made_by=sentence.made_by,
        prompt=sentence.prompt,
    )


def _made_of(before: Sequence[Memory], memories: Sequence[NewMemory]) -> list[NewMemory]:
    """Made of the whole summary before, since whoever worded them had all of it at hand."""
    origins = tuple(memory.id for memory in before)
    return [replace(memory, derived_from=origins) for memory in memories]


def _marks(
    gone: Sequence[Memory], fresh: Sequence[Sentence], made_by: str, most: int
) -> list[NewMark]:
    prompt = "" if made_by == LOCAL_MODEL else UPDATE_SUMMARY.label
    left = "the model left it out"
    if made_by == LOCAL_MODEL:
        left = f"left out; the summary has room for {most} sentences"
    marks: list[NewMark] = []
    for memory in gone:
        by = next((i for i, one in enumerate(fresh) if memory.id in one.kept), None)
        reason = left if by is None else "a newer sentence takes it up"
        mark = NewMark(
            memory=memory.id,
            kind="superseded",
            by=by,
            reason=reason,
            made_by=made_by,
            prompt=prompt,
        )
        marks.append(mark)
    return marks


async def _part(memory: Memory, score: float, context: Context) -> Part:
    view = context.index
    sources = await view.turns(memory.source_turns)
    text = one_line(memory.text)
    if memory.made_by != LOCAL_MODEL:  # a local sentence names its day itself
        text = format_day(memory.at, await _session_of(memory, view) not in view.undated) + text
    return Part(
        text=text,
        memories=(memory,),
        source_turns=tuple(sorted(sources, key=lambda turn: (turn.at, turn.id))),
        score=score,
        made_by=memory.made_by,
    )
