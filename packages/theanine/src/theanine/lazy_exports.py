"""Names of a package that are imported from its modules when they are first used.

A package that imports all of its modules makes each command wait for what it doesn't use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_exports(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package.

    Args:
        package: its name.
        homes: for each module, relative to the package, the names that it defines, separated by
            spaces.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}

    def find(name: str) -> object:
        if name in home:
            return getattr(import_module(f"{package}.{home[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
