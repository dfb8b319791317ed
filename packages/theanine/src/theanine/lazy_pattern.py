"""Regular expressions that are compiled when they are first used.

The large ones take tens of milliseconds each, and most commands need none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast


class _LazyPattern:
    """Has the attributes of the compiled expression."""

    def __init__(self, expression: str | Callable[[], str], flags: int) -> None:
        self._expression, self._flags = expression, flags

    def __getattr__(self, name: str) -> Any:
        compiled = self.__dict__.get("_compiled")
        if compiled is None:
            expression = self._expression
            text = expression if isinstance(expression, str) else expression()
            compiled = self._compiled = re.compile(text, self._flags)
        value = getattr(compiled, name)
        setattr(self, name, value)  # found without this method from now on
        return value


def lazy_pattern(expression: str | Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """Return what can be used like the compiled expression, which it makes when first used.

    ``expression`` may be a function that returns it, where that takes long as well.
    """
    return cast("re.Pattern[str]", _LazyPattern(expression, flags))
