"""Measure on labeled conversations."""

from __future__ import annotations

from pkgutil import iter_modules
from typing import Any

from theanine.cli.lazy import LazyCommand, docstring_line, lazy_app, replace_renamed_options

RENAMED_OPTIONS = {"--measure": "--metric", "--reranked": "--rerank-depth"}


class _BenchCommand(LazyCommand):
    """The function of a module's own name, listed with the first line of the module's docstring."""

    def __init__(self, name: str) -> None:
        module = f"{__name__}.{name}"
        super().__init__(name, f"{module}:{name}", docstring_line(module))

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        args = replace_renamed_options(args, RENAMED_OPTIONS)
        return super().make_context(info_name, args, parent, **extra)


bench = lazy_app(
    [_BenchCommand(module.name) for module in iter_modules(__path__)],
    "Measure on labeled conversations.",
)
