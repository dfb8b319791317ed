"""Methods by name: ours, and those that an installed package offers under ``theanine.methods``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from theanine.errors import SettingsError
from theanine.methods.base import Method

GROUP = "theanine.methods"
"""The entry point group in which a package names its own methods: ``id = "module:Class"``."""

METHODS: Mapping[str, str] = {
    "theanine": "theanine.methods.theanine.method:Theanine",
    "no-memory": "theanine.methods.baselines.method:NoMemory",
    "full-history": "theanine.methods.baselines.method:FullHistory",
    "all-memories": "theanine.methods.statements.method:AllMemories",
    "memory-retrieval": "theanine.methods.statements.method:MemoryRetrieval",
    "utterance": "theanine.methods.units.method:Utterances",
    "turn": "theanine.methods.units.method:Exchanges",
    "session": "theanine.methods.units.method:Sessions",
    "secom": "theanine.methods.secom.method:Secom",
    "memory-update": "theanine.methods.memory_update.method:MemoryUpdate",
    "memorybank": "theanine.methods.memorybank.method:MemoryBank",
    "recursive-summary": "theanine.methods.recursive_summary.method:RecursiveSummary",
    "summary-buffer": "theanine.methods.summary_buffer.method:SummaryBuffer",
    "conditional": "theanine.methods.conditional.method:Conditional",
    "memochat": "theanine.methods.memochat.method:MemoChat",
    "comedy": "theanine.methods.comedy.method:Comedy",
}
"""Our methods, and where each one's class is. Loaded when asked for."""


DEFAULT = "theanine"
"""The method of a new store, where none is named."""

PARTS = ("name", "Config", "remember", "recall", "respond", "estimate")
"""What a method's class has."""


def names() -> list[str]:
    """Every method's id, ours first."""
    return [*METHODS, *sorted({point.name for point in entry_points(group=GROUP)} - set(METHODS))]


def method_class(name: str) -> Any:
    """The class of this name: made with its config or None, which is an instance of ``Config``.

    Raises SettingsError for an unknown name, or one whose package doesn't load or offers something
    else than a method.
    """
    place = METHODS.get(name)
    if place is not None:
        module, _, attribute = place.partition(":")
        return getattr(import_module(module), attribute)
    for point in entry_points(group=GROUP, name=name):
        try:
            return _checked(point.load(), point)
        except (ImportError, AttributeError, SyntaxError) as error:
            raise SettingsError(
                f"the method {name} of {point.value} doesn't load: {error}"
            ) from error
    raise SettingsError(f"unknown method {name!r}; there are: {', '.join(names())}")


def _checked(kind: Any, point: EntryPoint) -> Any:
    """The class, if it has all that a method has."""
    if missing := [part for part in PARTS if not hasattr(kind, part)]:
        raise SettingsError(
            f"the method {point.name} of {point.value} has no {missing[0]}: a method has "
            f"{', '.join(PARTS)}; docs/own-method.md says what each is"
        )
    if kind.name != point.name:
        raise SettingsError(
            f"the method {point.name} of {point.value} calls itself {kind.name!r}, and its "
            "memories would be kept under that name; give both the same"
        )
    return kind


def open_method(name: str, config: object = None) -> Method:
    """A method with its settings: its config object, settings by name, or None for the defaults.

    Settings by name may be strings, as the command line has them. ``{"paper": True}`` begins from
    the paper's settings. Raises SettingsError for an unknown method, setting or value.
    """
    kind = method_class(name)
    if config is None or isinstance(config, kind.Config):
        return cast("Method", kind(config))
    if not isinstance(config, Mapping):
        raise SettingsError(
            f"the method {name} takes a {kind.Config.__name__}, not a {type(config).__name__}"
        )
    return cast("Method", kind(_configured(name, kind.Config, cast("Mapping[str, Any]", config))))


def _configured(name: str, kind: Any, settings: Mapping[str, Any]) -> Any:
    from dataclasses import asdict, fields

    from pydantic import TypeAdapter, ValidationError

    known = {field.name for field in fields(kind)}
    if unknown := sorted(set(settings) - known - {"paper"}):
        raise SettingsError(
            f"the method {name} has no setting {unknown[0]}; it has: {', '.join(sorted(known))}"
        )
    try:
        paper = TypeAdapter(bool).validate_python(settings.get("paper", False))
    except ValidationError:
        raise SettingsError(f"paper is true or false, not {settings['paper']!r}") from None
    if paper and not hasattr(kind, "paper"):
        raise SettingsError(f"the method {name} has no paper's settings: leave out paper=true")
    given = {key: value for key, value in settings.items() if key != "paper"}
    try:
        return TypeAdapter(kind).validate_python(
            {**(asdict(kind.paper()) if paper else {}), **given}
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"setting {where} of the method {name}: {first['msg']}") from None
