"""Every error that theanine raises on purpose.

::

    TheanineError
    ├── UserError            the caller's mistake; the command line exits with 2
    │   ├── BadInput         a turn, a date, a file or a line of it that can't be taken
    │   ├── NotFound         a user, session or memory that isn't there
    │   ├── SettingsError    an option or setting that makes no sense
    │   ├── MissingExtra     an optional dependency that isn't installed
    │   ├── NotAStore        the file is no store of ours, or a newer theanine wrote it
    │   └── EmbedderMismatch the store's vectors come from another embedder
    ├── StoreError           the disk or the database failed at run time
    │   ├── LeaseLost        another process took over this scope's remembering
    │   └── Stale            what this was made of was forgotten meanwhile
    ├── ModelError           the language model or the embedder failed at run time
    │   ├── ModelUnavailable no answer within the retry budget (429, 5xx, time-out, dropped line)
    │   ├── ModelRejected    the provider refused the request itself (key, name, size)
    │   ├── UnusableReply    it answered, but not with what was asked, repairs included
    │   └── BudgetExceeded   the next call would pass the token or money budget
    ├── CommandFailedToLoad  a command of another package can't be imported
    ├── FetchFailed          a public data set could not be fetched whole and unchanged
    └── RememberingFailed    a session is safe in the log but not remembered yet

Every message says what is wrong, where, and what to do next.
"""

from __future__ import annotations


class TheanineError(Exception):
    """The root of all errors that theanine raises on purpose."""


class UserError(TheanineError):
    """The caller's mistake: mend the call and try again."""


class BadInput(UserError):
    """A turn, a date, a file or a line of it that can't be taken.

    Attributes:
        where: what the fault is in, such as ``"talk.jsonl, line 7"``; empty for a call from Python.
    """

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where


class NotFound(UserError):
    """A user, session or memory that isn't in the store."""


class SettingsError(UserError):
    """An option or a setting that makes no sense, alone or with another."""


class MissingExtra(UserError):
    """An optional dependency that isn't installed.

    Args:
        extra: the extra's name, as in ``pip install 'theanine[models]'``.
        purpose: what it is needed for.
    """

    def __init__(self, extra: str, purpose: str, package: str = "theanine") -> None:
        super().__init__(f"{purpose} needs an optional part: pip install '{package}[{extra}]'")
        self.extra = extra


class NotAStore(UserError):
    """The path holds no store of ours, or one that a newer theanine wrote."""


class EmbedderMismatch(UserError):
    """The store's vectors come from another embedder, or have another dimension."""


class StoreError(TheanineError):
    """The disk or the database failed at run time: full, read-only, locked, damaged."""


class LeaseLost(StoreError):
    """Another process took over this scope's remembering; nothing was committed here."""


class Stale(StoreError):
    """Something was forgotten while words were made of what was known; they were not kept."""


class ModelError(TheanineError):
    """The language model or the embedder failed at run time."""


class ModelUnavailable(ModelError):
    """No answer within the retry budget: rate limit, server error, time-out, dropped connection.

    Attributes:
        retry_after: seconds the provider asked to wait, if it said so.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelRejected(ModelError):
    """The provider refused the request itself: key, model name, permissions or size."""


class UnusableReply(ModelError):
    """The model answered, but not with what was asked, even after the repairs.

    Attributes:
        raw: the last reply as it came (it is in the journal as well).
    """

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw


class BudgetExceeded(ModelError):
    """The next call would pass the token or money budget that was set."""


class CommandFailedToLoad(TheanineError):
    """A command that another package adds to ``theanine`` can't be imported."""


class FetchFailed(TheanineError):
    """A public data set could not be fetched whole and unchanged; nothing half was kept."""


class RememberingFailed(TheanineError):
    """A session is safe in the log but not remembered yet; the next ``remember`` resumes it."""
