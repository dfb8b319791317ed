"""Theanine's settings, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theanine.methods.shared.validation import check_minimums


@dataclass(frozen=True, slots=True, kw_only=True)
class TheanineConfig:
    """How Theanine links, recalls and replies. The defaults are ours; :meth:`paper` is the paper's.

    Attributes:
        associates: j, how many earlier memories each new one is compared with.
        relating: how a model is asked for relations: one call a pair (the paper), one for each
            new memory, or one for the session.
        link_to: ``recent`` links into each component's most recent related memory, ``all`` to
            every related one (THEANINE-ALL).
        retrieved: k, memories retrieved before a reply.
        samples: n, timelines sampled for each retrieved memory.
        query_turns: how many of the dialogue's last turns make the query; None takes all.
        retrieval: ``hybrid`` is by all evidence of
            :class:`theanine.retrieval.ranking.RankingConfig`, ``dense`` by cosine alone.
        rationale: reason first which memories apply and how, then reply (v1 of the paper).
        relation_aware: False links by similarity and order alone (ablation).
        refine: False hands over raw timelines (ablation).
        whole: the model refines whole timelines (the paper); else what it is shown of one leaves
            out near-duplicates and all but 40 statements.
        shuffle: True breaks timelines into randomly ordered memories (ablation).
    """

    associates: int = 3
    relating: Literal["pairs", "memory", "session"] = "session"
    link_to: Literal["recent", "all"] = "recent"
    retrieved: int = 3
    samples: int = 1
    query_turns: int | None = 6
    retrieval: Literal["hybrid", "dense"] = "hybrid"
    rationale: bool = False
    relation_aware: bool = True
    refine: bool = True
    whole: bool = False
    shuffle: bool = False

    def __post_init__(self) -> None:
        check_minimums(self, associates=1, retrieved=1, samples=1, query_turns=1)

    @classmethod
    def paper(cls) -> TheanineConfig:
        """The paper's values: by pair, whole dialogues and timelines, cosine, reasoned replies."""
        return cls(
            relating="pairs", query_turns=None, retrieval="dense", rationale=True, whole=True
        )
