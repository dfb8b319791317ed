"""Measure on labeled conversations."""

from __future__ import annotations

from pkgutil import iter_modules

from theanine.cli.lazy import LazyCommand, docstring_line, lazy_app


class _BenchCommand(LazyCommand):
    """The function of a module's own name, listed with the first line of the module's docstring."""

    def __init__(self, name: str) -> None:
        module = f"{__name__}.{name}"
        super().__init__(name, f"{module}:{name}", docstring_line(module))


bench = lazy_app(
    [_BenchCommand(module.name) for module in iter_modules(__path__)],
    "Measure on labeled conversations.",
)
