"""Memory methods: their interface and registry, and one package for each method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theanine.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from theanine.methods.base import Context, Estimate, Method, Reply
    from theanine.methods.registry import (
        DEFAULT,
        METHODS,
        method_class,
        names,
        open_method,
    )

__all__ = [
    "DEFAULT",
    "METHODS",
    "Context",
    "Estimate",
    "Method",
    "Reply",
    "method_class",
    "names",
    "open_method",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "base": "Context Estimate Method Reply",
        "registry": "DEFAULT METHODS method_class names open_method",
    },
)
