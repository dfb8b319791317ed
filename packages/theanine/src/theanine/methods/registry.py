"""Methods by id: the built-in ones, and those that installed distributions register."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from theanine.errors import MissingExtra, SettingsError
from theanine.suggestion import suggest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

    from theanine.methods.base import Method

GROUP = "theanine.methods"
"""Entry point group in which a package registers methods: ``id = "module:Class"``."""

METHODS: Mapping[str, str] = {
    "theanine": "theanine.methods.theanine.method:Theanine",
    "theanine-paper": "theanine.methods.theanine.paper:TheaninePaper",
}
"""The built-in methods and their classes, which are imported on first use."""

EXTRA_METHODS = (
    "no-memory",
    "full-history",
    "all-memories",
    "memory-retrieval",
    "utterance",
    "exchange",
    "session",
    "secom",
    "memory-update",
    "memorybank",
    "recursive-summary",
    "summary-buffer",
    "conditional",
    "memochat",
    "comedy",
)
"""The methods of the distribution ``theanine-methods``, which the extra ``methods`` installs."""

DEFAULT = "theanine"
"""The method of a new store when none is named."""

PARTS = ("name", "Config", "remember", "recall", "respond", "estimate")
"""The attributes that every method class must have."""


def names() -> list[str]:
    """Return the ids of all methods that are installed, the built-in ones first."""
    installed = {point.name for point in _installed()}
    ours = [*METHODS, *(name for name in EXTRA_METHODS if name in installed)]
    return [*ours, *sorted(installed - set(ours))]


def method_class(name: str) -> Any:
    """Return the class of a method; it is called with a ``Config`` instance or None.

    Raises SettingsError for an unknown id, and for a package that fails to import or registers
    something other than a method; MissingExtra for a method of the extra ``methods`` without it.
    """
    if target := METHODS.get(name):
        module, _, attribute = target.partition(":")
        return getattr(import_module(module), attribute)
    for point in _installed():
        if point.name != name:
            continue
        try:
            return _checked(point.load(), point)
        except (ImportError, AttributeError, SyntaxError) as error:
            raise SettingsError(
                f"the method {name} of {point.value} failed to load: {error}"
            ) from error
    if name in EXTRA_METHODS:
        raise MissingExtra("methods", f"the method {name}")
    raise SettingsError(
        f"unknown method {name!r}{suggest(name, names())}; there are: {', '.join(names())}"
    )


def current_method(name: str, config: Any, *, warn: bool = True) -> tuple[str, Any]:
    """Return the id of the method that an id and settings mean now, and its settings.

    The settings may be those that another method has now, which gives a FutureWarning, but for
    ``warn=False``, which is for what is read from old data. Raises SettingsError for an unknown
    method and for settings that exclude each other.
    """
    redirect = getattr(method_class(name), "redirect", None)
    return redirect(config, warn=warn) if redirect else (name, config)


def stored_method(name: str) -> str:
    """Return the id under which the memories of a method are stored, given its own id.

    A method that isn't installed has its own.
    """
    from theanine.methods.base import stored_id

    is_installed = name in METHODS or name in names()
    return stored_id(method_class(name)) if is_installed else name


def _installed() -> EntryPoints:
    return _installed_on(tuple(sys.path), tuple(sys.meta_path))


@cache
def _installed_on(path: tuple[str, ...], finders: tuple[object, ...]) -> EntryPoints:
    """Return the methods of the distributions of a path: to read them takes some 50 ms."""
    from importlib.metadata import entry_points  # takes long, and the default needs none

    return entry_points(group=GROUP)


def _checked(kind: Any, point: EntryPoint) -> Any:
    if missing := [part for part in PARTS if not hasattr(kind, part)]:
        raise SettingsError(
            f"the method {point.name} of {point.value} has no {missing[0]}: a method needs "
            f"{', '.join(PARTS)}; see docs/own-method.md"
        )
    if kind.name != point.name:
        raise SettingsError(
            f"the method {point.name} of {point.value} has the name {kind.name!r}, under which its "
            "memories would be stored; use the same name in both places"
        )
    return kind


def open_method(name: str, config: object = None) -> Method:
    """Create a method from its config object, from settings by name, or with the defaults (None).

    Settings by name may be strings, as on the command line. ``{"paper": True}`` starts from the
    paper's settings, and one of the config's ``paper_versions``, such as ``{"paper": "2024"}``,
    from that version's. Raises SettingsError for an unknown method, setting or value.
    """
    name, config = current_method(name, config)
    kind = method_class(name)
    if config is None or isinstance(config, kind.Config):
        return cast("Method", kind(config))
    if not isinstance(config, Mapping):
        raise SettingsError(
            f"the method {name} takes a {kind.Config.__name__}, not a {type(config).__name__}"
        )
    return cast("Method", kind(_parse(name, kind.Config, cast("Mapping[str, Any]", config))))


def all_settings(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings of a method by name: those given, as :func:`open_method` takes them, and
    the others' defaults.

    Raises SettingsError for an unknown method, setting or value.
    """
    name, settings = current_method(name, settings)
    return asdict(_parse(name, method_class(name).Config, settings))


def _parse(name: str, kind: Any, settings: Mapping[str, Any]) -> Any:
    from pydantic import TypeAdapter, ValidationError  # takes long to load

    valid = {field.name for field in fields(kind)}
    if unknown := sorted(map(str, set(settings) - valid - {"paper"})):
        raise SettingsError(
            f"the method {name} has no setting {unknown[0]}{suggest(unknown[0], valid)}; it has: "
            f"{', '.join(sorted(valid))}"
        )
    paper = _paper(name, kind, settings.get("paper", False))
    values = {key: value for key, value in settings.items() if key != "paper"}
    try:
        return TypeAdapter(kind).validate_python({**(asdict(paper) if paper else {}), **values})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"setting {where} of the method {name}: {first['msg']}") from None


def _paper(name: str, kind: Any, value: object) -> Any:
    """Return the settings of the paper, or of the version of it, that ``value`` asks for."""
    from pydantic import TypeAdapter, ValidationError

    versions: tuple[str, ...] = getattr(kind, "paper_versions", ())
    if str(value) in versions:
        return kind.paper(str(value))
    try:
        wanted = TypeAdapter(bool).validate_python(value)
    except ValidationError:
        named = ", ".join(("true", "false", *versions))
        raise SettingsError(f"paper must be one of {named}, not {value!r}") from None
    if not wanted:
        return None
    if not hasattr(kind, "paper"):
        raise SettingsError(f"the method {name} has no settings of a paper: omit paper=true")
    return kind.paper()
