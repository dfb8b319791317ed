"""What one recall may use and return."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import inf

from theanine.clock import find_zone
from theanine.embeddings.base import Embedder, Vectors
from theanine.errors import SettingsError
from theanine.filters import NO_FILTER, Filter
from theanine.retrieval.bounds import Bounds
from theanine.retrieval.rerank import RerankConfig
from theanine.retrieval.scope_index import ScopeIndex
from theanine.retrieval.trace import NO_TRACE, RecallTrace
from theanine.store.values import NOTHING_HIDDEN, Hidden
from theanine.types import Memory, Turn, Utterance


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallOptions:
    """What one recall may return.

    Attributes:
        budget: maximum tokens of the recollection (bundled tokenizer); None leaves the limit to the
            method's own settings.
        limit: maximum number of parts, besides the profile.
        min_relevance: least relevance of a part, 0 to 1; None leaves it to the method.
        since, until: only what was said at or after, and at or before.
        as_of: recall what was known then: nothing said later, and no change made later.
        where: only turns and memories whose metadata matches.
        hidden: what is left out because it is about to be erased; the client sets it.
        now: the time of the recall, likewise; None in recalls without one, which mark nothing as
            to be verified.
        small_talk: whether greetings and thanks are searched for, too; a search sets it.
        profile: whether what is known of the user comes first, in at most 300 tokens.
        deadline: seconds after which the best of what is done by then is returned; None for no
            deadline.

    Raises SettingsError for a value outside its range and for a time without a UTC offset.
    """

    budget: int | None = None
    limit: int | None = None
    min_relevance: float | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    where: Filter = NO_FILTER
    hidden: Hidden = NOTHING_HIDDEN
    now: datetime | None = None
    small_talk: bool = False
    profile: bool = False
    deadline: float | None = None

    def __post_init__(self) -> None:
        if self.deadline is not None and not 0 < self.deadline < inf:
            raise SettingsError(f"the deadline must be above 0 seconds, not {self.deadline!r}")
        if self.budget is not None and (type(self.budget) is not int or self.budget < 0):
            raise SettingsError(f"the budget must be 0 or more tokens, not {self.budget!r}")
        if self.limit is not None and (type(self.limit) is not int or self.limit < 1):
            raise SettingsError(f"the limit must be at least 1 part, not {self.limit!r}")
        if self.min_relevance is not None and not 0 <= self.min_relevance <= 1:
            raise SettingsError(f"min_relevance must be from 0 to 1, not {self.min_relevance!r}")
        for name in ("since", "until", "as_of"):
            time = getattr(self, name)
            if time is not None and time.utcoffset() is None:
                raise SettingsError(f"{name} needs a UTC offset, such as {time.isoformat()}+00:00")

    @property
    def present(self) -> datetime | None:
        """The time as of which it is recalled: ``as_of`` or else the time of the recall."""
        return self.as_of or self.now

    @property
    def bounds(self) -> Bounds:
        """The bounds of time and metadata."""
        return Bounds(
            since=self.since,
            until=self.until,
            as_of=self.as_of,
            where=self.where,
            hidden=self.hidden,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallContext:
    """Everything that a recall uses, for one scope.

    Attributes:
        embedder: embeds texts.
        index: the scope's memories, vectors, links and turns, within the bounds of ``options``.
        options: what this recall may return.
        reranking: reorders search results; None keeps their order.
        pinned: memories that are in the recollection anyway.
        query_vectors: vectors of the queries embedded so far, by text.
        current: ids of the dialogue's turns that are in the log, of tools as well: they are in the
            prompt anyway, so what rests on them alone is left out of recollections.
        trace: is told how the recall goes, for an explanation.
    """

    embedder: Embedder
    index: ScopeIndex
    options: RecallOptions = RecallOptions()
    reranking: RerankConfig | None = None
    pinned: tuple[Memory, ...] = ()
    query_vectors: dict[str, Vectors] = field(default_factory=dict[str, Vectors], compare=False)
    current: frozenset[int] = frozenset()
    trace: RecallTrace = field(default=NO_TRACE, compare=False)

    @property
    def budget(self) -> int | None:
        """The budget of this call in tokens, or None."""
        return self.options.budget

    def token_budget(self, default: int | None) -> int | None:
        """Return the budget of this call, or else ``default``, the method's setting."""
        return default if self.options.budget is None else self.options.budget

    def shows(self, turns: Collection[int] | Collection[Turn]) -> bool:
        """Whether there are such turns and all of them are in the dialogue."""
        ids = [turn.id if isinstance(turn, Turn) else turn for turn in turns]
        return bool(ids) and self.current.issuperset(ids)

    def asked_at(self, dialogue: Sequence[Utterance]) -> datetime:
        """Return the time of the dialogue's last turn, or ``as_of`` if that is earlier.

        It is in the user's time zone, if one is set.
        """
        at, as_of = dialogue[-1].at, self.options.as_of
        at = at if as_of is None else min(at, as_of)
        zone = find_zone(self.index.state.time_zone)
        return at.astimezone(zone) if zone else at
