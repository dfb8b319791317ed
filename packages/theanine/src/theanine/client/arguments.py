"""Check the types of arguments by their annotations, before anything is done with them.

Python doesn't, and a wrong type found deep inside is an error that says nothing to the caller, or
none at all. Values are checked where they are used: this module knows types only.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from sys import maxsize
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from theanine.errors import BadInput, SettingsError, UserError
from theanine.store.validate import check_text
from theanine.tokenizer import sanitize

C = TypeVar("C", bound=type[Any])


class _Omitted:
    """The default of an option that may be left out; help shows it as stubs do."""

    def __repr__(self) -> str:
        return "..."


OMITTED = _Omitted()
_NAMES: Mapping[object, str] = {
    NoneType: "None",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a string",
    Sequence: "a list",
    Mapping: "a mapping",
    Callable: "a function",
}


def check_arguments(cls: C) -> C:
    """Have the public methods of a class check their arguments.

    They raise BadInput or, for what is passed by its name alone, SettingsError. Their signatures
    name all options.
    """
    for name, function in list(vars(cls).items()):
        if inspect.isfunction(function) and not name.startswith("_"):
            setattr(cls, name, _checked(function))
    return cls


def _taken(signature: inspect.Signature) -> str:
    """Return which arguments a method takes, by name."""
    parameters = [each for each in signature.parameters.values() if each.name != "self"]
    options = [each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
    others = [each.name for each in parameters if each.name not in options]
    named = f"by name {', '.join(options)}" if options else ""
    return ", and ".join(filter(None, [", ".join(others), named])) or "nothing"


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    signature = _full_signature(function)
    hints = cache(lambda: _hints(function))  # later, when all names are defined

    def check(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(
                f"{function.__name__}() {error}; it takes {_taken(signature)}"
            ) from None
        for name, value in bound.arguments.items():
            error = BadInput
            if signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY:
                error = SettingsError
            check_type(name, value, hints().get(name, Any), error)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        check(args, kwargs)
        return function(*args, **kwargs)

    @wraps(function)
    async def call_async(*args: Any, **kwargs: Any) -> Any:
        check(args, kwargs)
        return await function(*args, **kwargs)

    result = call_async if inspect.iscoroutinefunction(function) else call
    setattr(result, "__signature__", signature)  # noqa: B010
    return result


def _full_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature with the keys of ``**options: Unpack[…]`` as parameters."""
    signature = inspect.signature(function)
    parameters: list[inspect.Parameter] = []
    for each in signature.parameters.values():
        if each.kind is each.VAR_KEYWORD:
            parameters += [
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=OMITTED,
                    annotation=getattr(hint, "__forward_arg__", hint),
                )
                for name, hint in _unpacked(function, each).__annotations__.items()
            ]
        else:
            parameters.append(each)
    return signature.replace(parameters=parameters)


def _unpacked(function: Callable[..., Any], options: inspect.Parameter) -> type:
    """Return the typed dictionary of ``**options: Unpack[…]``."""
    name = str(options.annotation).removeprefix("Unpack[").removesuffix("]")
    return function.__globals__[name]


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    annotations = dict[str, Any]()
    for each in inspect.signature(function).parameters.values():
        if each.kind is each.VAR_KEYWORD:
            annotations |= _unpacked(function, each).__annotations__
        elif each.annotation is not each.empty:
            annotations[each.name] = each.annotation
    return resolve_hints(annotations, function.__module__)


class _Names(dict[str, Any]):
    """The names of a module, also those that its ``__getattr__`` imports when they are used."""

    def __init__(self, module: str) -> None:
        super().__init__()
        self._module = sys.modules[module]

    def __missing__(self, name: str) -> Any:
        try:
            return getattr(self._module, name)
        except AttributeError:
            raise KeyError(name) from None


def resolve_hints(annotations: Mapping[str, Any], module: str) -> dict[str, Any]:
    """Return the types that annotations in a module mean."""
    return get_type_hints(SimpleNamespace(__annotations__=dict(annotations)), None, _Names(module))


_WORDS = ("words", "messages", "dialogue", "query", "text")
"""Arguments with what somebody said, which is repaired, not refused; see ``store.validate``."""


def check_type(name: str, value: object, hint: Any, error: type[UserError] = SettingsError) -> None:
    """Raise an error that names the argument if its value is of another type than the hint's.

    So it does for numbers and texts that no store can hold.
    """
    if fault := _find_fault(name, value, hint):
        raise error(fault)
    if isinstance(value, str):
        check_text(sanitize(value) if name in _WORDS else value, name)


def _find_fault(name: str, value: object, hint: Any) -> str:
    """Return what is wrong with a value, or an empty string."""
    kinds = _alternatives(hint)
    fitting = [kind for kind in kinds if _fits(value, kind)]
    if isinstance(value, int) and abs(value) > maxsize:
        return f"{name} is too large a number"
    if not fitting:
        named = list(dict.fromkeys(name for kind in kinds for name in _describe(kind)))
        expected = " or ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
        shown = repr(value) if _is_plain(value, kinds) else type(value).__name__
        return f"{name} must be {expected}, not {shown}"
    faults = [_find_fault_within(name, value, kind) for kind in fitting]
    return min(faults)  # none is the least


def _find_fault_within(name: str, value: object, kind: Any) -> str:
    """Return the fault of an element of a list or a key of a mapping, or an empty string."""
    if get_origin(kind) is Mapping:
        keys = {type(key) for key in cast("Mapping[object, object]", value)}
        wrong = sorted(key.__name__ for key in keys if not issubclass(key, str))
        return f"{name} must have strings as keys, not {wrong[0]}" if wrong else ""
    if get_origin(kind) is not Sequence:
        return ""
    [element] = get_args(kind)
    faults = (
        _find_fault(f"{name}[{position}]", each, element)
        for position, each in enumerate(cast("Sequence[object]", value))
    )
    return next(filter(None, faults), "")


def _alternatives(hint: Any) -> Sequence[Any]:
    # Not cached: unions that differ in order alone are equal, and messages name types in order.
    if get_origin(hint) not in (Union, UnionType):
        return (hint,)
    return tuple(kind for each in get_args(hint) for kind in _alternatives(each))


def _fits(value: object, kind: Any) -> bool:
    """Return whether a value is of a type, without looking at its elements."""
    if kind is NoneType or kind is str:  # the most frequent ones
        return isinstance(value, kind)
    origin = get_origin(kind) or kind
    if origin is Literal:
        return any(value == each and type(value) is type(each) for each in get_args(kind))
    if origin in (int, float):
        wanted = (int, float) if origin is float else int
        return isinstance(value, wanted) and not isinstance(value, bool)
    if origin is Callable:
        return callable(value)
    if origin is Any or not isinstance(origin, type) or getattr(origin, "_is_protocol", False):
        return True  # such as a model of the application's own
    if origin is Sequence and isinstance(value, str | bytes):
        return False
    return isinstance(value, origin)


def _describe(kind: Any) -> list[str]:
    """Return the names of a type, or the values of a choice."""
    origin = get_origin(kind) or kind
    if origin is Literal:
        return list(map(repr, get_args(kind)))
    name = getattr(origin, "__name__", str(origin))
    return [_NAMES.get(origin) or f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"]


def _is_plain(value: object, kinds: Sequence[Any]) -> bool:
    """Return whether a message may show a value: a number, or a name among several choices."""
    is_choice = isinstance(value, str) and any(get_origin(kind) is Literal for kind in kinds)
    return value is None or isinstance(value, bool | int | float) or is_choice
