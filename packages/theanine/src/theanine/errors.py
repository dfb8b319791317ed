"""The error types.

::

    TheanineError
    ├── UserError            the caller's mistake; the command line exits with 2
    │   ├── BadInput         a malformed turn, date, file or line
    │   ├── NotFound         no such user, session or memory
    │   ├── SettingsError    an invalid option or setting
    │   ├── MissingExtra     an optional dependency isn't installed
    │   ├── NotAStore        the file isn't a store, or a newer theanine wrote it
    │   └── EmbedderMismatch the store's vectors come from another embedder
    ├── StoreError           the disk or the database failed at run time
    │   ├── DamagedData      a stored value can't be read; others can
    │   ├── StoreUnavailable no connection, or too busy: nothing was stored, try again
    │   ├── StoreFull        the disk is full: nothing was stored, free some space
    │   ├── WriteUnconfirmed the connection was lost during a commit: it may have been stored
    │   ├── LeaseLost        another process took over remembering in this scope
    │   └── Stale            something was forgotten while a text was made from it
    ├── ModelError           the language model or the embedder failed at run time
    │   ├── ModelUnavailable no reply after all retries (429, 5xx, time-out, lost connection)
    │   ├── ModelRejected    the provider refused the request (key, model name, size)
    │   ├── UnusableReply    the reply doesn't fit the schema, even after repairs
    │   └── BudgetExceeded   the next call would exceed the token or cost budget
    ├── CommandFailedToLoad  a command of another package can't be imported
    ├── FetchFailed          a public data set could not be downloaded intact
    └── RememberingFailed    a session is in the log but could not be remembered

A message says what is wrong, where, and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping

METRIC_NOTE = "raised by the metric "
"""Prefix of the note that names the metric whose code raised an exception."""


NO_SUCH_PATH = "there is no such path"
"""Beginning of the service's answer for a path that it lacks, by which a client knows that it may
speak to something else."""

BENCH_INSTALLATION = (
    "pip install theanine-bench, or in a checkout: "
    "pip install packages/theanine-methods packages/theanine-bench"
)
"""Shell command that installs ``bench``, ``compare``, ``rate`` and ``teafarm``, for messages."""

EXTRA_DISTRIBUTIONS: Mapping[str, str] = {
    "anthropic": "theanine-adapters",
    "claude-agent-sdk": "theanine-adapters",
    "google-adk": "theanine-adapters",
    "langchain": "theanine-adapters",
    "langgraph": "theanine-adapters",
    "llama-index": "theanine-adapters",
    "llmlingua": "theanine-methods",
    "mcp": "theanine-server",
    "methods": "theanine-methods",
    "openai-agents": "theanine-adapters",
    "pydantic-ai": "theanine-adapters",
    "pydantic-ai-harness": "theanine-adapters",
    "segmenter": "theanine-methods",
    "server": "theanine-server",
}
"""The distribution that an extra of ``theanine`` installs, if it is one of the same repository."""


class TheanineError(Exception):
    """Base class of all errors that theanine raises."""


class UserError(TheanineError):
    """The caller's mistake: the call has to be changed."""


class BadInput(UserError):
    """A malformed turn, date, file or line.

    Attributes:
        where: the location of the fault, such as ``"talk.jsonl, line 7"``; empty for a call from
            Python.
    """

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where


class NotFound(UserError):
    """No such user, session or memory in the store."""


class SettingsError(UserError):
    """An invalid option or setting, or an invalid combination."""


class MissingExtra(UserError):
    """An optional dependency isn't installed.

    Args:
        extra: the extra's name, as in ``pip install 'theanine[models]'``.
        purpose: what needs it.
        package: the distribution that offers the extra.
    """

    def __init__(self, extra: str, purpose: str, package: str = "theanine") -> None:
        folders = f"'packages/{package}[{extra}]'"
        if package == "theanine" and (brought := EXTRA_DISTRIBUTIONS.get(extra)):
            folders = f"packages/{brought} {folders}"  # pip looks for it elsewhere otherwise
        super().__init__(
            f"{purpose} needs an optional part: pip install '{package}[{extra}]' "
            f"(in a checkout: {folders})"
        )
        self.extra = extra


class NotAStore(UserError):
    """The file isn't a store, or a newer theanine wrote it."""


class EmbedderMismatch(UserError):
    """The store's vectors come from another embedder or have another dimension."""


class StoreError(TheanineError):
    """The disk or the database failed at run time: full, read-only, locked or damaged."""


class StoreUnavailable(StoreError):
    """The database can't be reached or is too busy, even after some tries; nothing was stored.

    The same call may succeed later, with nothing changed. A service answers with 503.
    """


class StoreFull(StoreError):
    """The disk of the store is full; nothing was stored.

    The same call succeeds once there is space, with nothing else changed. A service answers with
    507.
    """


class WriteUnconfirmed(StoreError):
    """The connection was lost during a commit, so the write may or may not have been stored.

    Repeating the call is safe for turns with ids (``hear(…, id=…)``), for transcripts and exports:
    what was stored is not stored again. For the rest, read what is stored first.
    """


class DamagedData(StoreError):
    """A stored value can't be read; the data of other users can."""


class LeaseLost(StoreError):
    """Another process took over remembering in this scope; nothing was committed."""


class Stale(StoreError):
    """Something was forgotten while a text was made from it; the text was discarded."""


class ModelError(TheanineError):
    """The language model or the embedder failed at run time."""


class ModelUnavailable(ModelError):
    """No reply after all retries: rate limit, server error, time-out or lost connection.

    Attributes:
        retry_after: seconds that the provider asked to wait, or None.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelRejected(ModelError):
    """The provider refused the request: key, model name, permissions or size."""


class UnusableReply(ModelError):
    """The model's reply doesn't fit the schema, even after repairs.

    Attributes:
        raw: the last reply, verbatim (it is in the journal as well).
    """

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw


class BudgetExceeded(ModelError):
    """The next call would exceed the token or cost budget."""


class CommandFailedToLoad(TheanineError):
    """A command that another package adds to ``theanine`` can't be imported."""


class FetchFailed(TheanineError):
    """A public data set could not be downloaded intact; no partial file is left."""


class RememberingFailed(TheanineError):
    """A session is in the log but could not be remembered; the next ``remember`` tries again."""
