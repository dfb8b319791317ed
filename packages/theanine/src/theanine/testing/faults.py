"""Outcomes of a request to a scripted server: answers and all kinds of failures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A completed answer.

    Attributes:
        text: the message's words.
        finish: the finish reason: ``stop``, ``length`` or ``content_filter``.
        refusal: when given, the message refuses in these words instead.
        input_tokens, output_tokens: reported usage; None counts with the bundled tokenizer.
    """

    text: str = ""
    finish: str = "stop"
    refusal: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP error.

    Attributes:
        status: such as 429.
        retry_after: seconds; ``Retry-After`` gets it rounded up, ``Retry-After-Ms`` exactly.
        message, code: fields of the body.
    """

    status: int
    retry_after: float | None = None
    message: str = "scripted failure"
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection is closed without an answer."""


@dataclass(frozen=True, slots=True)
class Truncate:
    """The answer ``then``, or by default the usual one, cut after ``at`` characters."""

    at: int
    then: str | None = None
    finish: str = "length"


@dataclass(frozen=True, slots=True)
class Delay:
    """The outcome ``then``, or by default the usual answer, after ``seconds``."""

    seconds: float
    then: Outcome | None = None


Outcome = str | Reply | Status | Drop | Truncate | Delay
"""Outcome of one request; a string is the text of a good reply."""


def status(
    code: int, retry_after: float | None = None, message: str = "scripted failure"
) -> Status:
    """An HTTP error, such as ``status(429, retry_after=2)`` or ``status(500)``."""
    return Status(code, retry_after, message)


def delay(seconds: float, then: Outcome | None = None) -> Delay:
    """Delay an answer."""
    return Delay(seconds, then)


def drop() -> Drop:
    """Close the connection without an answer."""
    return Drop()


def truncate(at: int, then: str | None = None, finish: str = "length") -> Truncate:
    """A reply cut off after ``at`` characters."""
    return Truncate(at, then, finish)


def empty() -> Reply:
    """A reply without text."""
    return Reply()


def refusal(text: str = "I can't help with that.") -> Reply:
    """A refusal, in the API's field for it."""
    return Reply(refusal=text)


def prose(text: str = "Sure! Here is what I think about it, in a few words.") -> Reply:
    """Prose instead of the requested JSON."""
    return Reply(text=text)


def big(kilobytes: int, character: str = "{") -> Reply:
    """A reply of one repeated character; braces are the hardest to parse."""
    return Reply(text=character * (kilobytes * 1000), output_tokens=kilobytes * 300)
