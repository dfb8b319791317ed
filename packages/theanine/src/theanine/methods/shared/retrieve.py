"""What methods share before a reply: the query, the search, and the reply itself."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.embeddings.base import embed_queries
from theanine.methods.base import Context, Reply
from theanine.methods.shared.provenance import source_sessions
from theanine.methods.shared.respond import respond
from theanine.retrieval.query import Query
from theanine.retrieval.scope_index import RetrievalMode
from theanine.types import Memory, Recollection, Utterance

_WITHIN_A_BUDGET = 200


def query_text(dialogue: Sequence[Utterance], turns: int | None) -> str:
    """The dialogue's last ``turns`` turns as one text; all of it with None."""
    return "\n".join(said.full_text for said in (dialogue[-turns:] if turns else dialogue)).strip()


def search_depth(retrieved: int, budget: int | None) -> int:
    """How many to look for: ``retrieved``, unless a token budget says how much is given back."""
    return retrieved if budget is None else max(retrieved, _WITHIN_A_BUDGET)


async def retrieve(
    query: str,
    dialogue: Sequence[Utterance],
    k: int,
    context: Context,
    how: RetrievalMode,
    *,
    kinds: Sequence[str] = (),
) -> list[tuple[Memory, float]]:
    """The ``k`` memories that fit the query best, with their scores; none for an empty query.

    With ``kinds``, only live memories of these kinds are found. A reranker, if there is one, puts
    the best in order.
    """
    view = context.index
    if not query or not len(view):
        return []
    sought = await build_query(query, dialogue, context, how)
    mask = view.live_mask(*kinds) if kinds else None  # the view may have grown until now
    reranking = context.reranking
    if reranking is None:
        return view.search(sought, k, how, among=mask)
    found = view.search(sought, max(k, reranking.top), how, among=mask)
    return (await reranking.rerank(query, found))[:k]


async def build_query(
    query: str, dialogue: Sequence[Utterance], context: Context, how: RetrievalMode
) -> Query:
    """What is looked for: the dialogue's last turn shows who asks, about whom, about what days.

    A question is embedded once, as a question where the embedder tells them from texts.
    """
    topic = context.index.without_speakers(query) if how == "hybrid" else query
    if topic not in context.query_vectors:
        context.query_vectors[topic] = await embed_queries(context.embedder, [topic])
    last = dialogue[-1]
    return Query(
        text=query,
        vector=context.query_vectors[topic][0],
        latest=last.full_text,
        asker=last.speaker,
        asked_at=last.at,
    )


async def reply(
    dialogue: Sequence[Utterance],
    recollection: Recollection,
    speaker: str,
    context: Context,
    *,
    rationale: bool = False,
) -> Reply:
    """What ``speaker`` says next, from the dialogue and what was recalled."""
    asks = context.chat is not None
    spoken = await respond(
        dialogue,
        recollection,
        speaker,
        context.chat,
        rationale=rationale,
        undated=context.index.undated,
        behind=source_sessions(recollection.memories, context.index) if asks else (),
    )
    return Reply(
        text=spoken.text,
        rationale=spoken.rationale,
        recollection=recollection,
        made_by=spoken.made_by,
    )


class ReplyMixin:
    """A method that replies from the dialogue and what was recalled, and from nothing else."""

    async def respond(
        self,
        dialogue: Sequence[Utterance],
        recollection: Recollection,
        speaker: str,
        context: Context,
    ) -> Reply:
        """What ``speaker`` says next: worded by the model, or quoted where there is none."""
        return await reply(dialogue, recollection, speaker, context)
