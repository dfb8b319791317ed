"""Aliases for names that were renamed: each works for one release, with a DeprecationWarning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

C = TypeVar("C")


def warn_renamed(old: str, new: str, *, stacklevel: int = 3) -> None:
    """Warn that ``old`` goes in the next release and ``new`` replaces it."""
    warnings.warn(
        f"{old} is deprecated and goes in the next release; use {new}",
        DeprecationWarning,
        stacklevel=stacklevel,
    )


def renamed_fields(**new_names: str) -> Callable[[type[C]], type[C]]:
    """Return a class decorator that accepts old field names (``old="new"``).

    They can be read, and given to the constructor.
    """

    def decorate(cls: type[C]) -> type[C]:
        for old, new in new_names.items():
            setattr(cls, old, _alias(cls.__name__, old, new))
        accept: Any = cls.__init__

        @wraps(accept)
        def init(self: C, *args: Any, **kwargs: Any) -> None:
            if not new_names.keys().isdisjoint(kwargs):
                for old, new in new_names.items():
                    if old in kwargs:
                        warn_renamed(f"{cls.__name__}({old}=…)", f"{new}=…")
                        kwargs[new] = kwargs.pop(old)
            accept(self, *args, **kwargs)

        setattr(cls, "__init__", init)  # noqa: B010 (not assignable for a type checker)
        return cls

    return decorate


def _alias(owner: str, old: str, new: str) -> property:
    def read(self: object) -> Any:
        warn_renamed(f"{owner}.{old}", new)
        return getattr(self, new)

    return property(read, doc=f"Deprecated: use ``{new}``.")
