"""Measure on labeled conversations."""

from __future__ import annotations

from pkgutil import iter_modules

from theanine.cli.lazy import LazyCommand, docstring_line, lazy_app

_HELP = "Measure on labeled conversations."


def _commands() -> list[LazyCommand]:
    """Return a command for each module of this package: its function of the module's name."""
    names = [module.name for module in iter_modules(__path__)]
    modules = {name: f"{__name__}.{name}" for name in names}
    return [
        LazyCommand(name, f"{module}:{name}", docstring_line(module))
        for name, module in modules.items()
    ]


bench = lazy_app(_commands(), _HELP)
