"""What a scripted server can answer, and everything that can go wrong with an answer."""

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
        message, code: what the body says.
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
    """The answer of ``then``, cut after ``at`` characters; None: the default answer."""

    at: int
    then: str | None = None
    finish: str = "length"


@dataclass(frozen=True, slots=True)
class Delay:
    """The answer of ``then`` comes ``seconds`` late; None: the default answer."""

    seconds: float
    then: Outcome | None = None


Outcome = str | Reply | Status | Drop | Truncate | Delay
"""What a script gives for one request; a plain string is the text of a good reply."""


def status(
    code: int, retry_after: float | None = None, message: str = "scripted failure"
) -> Status:
    """An HTTP error, such as ``status(429, retry_after=2)`` or ``status(500)``."""
    return Status(code, retry_after, message)


def delay(seconds: float, then: Outcome | None = None) -> Delay:
    """An answer that comes late."""
    return Delay(seconds, then)


def drop() -> Drop:
    """A connection closed without a word."""
    return Drop()


def truncate(at: int, then: str | None = None, finish: str = "length") -> Truncate:
    """A reply cut off after ``at`` characters."""
    return Truncate(at, then, finish)


def empty() -> Reply:
    """A reply without words."""
    return Reply()


def refusal(text: str = "I can't help with that.") -> Reply:
    """A refusal, in the field that providers have for it."""
    return Reply(refusal=text)


def prose(text: str = "Sure! Here is what I think about it, in a few words.") -> Reply:
    """Chatter where JSON was asked for."""
    return Reply(text=text)


def big(kilobytes: int, character: str = "{") -> Reply:
    """A reply of so many thousand times one character; braces are the hardest to read."""
    return Reply(text=character * (kilobytes * 1000), output_tokens=kilobytes * 300)
