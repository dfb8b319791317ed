"""The options of :func:`theanine.open`, and of each recall."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import wraps
from inspect import cleandoc, signature
from typing import Any, Literal, ParamSpec, TypedDict, TypeVar, cast, get_args

from theanine.clock import Clock, system_clock
from theanine.embeddings.base import Embedder, Reranker
from theanine.errors import SettingsError
from theanine.filters import Filter, Where
from theanine.llm.base import ChatModel
from theanine.llm.limits import Limits
from theanine.llm.settings import ModelSettings
from theanine.methods.base import Method, RecallOptions
from theanine.remembering.remember import RememberReport
from theanine.retrieval.ranking import RankingConfig
from theanine.retrieval.rerank import DEFAULT_RERANK_DEPTH
from theanine.store.base import Store

RememberWhen = Literal["now", "background", "later"]
"""When a session that ended is remembered."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """Options of a client. Where a name is expected, an object of that kind will do as well.

    Args:
        location: a file, created if missing.
        method: the memory method, one of ``theanine.methods.registry.names()``. None is the
            store's default: the first that remembered there, or the one that a rebuild made the
            default; ``theanine`` for a new store.
        model: a chat model such as ``openai:gpt-4o-mini``; ``local`` needs none.
        embedder: an embedder such as ``openai:text-embedding-3-small``; ``local`` is bundled.
        reranker: a cross-encoder such as ``cross-encoder:PATH``, which reorders the best memories
            by reading each with the question; None for no reranking.
        base_url: the URL of an OpenAI-compatible server for the model.
        model_settings: how the model writes, a :class:`ModelSettings` or a mapping such as
            ``{"temperature": 0.7, "max_tokens": 400}``.
        memory_model: the chat model that remembers sessions, where ``model`` should only recall
            and reply; None is ``model``.
        memory_base_url: the URL of its server; None is ``base_url``.
        memory_settings: how it writes; None is ``model_settings`` if it is the same model at the
            same server, or else the defaults.
        limits: retries, time-outs and budgets of the model.
        config: the method's settings: its config object, such as ``TheanineConfig``, or a mapping.
        ranking: weights of the kinds of evidence in ``hybrid`` retrieval.
        reranked: how many of the best memories the reranker reads.
        seed: seed of the method's random choices; the same seed gives the same recollection.
        clock: returns the present time.
        pause: a session with a key is over when nothing was said for so long; None for never.
        remembering: when a session that ends is remembered: ``now``, before the call that ends it
            returns; in the ``background`` of this client; or ``later``, by ``theanine remember`` or
            ``client.remember()``.
        on_remembered: called with the report of each session that was remembered in the background.

    Raises SettingsError for an unknown name and MissingExtra for an extra that isn't installed;
    when the store is opened, NotAStore for a file that isn't a store.
    """

    location: str | Store = "memory.db"
    _: KW_ONLY
    method: str | Method | None = None
    model: str | ChatModel = "local"
    embedder: str | Embedder = "local"
    reranker: str | Reranker | None = None
    base_url: str | None = None
    model_settings: ModelSettings | Mapping[str, Any] | None = None
    memory_model: str | ChatModel | None = None
    memory_base_url: str | None = None
    memory_settings: ModelSettings | Mapping[str, Any] | None = None
    limits: Limits | None = None
    config: object = None
    ranking: RankingConfig | None = None
    reranked: int = DEFAULT_RERANK_DEPTH
    seed: int = 0
    clock: Clock = system_clock
    pause: timedelta | None = timedelta(minutes=30)
    remembering: RememberWhen = "now"
    on_remembered: Callable[[RememberReport], object] | None = None

    def __post_init__(self) -> None:
        if self.pause is not None and self.pause <= timedelta(0):
            raise SettingsError(f"the pause must be longer than 0, not {self.pause}")
        if self.remembering not in get_args(RememberWhen):
            raise SettingsError(
                f"remembering must be {', '.join(get_args(RememberWhen))}, not {self.remembering!r}"
            )
        for option, attribute in _ATTRIBUTES.items():
            value = getattr(self, option)
            optional = value is None and option == "memory_model"
            if not (optional or isinstance(value, str) or hasattr(value, attribute)):
                raise SettingsError(f"{option} must be a string, not {type(value).__name__}")


_ATTRIBUTES = {"location": "location", "model": "name", "memory_model": "name", "embedder": "name"}
"""An attribute of the objects that may stand in for a name."""


def takes_options(
    options: Callable[P, OpenOptions],
) -> Callable[[Callable[[OpenOptions], R]], Callable[P, R]]:
    """Return a decorator: the function takes the fields of :class:`OpenOptions` as arguments."""

    def decorate(open_with: Callable[[OpenOptions], R]) -> Callable[P, R]:
        @wraps(open_with)
        def opener(*args: P.args, **kwargs: P.kwargs) -> R:
            return open_with(options(*args, **kwargs))

        about = cleandoc(OpenOptions.__doc__ or "").partition("\n")[2]
        opener.__doc__ = f"{cleandoc(open_with.__doc__ or '')}\n{about}"
        setattr(opener, "__signature__", signature(options))  # noqa: B010
        return opener

    return decorate


class RecallArguments(TypedDict, total=False):
    """Arguments of every recall and reply; see :meth:`AsyncUserMemory.recall`."""

    budget: int | None
    limit: int | None
    min_relevance: float | None
    since: datetime | date | None
    until: datetime | date | None
    as_of: datetime | date | None
    where: Where | None


def recall_options(
    *,
    budget: int | None = None,
    limit: int | None = None,
    min_relevance: float | None = None,
    since: datetime | date | None = None,
    until: datetime | date | None = None,
    as_of: datetime | date | None = None,
    where: Where | None = None,
) -> RecallOptions:
    """Return the options of a recall; a date is its first or its last moment in UTC.

    Raises SettingsError for a value out of range.
    """
    return RecallOptions(
        budget=budget,
        limit=limit,
        min_relevance=min_relevance,
        since=_moment("since", since, time.min),
        until=_moment("until", until, time.max),
        as_of=_moment("as_of", as_of, time.max),
        where=Filter.parse(where),
    )


def _moment(name: str, value: datetime | date | None, time_of_day: time) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    if not isinstance(cast("object", value), date):
        raise SettingsError(f"{name} must be a date or a datetime, not {value!r}")
    return datetime.combine(value, time_of_day, UTC)
