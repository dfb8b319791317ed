"""Explanations of recalls: every candidate with its scores, and why it was returned or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from theanine.tokenizer import count_tokens
from theanine.types import Memory, Recollection

if TYPE_CHECKING:
    from theanine.methods.base import Context
    from theanine.retrieval.candidates import Candidate
    from theanine.retrieval.trace import CandidateKey, RecordedTrace

Outcome = Literal[
    "returned",
    "irrelevant",
    "echo",
    "corrected",
    "pinned",
    "in_dialogue",
    "told",
    "repeated",
    "over_budget",
    "over_limit",
]
"""The outcome of a candidate.

It is ``returned``, or it was left out: ``irrelevant`` (below the least relevance,
or not chosen by the model), an ``echo`` (the
assistant repeats the user's words, which are there), ``corrected``, ``pinned`` (returned anyway),
``in_dialogue`` (the model sees it anyway), ``told`` (a statement whose source turns are returned,
or what the sentence of a change tells), ``repeated`` (another candidate says the same, and how
often is said there), ``over_budget`` (it did not fit), or ``over_limit`` (its part is not among the
best ``limit``).
"""

_LEFT_OUT_AT: Mapping[str, Outcome] = {
    "echoes": "echo",
    "sentences": "told",
    "states": "corrected",
    "relevance": "irrelevant",
    "pinned": "pinned",
    "model": "irrelevant",
}
"""The outcome of candidates that a stage removed, by stage; the other stages remove none."""
_FILTERS = {"relevance", "pinned", "model"}
"""Stages that only remove candidates and give no score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedCandidate:
    """A passage of a turn, or a memory, that a recall considered.

    Attributes:
        turn, memory: the id of its turn, or of the memory; the other is None.
        session, speaker, at, dated: as of the turn or memory; a memory may have several speakers.
        text: the passage or the memory's text.
        scores: by stage, in the order of :attr:`Explanation.stages`; the scale is that of each
            stage. Candidates that a stage brought in have no score of earlier ones.
        relevance: probability that it is evidence for the query, 0 to 1; None where the method
            does not estimate it.
        outcome: whether it was returned, or why not; see :data:`Outcome`.
        part: index of the recollection's part that has it, or None.
    """

    turn: int | None
    memory: int | None
    session: int
    speaker: str
    at: datetime
    dated: bool
    text: str
    scores: Mapping[str, float]
    relevance: float | None
    outcome: Outcome
    part: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a recall returned its result: its candidates, their scores, and its limits.

    Attributes:
        method: the method that recalled.
        stages: the names of the scores, in the order in which they were given. Recall from the log
            has ``meaning`` (cosine), ``words`` (BM25) and ``evidence`` (their sum, with time and
            speakers), ``ranking`` (a model of relevance), ``reranking`` (if there is a reranker),
            ``identifiers`` and ``time`` (where the question names some), ``speech`` (if it asks
            for the assistant's words or the user's questions), ``order`` (if it asks for the latest
            or the earliest), ``echoes`` (the user's words before repetitions), ``antecedents``
            (what a pronoun stands for) and ``states`` (the order in which matters with several
            states come); for a question about
            a time alone only ``time``. Other methods have ``retrieval`` and ``reranking``, or none
            if they search nothing.
        candidates: the best first.
        budget: maximum tokens of the recollection; None without a limit.
        tokens: tokens of the recollection.
        stopped: ``small_talk`` if nothing was searched because of that, else empty.
        recollection: the result, as of ``recall``, with the timelines of its parts.
        prompt: the exact words that a model is given; empty if nothing is relevant.
        recalled: where a past reply is explained, ids of the memories that it was given then.
    """

    method: str
    stages: tuple[str, ...]
    candidates: tuple[ExplainedCandidate, ...]
    budget: int | None
    tokens: int
    stopped: str
    recollection: Recollection
    prompt: str
    recalled: tuple[int, ...] = ()


async def explain(
    method: str,
    trace: RecordedTrace,
    recollection: Recollection,
    context: Context,
    budget: int | None,
) -> Explanation:
    """Return the explanation of a recall that was traced."""
    from theanine.retrieval.candidates import Candidate

    scored = [name for name in trace.stages if name not in _FILTERS]
    keys = list(dict.fromkeys(key for name in reversed(scored) for key in trace.stages[name]))
    candidates = await _load(keys, trace, context)
    if not trace.stages:  # the method searches nothing, such as one that returns a summary
        own = [memory for part in recollection.parts for memory in part.memories]
        candidates = {(0, 0, memory.id): Candidate(memory) for memory in own}
    explained = [
        _explain_candidate(key, candidate, trace, recollection, context)
        for key, candidate in candidates.items()
    ]
    messages = recollection.messages()
    return Explanation(
        method=method,
        stages=(*trace.evidence, *scored),
        candidates=tuple(explained),
        budget=budget,
        tokens=count_tokens(recollection.text),
        stopped=trace.stopped,
        recollection=recollection,
        prompt=str(messages[0]["content"]) if messages else "",
    )


async def _load(
    keys: Sequence[CandidateKey], trace: RecordedTrace, context: Context
) -> dict[CandidateKey, Candidate]:
    from theanine.retrieval.candidates import Candidate

    if trace.log is not None:
        loaded = await trace.log.load(position for position, _, _ in keys)
        return {key: loaded[key[0]] for key in keys if key[0] in loaded}
    memories = {m.id: m for m in await context.index.read_memories([key[2] for key in keys])}
    return {key: Candidate(memories[key[2]]) for key in keys}


def _explain_candidate(
    key: CandidateKey,
    candidate: Candidate,
    trace: RecordedTrace,
    recollection: Recollection,
    context: Context,
) -> ExplainedCandidate:
    scores = {
        name: values[key[0]] for name, values in trace.evidence.items() if key[0] in values
    } | {
        name: stage[key][0]
        for name, stage in trace.stages.items()
        if name not in _FILTERS and key in stage
    }
    relevances = [stage[key][1] for stage in trace.stages.values() if key in stage]
    outcome, part = _find_outcome(key, candidate, trace, recollection, context)
    owner = candidate.owner
    is_memory = isinstance(owner, Memory)
    return ExplainedCandidate(
        turn=None if is_memory else owner.id,
        memory=owner.id if is_memory else None,
        session=owner.session,
        speaker=", ".join(owner.speakers) if is_memory else owner.speaker,
        at=owner.at,
        dated=owner.dated,
        text=candidate.text,
        scores=scores,
        relevance=relevances[-1] if relevances else None,
        outcome=outcome,
        part=part,
    )


def _find_outcome(
    key: CandidateKey,
    candidate: Candidate,
    trace: RecordedTrace,
    recollection: Recollection,
    context: Context,
) -> tuple[Outcome, int | None]:
    """Return the outcome of a candidate, and the index of the part that contains it."""
    numbers = {id(part): number for number, part in enumerate(recollection.parts)}
    owner = candidate.owner
    for part, told in trace.parts:
        if (owner, candidate.span) in told:
            number = numbers.get(id(part))
            return ("over_limit", None) if number is None else ("returned", number)
    if trace.log is None:
        for number, part in enumerate(recollection.parts):
            if owner in part.memories:
                return "pinned" if part.pinned else "returned", number
    if isinstance(owner, Memory) and owner in context.pinned:
        return "pinned", None
    names = [*trace.stages]
    last = max((n for n, name in enumerate(names) if key in trace.stages[name]), default=-1)
    if last + 1 < len(names) and names[last + 1] in _LEFT_OUT_AT:
        return _LEFT_OUT_AT[names[last + 1]], None
    sources = owner.source_turns if isinstance(owner, Memory) else (owner.id,)
    if context.shows(sources):
        return "in_dialogue", None
    if isinstance(owner, Memory):
        told_turns = {turn.id for turn in recollection.source_turns}
        return ("told" if trace.log and told_turns.issuperset(sources) else "over_budget"), None
    return ("repeated" if owner.id in trace.repetitions else "over_budget"), None
