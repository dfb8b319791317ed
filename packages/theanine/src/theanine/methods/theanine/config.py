"""Theanine's settings."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, Literal

from theanine.errors import SettingsError
from theanine.methods.shared.config import RecallConfig, check_minimums

_OF_MEMORIES = ("retrieved", "retrieval", "samples", "shuffle")
"""Settings that recall from the log has no use for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TheanineConfig(RecallConfig):
    """How Theanine links, recalls and replies; :meth:`paper` has the paper's values.

    Attributes:
        associates: number of earlier memories that each new one is compared with (j);
            without a model at least ten.
        relating: one call of the model for each pair (``pairs``, the paper), for each new
            ``memory``, or for the whole ``session``.
        link_to: ``best`` links to the two related memories of the highest chance, or, where a
            model judged, as ``recent``; ``recent`` links to the most recent related memory of each
            component (the paper), ``all`` to every related memory (THEANINE-ALL).
        search: ``log`` recalls from all turns, memories and timelines; ``memories`` from timelines
            alone (the paper).
        timelines: False leaves links out of a recall from the log (ablation).
        budget: maximum tokens of the recollection (bundled tokenizer); None sets no limit.
        min_relevance: relevance that the best candidate in the log must have, 0 to 1; otherwise
            nothing is recalled. It falls in proportion in logs of more than 700 turns, where each
            candidate is less probable.
        retrieved: number of memories retrieved before a reply (k), also with a token budget.
        retrieval: ``dense`` ranks by cosine, ``hybrid`` by all evidence of
            :class:`theanine.retrieval.ranking.RankingConfig`. The memories to compare are found
            likewise.
        samples: number of timelines sampled for each retrieved memory (n).
        rationale: let the model reason which memories apply before it replies (first version of
            the paper).
        relation_aware: False links by similarity and order alone (ablation).
        refine: False returns raw timelines (ablation).
        whole: show the model whole timelines to refine, and ask for no length (the paper);
            otherwise without near-duplicates and at most 40 statements, in at most 150 words.
        shuffle: split timelines into memories in random order, as in plain retrieval, which are
            not refined (ablation).
    """

    paper_versions: ClassVar[tuple[str, ...]] = ("2024", "2025")

    search: Literal["log", "memories"] = "log"
    timelines: bool = True
    budget: int | None = 600
    min_relevance: float = 0.025
    associates: int = 3
    relating: Literal["pairs", "memory", "session"] = "session"
    link_to: Literal["best", "recent", "all"] = "best"
    retrieved: int = 3
    retrieval: Literal["hybrid", "dense"] = "hybrid"
    samples: int = 1
    rationale: bool = False
    relation_aware: bool = True
    refine: bool = True
    whole: bool = False
    shuffle: bool = False

    def __post_init__(self) -> None:
        RecallConfig.__post_init__(self)
        check_minimums(self, associates=1, samples=1)
        if not 0 <= self.min_relevance <= 1:
            raise SettingsError(f"min_relevance must be from 0 to 1, not {self.min_relevance}")
        defaults = {field.name: field.default for field in fields(self)}
        changed = [name for name in _OF_MEMORIES if getattr(self, name) != defaults[name]]
        if self.search == "log" and changed:
            raise SettingsError(
                f"{changed[0]} applies to recall from timelines alone: set search=memories as well"
            )

    @classmethod
    def paper(cls, version: str = "2025") -> TheanineConfig:
        """Return the values of the paper (NAACL 2025), or of its first version (arXiv, ``2024``).

        Only the first version reasons before a reply (section 2.3). Raises SettingsError.
        """
        if version not in cls.paper_versions:
            raise SettingsError(
                f"the paper's version must be {' or '.join(cls.paper_versions)}, not {version!r}"
            )
        return cls(
            reply_prompt="transcript",
            temperature=0.75,
            search="memories",
            budget=None,
            relating="pairs",
            link_to="recent",
            query_turns=None,
            query_names=True,
            retrieval="dense",
            rationale=version == "2024",
            whole=True,
        )
