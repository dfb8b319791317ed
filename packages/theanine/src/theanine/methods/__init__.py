"""Memory methods: their interface and registry, and one package for each method."""

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
