"""What methods share before a reply: the query, the search, and the reply itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from theanine.conversation import Utterance
from theanine.memory import Memory, Recollection
from theanine.methods.base import Context, Reply
from theanine.methods.behind import sessions_behind
from theanine.models.base import Embedder, QuestionEmbedder, Vectors
from theanine.retrieval.asking import Query
from theanine.retrieval.view import Retrieval
from theanine.steps.respond import respond


def query_of(dialogue: Sequence[Utterance], turns: int | None) -> str:
    """The dialogue's last ``turns`` turns as one text; all of it with None."""
    return "\n".join(said.words for said in (dialogue[-turns:] if turns else dialogue)).strip()


async def retrieve(
    query: str,
    dialogue: Sequence[Utterance],
    k: int,
    context: Context,
    how: Retrieval,
    *,
    among: NDArray[np.bool_] | None = None,
) -> list[tuple[Memory, float]]:
    """The ``k`` memories that fit the query best, with their scores; none for an empty query.

    ``among`` masks which of the view's memories may be found. The dialogue's last turn shows who
    asks, about whom and about what days. A reranker, if there is one, puts the best in order.
    """
    view = context.view
    if not query or not len(view):
        return []
    topic = view.topic(query) if how == "hybrid" else query
    if topic not in context.asked:
        context.asked[topic] = await embed_question(topic, context.embedder)
    vector = context.asked[topic][0]
    last = dialogue[-1]
    sought = Query(
        text=query, vector=vector, latest=last.words, asker=last.speaker, asked_at=last.at
    )
    reranking = context.reranking
    if reranking is None:
        return view.search(sought, k, how, among=among)
    found = view.search(sought, max(k, reranking.top), how, among=among)
    return (await reranking.reordered(query, found))[:k]


async def embed_question(text: str, embedder: Embedder) -> Vectors:
    """A question's vector, ``(1, d)``; as a question where the embedder tells them from texts."""
    if isinstance(embedder, QuestionEmbedder):
        return await embedder.embed_questions([text])
    return await embedder.embed([text])


async def reply(
    dialogue: Sequence[Utterance],
    recollection: Recollection,
    speaker: str,
    context: Context,
    *,
    rationale: bool = False,
) -> Reply:
    """What ``speaker`` says next, from the dialogue and what was recalled."""
    spoken = await respond(
        dialogue,
        recollection,
        speaker,
        context.chat,
        rationale=rationale,
        undated=context.view.undated,
        behind=sessions_behind(recollection.memories, context.view),
    )
    return Reply(
        text=spoken.text,
        rationale=spoken.rationale,
        recollection=recollection,
        made_by=spoken.made_by,
    )
