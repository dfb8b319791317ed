"""The settings of Theanine and of Theanine as published."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import Signature, signature
from typing import TYPE_CHECKING, ClassVar, Literal

from theanine.errors import SettingsError
from theanine.llm.base import ReplyPrompt
from theanine.methods.shared.config import QueryConfig, RecallConfig, check_minimums
from theanine.methods.theanine.former_settings import MODES, PAPER, current_settings

Relating = Literal["pairs", "memory", "session"]
"""One call of the model for each pair, for each new memory, or for all pairs of the session."""
LinkTo = Literal["best", "recent", "all"]
"""Those that were related without a model, or, where a model judged, as ``recent``; the most recent
related memory of each component; or every related memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Linking:
    """How new memories are linked to older ones.

    Attributes:
        associates: number of earlier memories that each new one is compared with; without a model
            at least ten, unless they are found ``by_cosine``.
        relating: what one call of the model is about; None asks once for all that belongs together,
            in the session and with anything earlier.
        link_to: the related memories that a new one is linked to.
        relation_aware: False links by similarity and order alone.
        by_cosine: find the memories to compare by the cosine alone.
    """

    associates: int
    relating: Relating | None = None
    link_to: LinkTo = "best"
    relation_aware: bool = True
    by_cosine: bool = False


class _AcceptFormerSettings(type):
    """Lets the default method's settings be made of former ones, which mean others now."""

    if not TYPE_CHECKING:

        def __call__(cls, **settings):
            if MODES.keys().isdisjoint(settings):
                return super().__call__(**settings)
            method, settings = current_settings(settings)
            return (
                TheaninePaperConfig(**settings) if method == PAPER else super().__call__(**settings)
            )

        @property
        def __signature__(cls):  # else it is that of __call__
            _, *parameters = signature(cls.__init__).parameters.values()
            return Signature(parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class TheanineConfig(QueryConfig, metaclass=_AcceptFormerSettings):
    """How Theanine remembers, recalls and replies.

    Attributes:
        budget: maximum tokens of the recollection (bundled tokenizer); None sets no limit.
        min_relevance: relevance that the best candidate in the log must have, 0 to 1; otherwise
            nothing is recalled.
        associates: number of earlier memories that each new one is compared with, at least ten; a
            model is shown all that fit.
        timelines: False leaves links out of recall (ablation).
        select: what is returned is selected by ``relevance``, or by the ``model``, in one call for
            each recall; without one, by relevance.
    """

    budget: int | None = 600
    min_relevance: float = 0.03
    associates: int = 3
    timelines: bool = True
    select: Literal["relevance", "model"] = "relevance"

    def __post_init__(self) -> None:
        QueryConfig.__post_init__(self)
        check_minimums(self, associates=1)
        if not 0 <= self.min_relevance <= 1:
            raise SettingsError(f"min_relevance must be from 0 to 1, not {self.min_relevance}")

    @property
    def linking(self) -> Linking:
        """How new memories are linked to older ones."""
        return Linking(associates=self.associates)

    @staticmethod
    def paper(version: str = "2025") -> TheaninePaperConfig:
        """Return the settings of the method as published; see :meth:`TheaninePaperConfig.paper`."""
        return TheaninePaperConfig.paper(version)


@dataclass(frozen=True, slots=True, kw_only=True)
class TheaninePaperConfig(RecallConfig):
    """How Theanine as published links, recalls and replies; the defaults are the paper's values.

    Attributes:
        associates: number of earlier memories that each new one is compared with (j).
        relating: one call of the model for each pair (``pairs``, the paper), for each new
            ``memory``, or for the whole ``session``.
        link_to: ``recent`` links to the most recent related memory of each component (the paper),
            ``all`` to every related memory (THEANINE-ALL), ``best`` to those that were related
            without a model, at most two, or where a model judged, as ``recent``.
        retrieved: number of memories retrieved before a reply (k), also with a token budget.
        retrieval: ``dense`` ranks by cosine (the paper), ``hybrid`` by all evidence of
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

    reply_prompt: ReplyPrompt = "transcript"
    temperature: float | None = 0.75
    query_turns: int | None = None
    query_names: bool = True
    associates: int = 3
    relating: Relating = "pairs"
    link_to: LinkTo = "recent"
    retrieved: int = 3
    retrieval: Literal["hybrid", "dense"] = "dense"
    samples: int = 1
    rationale: bool = False
    relation_aware: bool = True
    refine: bool = True
    whole: bool = True
    shuffle: bool = False

    def __post_init__(self) -> None:
        RecallConfig.__post_init__(self)
        check_minimums(self, associates=1, samples=1)

    @property
    def linking(self) -> Linking:
        """How new memories are linked to older ones."""
        return Linking(
            associates=self.associates,
            relating=self.relating,
            link_to=self.link_to,
            relation_aware=self.relation_aware,
            by_cosine=self.retrieval == "dense",
        )

    @classmethod
    def paper(cls, version: str = "2025") -> TheaninePaperConfig:
        """Return the values of the paper (NAACL 2025), or of its first version (arXiv, ``2024``).

        Only the first version reasons before a reply (section 2.3). Raises SettingsError.
        """
        if version not in cls.paper_versions:
            raise SettingsError(
                f"the paper's version must be {' or '.join(cls.paper_versions)}, not {version!r}"
            )
        return cls(rationale=version == "2024")
