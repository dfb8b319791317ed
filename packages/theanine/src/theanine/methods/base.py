"""The method's port: two verbs, ``remember`` and ``recall``, and the reply that uses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from theanine.embeddings.base import Embedder, Vectors
from theanine.llm.chat import ScopedChat
from theanine.retrieval.rerank import RerankConfig
from theanine.retrieval.scope_index import ScopeIndex
from theanine.types import (
    LOCAL_MODEL,
    ImportedMemory,
    MemoryBatch,
    Recollection,
    Scope,
    Session,
    Turn,
    Usage,
    Utterance,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a method may use: ports only, all of one scope.

    Attributes:
        scope: whose memory it is.
        chat: the language model, or None: then the local versions of all steps work.
        embedder: turns texts into vectors.
        view: the scope's memories, vectors, links and turns, as of now.
        rng: the only source of randomness.
        budget: tokens that the recollection's text may have at most, by the bundled tokenizer;
            None leaves it to the method's own settings.
        reranking: puts what a search finds in order; None leaves the search's own.
        asked: vectors of the questions asked so far, so that none is embedded twice.
    """

    scope: Scope
    chat: ScopedChat | None
    embedder: Embedder
    index: ScopeIndex
    rng: Random
    budget: int | None = None
    reranking: RerankConfig | None = None
    query_vectors: dict[str, Vectors] = field(default_factory=dict[str, Vectors], compare=False)

    def token_budget(self, own: int | None) -> int | None:
        """The budget, or else the method's own."""
        return own if self.budget is None else self.budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the agent says next.

    Attributes:
        text: the words to say.
        rationale: which memories apply and how, when the method was asked to reason first.
        recollection: what it had in front of it.
        made_by: the model, or ``local``.
        notes: what the method wants to know when it remembers the session, such as
            ``{"worth": "yes"}``; kept with the agent's turn. Never words of the dialogue.
    """

    text: str
    recollection: Recollection
    rationale: str = ""
    made_by: str = LOCAL_MODEL
    notes: Mapping[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        return self.text


Estimate = Usage
"""Expected usage, as a method predicts it: calls and tokens; cost and time depend on the model."""


class Method(Protocol):
    """A way to remember. Pure with respect to the clock and to randomness."""

    @property
    def name(self) -> str:
        """The method's id, such as ``theanine``."""
        ...

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        given: Sequence[ImportedMemory],
        context: Context,
    ) -> MemoryBatch:
        """Make memories and links of a session that ended. Nothing is committed here.

        ``given`` are ready-made memories; where there are any, they are taken as they are.
        """
        ...

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """What remembering a session of these turns will about take of a model, if there is one."""
        ...

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Bring back what matters for the dialogue at hand; empty when nothing is remembered."""
        ...

    async def respond(
        self,
        dialogue: Sequence[Utterance],
        recollection: Recollection,
        speaker: str,
        context: Context,
    ) -> Reply:
        """Say what ``speaker``, the agent, says next."""
        ...
