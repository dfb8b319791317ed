"""Outcomes of a request to a scripted server: answers and all kinds of failures."""

from __future__ import annotations

from dataclasses import dataclass

from theanine.llm.base import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A completed answer.

    Attributes:
        text: the message's text.
        finish: the finish reason: ``stop``, ``length`` or ``content_filter``.
        refusal: text of a refusal, which takes the place of ``text``.
        input_tokens, output_tokens: reported usage; None counts with the bundled tokenizer.
        tool_calls: calls that the model asks for.
        pause: seconds between the words of a streamed answer.
        break_after: close the connection after so many words of a streamed answer.
    """

    text: str = ""
    finish: str = "stop"
    refusal: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    pause: float = 0.0
    break_after: int | None = None


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
    """Close the connection without an answer."""


@dataclass(frozen=True, slots=True)
class Truncate:
    """The answer ``then``, or else the default one, cut after ``at`` characters."""

    at: int
    then: str | None = None
    finish: str = "length"


@dataclass(frozen=True, slots=True)
class Delay:
    """The outcome ``then``, or else the default answer, after ``seconds``."""

    seconds: float
    then: Outcome | None = None


Outcome = str | Reply | Status | Drop | Truncate | Delay
"""Outcome of one request; a string is the text of a good reply."""


status, drop, truncate, delay = Status, Drop, Truncate, Delay
"""The outcomes as scripts write them, such as ``delay(0.5, status(429, retry_after=2))``."""


def empty() -> Reply:
    """Return a reply without text."""
    return Reply()


def refusal(text: str = "I can't help with that.") -> Reply:
    """Return a refusal, in the API's field for it."""
    return Reply(refusal=text)


def prose(text: str = "Sure! Here is what I think about it, in a few words.") -> Reply:
    """Return prose instead of the requested JSON."""
    return Reply(text=text)


def big(kilobytes: int, character: str = "{") -> Reply:
    """Return a reply of one repeated character; braces are the hardest to parse."""
    return Reply(text=character * (kilobytes * 1000), output_tokens=kilobytes * 300)
