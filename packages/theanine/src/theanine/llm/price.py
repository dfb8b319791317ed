"""What calls will cost, before they are made."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class PricedModel(Protocol):
    """A chat model whose price can be looked up."""

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """US dollars for so many tokens in all; None when the price is unknown."""
        ...
