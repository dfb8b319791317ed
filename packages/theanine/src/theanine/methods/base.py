"""The interface of a memory method: ``remember`` a session, ``recall`` for a dialogue, respond."""

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
    """Everything that a method may use, for one scope.

    Attributes:
        scope: the user, agent and tenant that the memory belongs to.
        chat: the language model, or None; without one, every step has a local version.
        embedder: embeds texts.
        index: the scope's memories, vectors, links and turns.
        rng: the only source of randomness.
        budget: maximum tokens of the recollection (bundled tokenizer); None leaves the limit to the
            method's own settings.
        reranking: reorders search results; None keeps their order.
        query_vectors: vectors of the queries embedded so far, by text.
    """

    scope: Scope
    chat: ScopedChat | None
    embedder: Embedder
    index: ScopeIndex
    rng: Random
    budget: int | None = None
    reranking: RerankConfig | None = None
    query_vectors: dict[str, Vectors] = field(default_factory=dict[str, Vectors], compare=False)

    def token_budget(self, default: int | None) -> int | None:
        """Return the budget of this call, or else ``default``, the method's setting."""
        return default if self.budget is None else self.budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The assistant's next turn.

    Attributes:
        text: the reply.
        rationale: which memories apply and how, if the method made the model reason first.
        recollection: what the reply is based on.
        made_by: the model, or ``local``.
        notes: data for remembering the session later, such as ``{"worth": "yes"}``; stored with the
            assistant's turn. They must not quote the dialogue.
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
    """A memory method. It uses no clock, and no randomness but ``context.rng``."""

    @property
    def name(self) -> str:
        """The method's id, such as ``theanine``."""
        ...

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        imported: Sequence[ImportedMemory],
        context: Context,
        /,
    ) -> MemoryBatch:
        """Make memories and links of a session that ended; the caller commits them.

        ``imported`` are memories that came with an imported session; if there are any, they replace
        those that the method would make of the turns.
        """
        ...

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Estimate the model usage of remembering a session with these turns."""
        ...

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Return what is relevant for the dialogue; empty if nothing is."""
        ...

    async def respond(
        self,
        dialogue: Sequence[Utterance],
        recollection: Recollection,
        speaker: str,
        context: Context,
    ) -> Reply:
        """Return the next turn of ``speaker``, the assistant."""
        ...
