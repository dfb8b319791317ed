"""List the methods that are installed, and the settings of one."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from importlib.metadata import entry_points
from inspect import getdoc
from typing import Annotated, Any

import typer

from theanine.cli.options import JsonOption
from theanine.cli.output import show_json
from theanine.cli.rendering import show_table
from theanine.errors import SettingsError
from theanine.methods.registry import GROUP, METHODS, all_settings, method_class, names

BUNDLED = "theanine"


def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="[METHOD]", help="List the settings of this method.")
    ] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """List the methods that are installed, and the settings of one.

    Methods of other packages, such as your own, are found by the entry points that they register.
    A method that fails to load is listed with the reason.

    \b
    theanine methods
    theanine methods secom
    """
    if name is not None:
        _show_settings(name, as_json=as_json)
        return
    packages = {point.name: _package(point) for point in entry_points(group=GROUP)}
    rows = [
        {"method": each, "package": BUNDLED if each in METHODS else packages[each], "about": about}
        for each, about in ((each, _about(each)) for each in names())
    ]
    if as_json:
        show_json(rows)
    else:
        show_table(["method", "from", ""], [[*row.values()] for row in rows])


def _show_settings(name: str, *, as_json: bool) -> None:
    config = method_class(name).Config
    published = all_settings(name, {"paper": True}) if hasattr(config, "paper") else {}
    rows = [
        {"setting": setting, "default": value, "paper": published.get(setting)}
        for setting, value in all_settings(name, {}).items()
    ]
    if as_json:
        show_json(rows)
        return
    heads = ["setting", "default", *(["paper=true"] if published else [])]
    show_table(heads, [[str(value) for value in row.values()][: len(heads)] for row in rows])


def _package(point: Any) -> str:
    return str(point.dist.name) if point.dist else str(point.value)


def _about(name: str) -> str:
    """Return the first line that describes a method: of its module, if that has no other."""
    try:
        kind = method_class(name)
    except SettingsError as error:
        return str(error)
    module = import_module(kind.__module__)
    targets = [*METHODS.values(), *(point.value for point in entry_points(group=GROUP))]
    shared = Counter(target.partition(":")[0] for target in targets)[kind.__module__] > 1
    text = getdoc(kind) if shared or not module.__doc__ else module.__doc__
    return (text or "").strip().partition("\n")[0]
