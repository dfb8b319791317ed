"""The options of :func:`theanine.open`, and of each recall."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, fields
from datetime import date, datetime, time, timedelta
from functools import wraps
from inspect import cleandoc, signature
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypedDict, TypeVar, cast

from theanine.client.arguments import check_type, resolve_hints
from theanine.client.redaction import Redact
from theanine.clock import Clock, system_clock
from theanine.embeddings.base import Embedder, Reranker
from theanine.ends import VERIFY_BY, end_text
from theanine.errors import SettingsError
from theanine.filters import Filter, Where
from theanine.lazy_exports import lazy_exports
from theanine.llm.base import ChatModel
from theanine.llm.limits import Limits
from theanine.retrieval.rerank import DEFAULT_RERANK_DEPTH
from theanine.store.base import Store
from theanine.store.values import Listing

if TYPE_CHECKING:
    from theanine.llm.prompt_folder import PromptFolder
    from theanine.llm.settings import ModelSettings
    from theanine.methods.base import Method
    from theanine.recall.context import RecallOptions
    from theanine.remembering.report import RememberReport
    from theanine.retrieval.ranking import RankingConfig

__getattr__ = lazy_exports(
    "theanine",
    {
        "llm.prompt_folder": "PromptFolder",
        "llm.settings": "ModelSettings",
        "methods.base": "Method",
        "recall.context": "RecallOptions",
        "remembering.report": "RememberReport",
        "retrieval.ranking": "RankingConfig",
    },
)

RememberWhen = Literal["now", "background", "later"]
"""When a session that ended is remembered."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """Options of a client. Where a name is expected, an object of that kind will do as well.

    Args:
        location: a file, created if missing, in a folder that exists.
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
        memory_settings: how it writes; None is ``model_settings``, without their ``max_tokens``, if
            it is the same model at the same server, or else the defaults.
        limits: retries, time-outs and budgets of the model.
        prompts: a folder of prompts in place of the method's own, such as a paper's: files named
            by step and version, ``refine.v2.md``, or by step, method and version.
        config: the method's settings: its config object, such as ``TheanineConfig``, or a mapping.
        ranking: weights of the kinds of evidence in ``hybrid`` retrieval.
        reranked: how many of the best memories the reranker reads.
        seed: seed of the method's random choices; the same seed gives the same recollection.
        clock: returns the present time.
        pause: a session with a key is over when nothing was said for so long; None for never.
        remembering: when a session that ends is remembered: ``now``, before the call that ends it
            returns; in the ``background`` of this client; or ``later``, by ``theanine remember`` or
            ``client.remember()``.
        redact: replaces secrets and personal data in what is said and imported, before any of it is
            stored or sent to a model: a function of a text, or names of kinds: ``secrets``,
            ``emails``, ``ibans``, ``cards`` and ``phones`` (these need the extra ``redact``).
        on_remembered: called with the report of each session that was remembered in the background.

    Raises SettingsError for an unknown name and MissingExtra for an extra that isn't installed;
    when the store is opened, NotFound for a folder that doesn't exist and NotAStore for a file that
    isn't a store.
    """

    location: str | PathLike[str] | Store = "memory.db"
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
    prompts: str | PathLike[str] | PromptFolder | None = None
    config: object = None
    ranking: RankingConfig | None = None
    reranked: int = DEFAULT_RERANK_DEPTH
    seed: int = 0
    clock: Clock = system_clock
    pause: timedelta | None = timedelta(minutes=30)
    remembering: RememberWhen = "now"
    on_remembered: Callable[[RememberReport], object] | None = None
    redact: Redact | str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        given = [
            option for option in fields(self) if getattr(self, option.name) is not option.default
        ]
        hints = resolve_hints({option.name: option.type for option in given}, __name__)
        for option in given:
            check_type(option.name, getattr(self, option.name), hints[option.name])
        if self.pause is not None and self.pause <= timedelta(0):
            raise SettingsError(f"the pause must be longer than 0, not {self.pause}")
        for option, attribute in _ATTRIBUTES.items():
            value: object = getattr(self, option)
            is_named = isinstance(value, str) or hasattr(value, attribute)
            optional = value is None and option in ("method", "memory_model", "reranker")
            is_path = isinstance(value, PathLike) and option == "location"
            if not (is_named or optional or is_path):
                kind = type(cast("object", value)).__name__
                raise SettingsError(f"{option} must be a string, not {kind}")


_ATTRIBUTES = {
    "location": "location",
    **dict.fromkeys(("method", "model", "memory_model", "embedder", "reranker"), "name"),
}
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
        returns = signature(open_with).return_annotation
        shown = signature(options).replace(return_annotation=returns)
        setattr(opener, "__signature__", shown)  # noqa: B010
        return opener

    return decorate


Moment = datetime | date | str
"""A time, a day, or its name: see :func:`read_moment`."""


class RecallArguments(TypedDict, total=False):
    """Arguments of every recall and reply; see :meth:`AsyncUserMemory.recall`."""

    budget: int | None
    limit: int | None
    min_relevance: float | None
    since: Moment | None
    until: Moment | None
    as_of: Moment | None
    where: Where | None
    profile: bool
    deadline: float | None


SEARCH_LIMIT = 10
"""Hits of a search without ``limit``."""


class SearchArguments(TypedDict, total=False):
    """Arguments of a search; see :meth:`AsyncUserMemory.search`."""

    limit: int
    exact: bool
    speaker: str | None
    session: int | None
    oldest_first: bool
    min_relevance: float | None
    since: Moment | None
    until: Moment | None
    as_of: Moment | None
    where: Where | None


class ListArguments(TypedDict, total=False):
    """Arguments of every list; see :meth:`AsyncUserMemory.memories`."""

    limit: int | None
    after: int | None
    newest_first: bool
    search: str
    since: Moment | None
    until: Moment | None
    where: Where | None
    due: bool


def recall_options(now: datetime, arguments: RecallArguments) -> RecallOptions:
    """Return the options of a recall. Days are read in the time zone of ``now``.

    Raises SettingsError for a value out of range.
    """
    from theanine.recall.context import RecallOptions

    return RecallOptions(
        budget=arguments.get("budget"),
        limit=arguments.get("limit"),
        min_relevance=arguments.get("min_relevance"),
        since=read_moment("since", arguments.get("since"), now),
        until=read_moment("until", arguments.get("until"), now, end=True),
        as_of=read_moment("as_of", arguments.get("as_of"), now, end=True),
        where=Filter.parse(arguments.get("where")),
        profile=bool(arguments.get("profile")),
        deadline=arguments.get("deadline"),
    )


def search_bounds(arguments: SearchArguments) -> RecallArguments:
    """Return the bounds of a search as arguments of a recall, which its limit doesn't limit."""
    return RecallArguments(
        limit=None,
        min_relevance=arguments.get("min_relevance"),
        since=arguments.get("since"),
        until=arguments.get("until"),
        as_of=arguments.get("as_of"),
        where=arguments.get("where"),
    )


EXACT_ONLY = ("speaker", "session", "oldest_first")
"""Arguments of a search that only an exact one takes."""


def check_search(arguments: SearchArguments) -> None:
    """Raise SettingsError for arguments of a search that are out of range or don't go together."""
    limit, exact = arguments.get("limit", SEARCH_LIMIT), arguments.get("exact")
    if limit < 1:
        raise SettingsError(f"the limit must be at least 1, not {limit}")
    if exact and arguments.get("min_relevance") is not None:
        raise SettingsError(
            "an exact search finds all turns that have the words, whatever their relevance: leave "
            "min_relevance or exact out"
        )
    if not exact and (given := [name for name in EXACT_ONLY if arguments.get(name)]):
        raise SettingsError(f"{' and '.join(given)} needs an exact search: add exact=True")


def list_options(now: datetime, arguments: ListArguments) -> Listing:
    """Return the options of a list. Days are read in the time zone of ``now``.

    Raises SettingsError for a value out of range.
    """
    limit, after = arguments.get("limit"), arguments.get("after")
    search = arguments.get("search", "")
    if limit is not None and limit < 1:
        raise SettingsError(f"the limit must be at least 1, not {limit}")
    due = bool(arguments.get("due"))
    where = Filter.parse(arguments.get("where"))
    if due:
        where &= Filter.parse({VERIFY_BY: {"<=": end_text(now)}})
    return Listing(
        limit=limit,
        after=after,
        newest_first=bool(arguments.get("newest_first")),
        search=search,
        since=read_moment("since", arguments.get("since"), now),
        until=read_moment("until", arguments.get("until"), now, end=True),
        where=where,
        in_effect=due,
    )


_AGO = re.compile(r"(\d{1,4}) (day|week|month|year)s? ago")
_MAX_DATE_WORDS = 5
"""More words are a sentence, not a date."""
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


def read_moment(
    name: str, value: Moment | None, now: datetime, *, end: bool = False
) -> datetime | None:
    """Return the moment that a caller named, aware.

    A day is its first moment or, with ``end``, its last, in the time zone of ``now``. In words it
    is ``2024-05-01``, ``2024-05-01T18:00``, ``3 weeks ago`` (a month has 30 days, a year 365), or
    what :mod:`theanine.retrieval.temporal` reads, such as ``yesterday``, ``last week`` or ``May
    2024``: its first day or, with ``end``, its last.

    Raises SettingsError, which names the argument.
    """
    if isinstance(value, str):
        value = _read_words(name, value, now, end=end)
    if isinstance(value, datetime) and value.utcoffset() is None:
        raise SettingsError(f"{name} needs a UTC offset, such as {value.isoformat()}+00:00")
    if value is None or isinstance(value, datetime):
        return value
    return datetime.combine(value, time.max if end else time.min, now.tzinfo)


def _read_words(name: str, words: str, now: datetime, *, end: bool) -> datetime | date:
    plain = words.strip().casefold()
    with suppress(ValueError, OverflowError):
        if match := _AGO.fullmatch(plain):
            return now.date() - timedelta(days=int(match[1]) * _DAYS[match[2]])
        return date.fromisoformat(plain)
    try:
        moment = datetime.fromisoformat(words.strip())
    except ValueError:
        from theanine.retrieval.temporal import find_date_ranges

        today = now.date()
        ranges = find_date_ranges(f"in {plain}", (today.year, today.year - 1), today)
        begun = [found for found in dict.fromkeys(ranges) if found[0] <= today]
        if not begun or len(plain.split()) > _MAX_DATE_WORDS:
            raise SettingsError(
                f"{name} ({words!r}) is not a date; write it as 2024-05-01, 2024-05-01T18:00, "
                "yesterday, last week, May 2024 or 3 weeks ago"
            ) from None
        return begun[0][1 if end else 0]
    return moment if moment.utcoffset() is not None else moment.replace(tzinfo=now.tzinfo)
