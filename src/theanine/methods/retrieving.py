"""What methods share before a reply: the query, the search, and the reply itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from theanine.conversation import Utterance
from theanine.memory import Memory, Recollection
from theanine.methods.base import Context, Reply
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
    asks, about whom and about what days.
    """
    view = context.view
    if not query or not len(view):
        return []
    vector = (await context.embedder.embed([view.topic(query) if how == "hybrid" else query]))[0]
    last = dialogue[-1]
    sought = Query(
        text=query, vector=vector, latest=last.words, asker=last.speaker, asked_at=last.at
    )
    return view.search(sought, k, how, among=among)


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
    )
    return Reply(
        text=spoken.text,
        rationale=spoken.rationale,
        recollection=recollection,
        made_by=spoken.made_by,
    )
