"""What calling a language model took."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Counts of one run; add two with ``+``.

    Attributes:
        calls: calls that were answered and paid in this run.
        replayed: answers taken from the journal instead, paid by an earlier run.
        failed: calls that found no answer.
        input_tokens, output_tokens: of ``calls``, as the provider counted them.
        cost: US dollars of ``calls``; None as soon as one has no known price.
        seconds: time spent waiting for the model, summed over concurrent calls.
    """

    calls: int = 0
    replayed: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        known = self.cost is not None and other.cost is not None
        return Usage(
            calls=self.calls + other.calls,
            replayed=self.replayed + other.replayed,
            failed=self.failed + other.failed,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=(self.cost or 0.0) + (other.cost or 0.0) if known else None,
            seconds=self.seconds + other.seconds,
        )
