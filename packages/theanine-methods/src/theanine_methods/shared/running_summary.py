"""A running summary kept as memories: its update after a session, and its parts in a recall.

Each sentence is a memory. An unchanged sentence stays the memory that it was; one that a newer
sentence includes, that the model names as outdated, or that it leaves out where it may, is marked
superseded. So the current summary is the live sentences, and every earlier state stays readable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from theanine.llm.prompt import PromptTemplate
from theanine.methods.base import Context, Estimate
from theanine.methods.shared.estimates import count_prompt_tokens, count_turn_tokens
from theanine.methods.shared.provenance import source_sessions
from theanine.methods.shared.recall import live_by_time, make_part, retrieve
from theanine.methods.shared.statements import summarize_session
from theanine.retrieval.scope_index import ScopeIndex
from theanine.summarization import drop_recalled
from theanine.text.formatting import format_memory
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
from theanine_methods.summarization import (
    REWRITE_SUMMARY,
    UPDATE_SUMMARY,
    SummarySentence,
    WholeSummary,
    update_summary,
)

_SENTENCE_TOKENS = 45
"""Estimated tokens of one sentence, in the prompt and in the reply."""
_CHANGED_SHARE = 0.5
"""Estimated share of the sentences that an update writes."""


async def update_running_summary(
    session: Session,
    turns: Sequence[Turn],
    given: Sequence[ImportedMemory],
    context: Context,
    *,
    max_sentences: int,
    rewrite: bool,
    also_from: Sequence[Memory] = (),
) -> tuple[list[NewMemory], list[NewMark]]:
    """Return the sentences that ``turns`` add, and marks on those that they supersede.

    Imported memories, if any, are added unchanged instead, and the oldest sentences make room.
    ``rewrite`` lets a model write the whole summary again. ``also_from`` are stored memories of
    some of the turns; the new sentences derive from them too. Raises ModelError when the model
    fails.
    """
    before = live_by_time(context.index, STATEMENT)
    if given:
        imported = await summarize_session(session, turns, given, context)
        room = max(max_sentences - len(imported), 0)
        superseded = before[: max(len(before) - room, 0)]
        reason = f"left out; the summary has room for {max_sentences} sentences"
        marks = _superseded_marks(superseded, [], LOCAL_MODEL, "", reason)
        return _derive(imported, before), marks
    spoken = [turn for turn in turns if turn.full_text.strip()]
    sentences = await _stored_sentences(before, context.index)
    sessions = source_sessions(before, context.index)
    for _, run in groupby(spoken, key=lambda turn: turn.dated):
        sentences = await update_summary(
            sentences,
            list(run),
            context.chat,
            max_sentences=max_sentences,
            rewrite=rewrite,
            source_sessions=sessions,
        )
    recalled = await context.index.recalled_texts(spoken)
    new = [
        sentence
        for sentence in sentences
        if sentence.id is None
        and (sentence.kept or drop_recalled([_new_memory(sentence)], spoken, recalled))
    ]
    kept = {sentence.id for sentence in sentences}
    superseded = [memory for memory in before if memory.id not in kept]
    made_by, prompt = LOCAL_MODEL, ""
    reason = f"left out; the summary has room for {max_sentences} sentences"
    if context.chat:
        made_by, prompt = context.chat.model, _step(rewrite).label
        reason = "the model left it out" if rewrite else "the model named it outdated"
    marks = _superseded_marks(superseded, new, made_by, prompt, reason)
    return _derive([_new_memory(sentence) for sentence in new], [*before, *also_from]), marks


async def summary_parts(query: str, dialogue: Sequence[Utterance], context: Context) -> list[Part]:
    """Return a part for each sentence of the summary, best first; unscored ones newest first."""
    index = context.index
    k = len(index.live_memories(STATEMENT))
    ranked = await retrieve(query, dialogue, k, context, "hybrid", kinds=[STATEMENT])
    scores = {memory.id: score for memory, score in ranked}
    memories = [memory for memory, _ in ranked]
    memories += [
        memory for memory in reversed(live_by_time(index, STATEMENT)) if memory.id not in scores
    ]
    return [
        make_part(
            memory,
            scores.get(memory.id, 0.0),
            format_memory(replace(memory, dated=await _has_date(memory, index))),
            sorted(await index.turns(memory.source_turns), key=lambda turn: (turn.at, turn.id)),
            memory.made_by,
        )
        for memory in memories
    ]


def estimate_running_summary(
    turns: Sequence[Turn], max_sentences: int, *, rewrite: bool
) -> Estimate:
    """Estimate the update of a full summary with these turns."""
    calls = len(split_windows(turns))
    summary_tokens = max_sentences * _SENTENCE_TOKENS
    written_share = 1.0 if rewrite else _CHANGED_SHARE
    return Estimate(
        calls=calls,
        input_tokens=calls * (count_prompt_tokens(_step(rewrite)) + summary_tokens)
        + count_turn_tokens(turns),
        output_tokens=round(calls * summary_tokens * written_share),
    )


async def _stored_sentences(memories: Sequence[Memory], index: ScopeIndex) -> list[SummarySentence]:
    await index.turns([turn for memory in memories for turn in memory.source_turns])  # one query
    return [
        SummarySentence(
            id=memory.id,
            text=memory.text,
            at=memory.at,
            source_turns=memory.source_turns,
            speakers=memory.speakers,
            dated=await _has_date(memory, index),
            made_by=memory.made_by,
            prompt=memory.prompt,
        )
        for memory in memories
    ]


async def _has_date(memory: Memory, index: ScopeIndex) -> bool:
    """Whether the time of a sentence, which is that of its last source turn, is a real time.

    That turn may be of an earlier session than the memory.
    """
    turns = await index.turns(memory.source_turns)
    return max(turns, key=lambda turn: (turn.at, turn.id)).dated if turns else memory.dated


def _new_memory(sentence: SummarySentence) -> NewMemory:
    return NewMemory(
        text=sentence.text,
        at=sentence.at,
        source_turns=sentence.source_turns,
        speakers=sentence.speakers,
        made_by=sentence.made_by,
        prompt=sentence.prompt,
    )


def _derive(memories: Sequence[NewMemory], before: Sequence[Memory]) -> list[NewMemory]:
    """Derive each memory from the whole summary before, which the model had in its prompt."""
    derived_from = tuple(memory.id for memory in before)
    return [replace(memory, derived_from=derived_from) for memory in memories]


def _step(rewrite: bool) -> PromptTemplate[WholeSummary]:
    return REWRITE_SUMMARY if rewrite else UPDATE_SUMMARY


def _superseded_marks(
    memories: Sequence[Memory],
    new: Sequence[SummarySentence],
    made_by: str,
    prompt: str,
    left_out: str,
) -> list[NewMark]:
    """Mark each memory by the new sentence that includes it, or with the reason ``left_out``."""
    marks: list[NewMark] = []
    for memory in memories:
        by = next((i for i, sentence in enumerate(new) if memory.id in sentence.kept), None)
        marks.append(
            NewMark(
                memory=memory.id,
                kind="superseded",
                by=by,
                reason=left_out if by is None else "a newer sentence takes it up",
                made_by=made_by,
                prompt=prompt,
            )
        )
    return marks
