"""Validation of JSON by pydantic models; errors name the place of the fault."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, TypeAdapter, ValidationError

from theanine.errors import BadInput
from theanine.importers.schema import require_storable

T = TypeVar("T")
_REASONS = {
    "model_type": "expected an object {…}",
    "dict_type": "expected an object {…}",
    "list_type": "expected a list […]",
    "string_type": "expected text",
    "int_type": "expected a whole number",
}


def validate(model: type[T], value: object, file: str, item: str = "") -> T:
    """Validate a parsed JSON value against a model or type.

    ``item`` is the value's place in its file, such as ``[3]``. Raises BadInput with the place and
    reason of the first fault.
    """
    try:
        return _adapter(model).validate_python(value)
    except ValidationError as faults:
        fault = faults.errors(include_url=False)[0]
        path = list(fault["loc"])
        if fault["type"] == "missing":
            reason = f'the field "{path.pop()}" is missing'
        else:
            reason = _REASONS.get(fault["type"], fault["msg"])
        place = item + "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path)
        raise BadInput(reason, f"{file}, {place.lstrip('.')}" if place else file) from None


@cache
def _adapter(model: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(model)


def _storable(text: str) -> str:
    try:
        return require_storable(text, "")
    except BadInput as fault:
        raise ValueError(str(fault)) from None


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty; fill it or leave the item out")
    return text


def _none_to_empty(value: Any) -> Any:
    return "" if value is None else value


def _to_text(value: Any) -> Any:
    return None if value is None else str(value)


Text = Annotated[str, AfterValidator(_storable), AfterValidator(_not_blank)]
"""Text that a store can hold and that is not blank."""
OptionalText = Annotated[str, BeforeValidator(_none_to_empty), AfterValidator(_storable)]
"""Text that a store can hold; null is empty."""
AnyAsText = Annotated[str, BeforeValidator(_to_text)]
"""Any value but null, as text: ids and answers, which some sets give as numbers."""
OptionalAsText = Annotated[str, BeforeValidator(_to_text), BeforeValidator(_none_to_empty)]
"""Any value as text; null is empty."""
