"""Names that were renamed or removed: they are accepted for one release, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

C = TypeVar("C")


def warn_renamed(old: str, new: str) -> None:
    """Warn the caller's caller that ``new`` replaces ``old``."""
    warnings.warn(
        f"{old} is deprecated and will go in the next release; use {new}",
        DeprecationWarning,
        stacklevel=3,
    )


def renamed_fields(*, constructor: bool = False, **new_names: str) -> Callable[[type[C]], type[C]]:
    """Return a class decorator that lets fields be read under their old names (``old="new"``).

    With ``constructor``, old names are also accepted as keyword arguments.
    """

    def decorate(cls: type[C]) -> type[C]:
        for old, new in new_names.items():
            setattr(cls, old, _alias(f"{cls.__name__}.{old}", new))
        if constructor:
            _accept_old_names(cls, new_names)
        return cls

    return decorate


def removed_fields(**reasons: str) -> Callable[[type[C]], type[C]]:
    """Return a class decorator that lets the constructor ignore former fields (``old="reason"``).

    The warning says the reason why a field is of no use any more.
    """

    def decorate(cls: Any) -> Any:
        init = cls.__init__

        @wraps(init)
        def ignore(self: Any, *args: Any, **kwargs: Any) -> None:
            for old in reasons.keys() & kwargs.keys():
                warnings.warn(
                    f"{cls.__name__}({old}=…) has no effect and will be an error in the next "
                    f"release; remove it: {reasons[old]}",
                    DeprecationWarning,
                    stacklevel=2,
                )
                del kwargs[old]
            init(self, *args, **kwargs)

        cls.__init__ = ignore
        return cls

    return decorate


def _alias(old: str, new: str) -> property:
    def read(self: object) -> Any:
        warn_renamed(old, new)
        return getattr(self, new)

    return property(read, doc=f"Deprecated: use ``{new}``.")


def _accept_old_names(cls: Any, new_names: dict[str, str]) -> None:
    init = cls.__init__

    @wraps(init)
    def accept(self: Any, *args: Any, **kwargs: Any) -> None:
        if not new_names.keys().isdisjoint(kwargs):
            for old in new_names.keys() & kwargs.keys():
                warn_renamed(f"{cls.__name__}({old}=…)", f"{new_names[old]}=…")
                kwargs[new_names[old]] = kwargs.pop(old)
        init(self, *args, **kwargs)

    cls.__init__ = accept
