"""Conditional memory: record the turns that are worth it; reflect on search results.

Source: Yuan et al., "Personalized Large Language Model Assistant with Evolving Conditional Memory"
(sections 3.1 and 3.2, appendix C).

Differences from the paper:

- Decisions are made with the reply, as in the paper. Turns without such a decision (imported
  history, a second turn before one reply) are decided about after the session: in one call, or
  with ``recording="turn"`` (paper) in one for each, which shows the session up to that turn.
- Records are made after the session, by default all in one call, so that a context may also include
  later turns. One prompt asks for context and knowledge; related turns are named by number.
- Each kind of memory has its own k when several are searched.
- A reflection names the numbers of the sentences that it copies. The default retrieval is hybrid,
  over the last six turns of the dialogue. A search with no new results ends the reflection. While
  no reply of the model is usable, the results are returned as they were found, with a note.
- Imported memories are kept unchanged and searched as another kind.

``ConditionalConfig.paper()`` has the paper's settings.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from itertools import accumulate

from theanine.methods.base import Context, Estimate, Reply
from theanine.methods.shared import statements
from theanine.methods.shared.estimates import count_prompt_tokens, count_turn_tokens
from theanine.methods.shared.memories import excerpt_memories, with_vectors
from theanine.methods.shared.method_base import MethodBase
from theanine.methods.shared.provenance import source_sessions
from theanine.methods.shared.recall import make_part, pack, query_text, retrieve
from theanine.summarization import drop_recalled
from theanine.text.formatting import format_day
from theanine.text.numbering import split_windows
from theanine.types import (
    NO_MODEL_NOTICE,
    STATEMENT,
    ImportedMemory,
    Memory,
    MemoryBatch,
    NewMemory,
    Recollection,
    Session,
    Turn,
    Utterance,
)
from theanine_methods.conditional.config import CONDITIONAL, HISTORY, SUMMARY, ConditionalConfig
from theanine_methods.conditional.decide import (
    DECIDE,
    candidate_turns,
    decide,
    local_decide,
    noted_decisions,
)
from theanine_methods.conditional.record import RECORD, RECORDS_PER_CALL, record
from theanine_methods.conditional.reflect import SearchResults, search_and_reflect
from theanine_methods.conditional.reply import plain_reply, reply_and_decide
from theanine_methods.conditional.summary import SUMMARIZE_SESSION, summarize_session

_RECORD_TOKENS = 110
"""Estimated tokens of one record in a reply."""
_SUMMARY_TOKENS = 130
"""Estimated tokens of one summary."""
_NUMBER_TOKENS = 3
"""Estimated tokens of one number in a list."""


class Conditional(MethodBase[ConditionalConfig]):
    """The method, with any of the paper's three kinds of memories."""

    name = "conditional"
    Config = ConditionalConfig

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        imported: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Make the configured kinds of memories; imported ones replace summary and records."""
        kinds = self.config.kept_kinds
        memories: list[NewMemory] = []
        if HISTORY in kinds:
            spoken = [
                [turn]
                for turn in turns
                if not (turn.role == "assistant" and NO_MODEL_NOTICE in turn.text)
            ]
            recalled = await context.index.recalled_texts(turns)
            memories += drop_recalled(excerpt_memories(spoken, HISTORY), turns, recalled)
        if imported:
            memories += await statements.summarize_session(session, turns, imported, context)
        elif turns:
            if SUMMARY in kinds:
                memories += await summarize_session(turns, context.chat)
            if CONDITIONAL in kinds:
                memories += await self._records(turns, context)
        return await with_vectors(MemoryBatch(memories=memories), context)

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Estimate summary, decisions that no reply has made, and records.

        The number of records is that of noted and local decisions.
        """
        total = Estimate()
        if not any(turn.full_text.strip() for turn in turns):
            return total
        kinds = self.config.kept_kinds
        turn_tokens, calls = count_turn_tokens(turns), len(split_windows(turns))
        if SUMMARY in kinds:
            total += Estimate(
                calls=calls,
                input_tokens=calls * count_prompt_tokens(SUMMARIZE_SESSION) + turn_tokens,
                output_tokens=calls * _SUMMARY_TOKENS,
            )
        if CONDITIONAL not in kinds:
            return total
        chosen = candidate_turns(turns)
        if self.config.selection:
            noted, local = noted_decisions(turns), local_decide(turns)
            undecided = {turn.id for turn in chosen if turn.id not in noted}
            chosen = [turn for turn in chosen if noted.get(turn.id, turn.id in local)]
            if undecided:
                shown = turn_tokens
                if self.config.recording == "turn":
                    calls, shown = len(undecided), _tokens_up_to(undecided, turns)
                total += Estimate(
                    calls=calls,
                    input_tokens=calls * count_prompt_tokens(DECIDE)
                    + shown
                    + _NUMBER_TOKENS * len(undecided),
                    output_tokens=_NUMBER_TOKENS * len(chosen) + 10 * calls,
                )
        return total + self._estimate_records(turns, chosen)

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Return the best memories of each kind after reflection, in time order, in the budget."""
        reflected = await search_and_reflect(
            partial(self._search, dialogue, context),
            query_text(dialogue, self.config.query_turns, names=self.config.query_names),
            dialogue,
            context.chat,
            rounds=self.config.rounds,
            copies=self.config.copies,
            source_sessions=partial(source_sessions, index=context.index),
        )
        parts = [
            make_part(
                memory,
                score,
                format_day(memory.at, memory.dated) + text,
                await context.index.turns(memory.source_turns),
                memory.made_by,
            )
            for memory, score, text in reflected.selected
        ]
        budget = context.token_budget(self.config.budget)
        return pack(reflected.query, parts, budget, notes=reflected.notes)

    async def respond(
        self,
        dialogue: Sequence[Utterance],
        recollection: Recollection,
        speaker: str,
        context: Context,
    ) -> Reply:
        """Reply, and note with the reply whether the user's turn is worth a record."""
        respond = reply_and_decide if self.config.decides else plain_reply
        return await respond(dialogue, recollection, speaker, context, prompt=self.reply_prompt)

    async def _records(self, turns: Sequence[Turn], context: Context) -> list[NewMemory]:
        # The session up to these turns, with those that were remembered before.
        dialogue = await context.index.session_turns(turns[-1].session)
        session = [turn for turn in dialogue if turn.id <= turns[-1].id]
        chosen = candidate_turns(turns)
        if self.config.selection:
            by_turn = self.config.recording == "turn"
            chosen = await decide(turns, session, context.chat, by_turn=by_turn)
        return await record(chosen, session, context.chat, self.config)

    async def _search(
        self, dialogue: Sequence[Utterance], context: Context, query: str
    ) -> SearchResults:
        """Return the k best memories of each kept kind, and of imported ones, best first."""
        results: list[tuple[Memory, float]] = []
        for kind in (*self.config.kept_kinds, STATEMENT):
            k, mode = self.config.k(kind), self.config.retrieval
            results += await retrieve(query, dialogue, k, context, mode, kinds=[kind])
        return sorted(results, key=lambda result: (-result[1], result[0].id))

    def _estimate_records(self, turns: Sequence[Turn], chosen: Sequence[Turn]) -> Estimate:
        if not chosen:
            return Estimate()
        if self.config.recording == "turn":
            calls, shown = len(chosen), _tokens_up_to({turn.id for turn in chosen}, turns)
        else:
            batches = -(-len(chosen) // RECORDS_PER_CALL)
            calls = max(len(split_windows(turns)), batches)
            shown = count_turn_tokens(turns) * batches
        prompt_tokens = calls * count_prompt_tokens(RECORD)
        return Estimate(
            calls=calls,
            input_tokens=prompt_tokens + shown + _NUMBER_TOKENS * len(chosen),
            output_tokens=len(chosen) * _RECORD_TOKENS,
        )


def _tokens_up_to(ids: Collection[int], turns: Sequence[Turn]) -> int:
    """Return the tokens of calls that each show the turns up to one of those with these ids."""
    totals = accumulate(count_turn_tokens([turn]) for turn in turns)
    return sum(total for turn, total in zip(turns, totals, strict=True) if turn.id in ids)
