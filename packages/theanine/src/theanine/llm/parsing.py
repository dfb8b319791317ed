"""Make a typed result of a model's raw reply, or say exactly why that is impossible.

Lenient about what stands around the answer, such as prose or a code fence; strict about the answer
itself: broken or cut-off JSON is a fault to be sent back, never mended here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from theanine.embeddings.wordllama import sanitize

T = TypeVar("T")
_OBJECT_START = re.compile(r'\{\s*["}]')
_REFUSAL = re.compile(
    r"\W*(sorry|i['’]?m sorry|i am sorry|i apologi[sz]e|as an ai\b|"
    r"i (can['’]?t|cannot|can not|won['’]?t|will not|am unable to|am not able to)\b)",
    re.IGNORECASE,
)
_FAULTS_SHOWN = 6
_FINISHES = {
    "length": "it was cut off at the model's token limit",
    "content_filter": "the provider's content filter withheld it",
    "refusal": "the model refused to answer",
    "error": "the model broke off with an error",
}


class InvalidReply(Exception):
    """The reply can't be used; its message says why, in words for the model and the user."""


def finish_error(finish: str) -> str:
    """What a provider's finish reason says is wrong with a reply; empty when nothing is."""
    return _FINISHES.get(finish, "")


def parse_reply(raw: str, result: type[T]) -> T:
    """The reply as ``result``: stripped text for ``str``, else a pydantic model from its JSON.

    Raises UnfitError.
    """
    if not raw.strip():
        raise InvalidReply("it is empty")
    if result is str:
        return cast(T, raw.strip())
    model = cast(type[BaseModel], result)
    try:
        return cast(T, model.model_validate(_keepable(find_object(raw))))
    except ValidationError as error:
        raise InvalidReply(f"it does not fit the schema: {_places(error)}") from error


def _keepable(value: Any) -> Any:
    """What JSON escapes may spell and no store can keep, replaced like everywhere else."""
    if isinstance(value, str):
        return sanitize(value)
    if isinstance(value, list):
        return [_keepable(one) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {sanitize(name): _keepable(one) for name, one in fields.items()}
    return value


def find_object(raw: str) -> dict[str, Any]:
    """The one JSON object in a reply, whatever stands around it; time is linear in its length.

    Raises UnfitError when there is none, more than one, or one that is broken.
    """
    found: list[dict[str, Any]] = []
    decoder = json.JSONDecoder()
    match = _OBJECT_START.search(raw)
    while match:
        try:
            value, end = decoder.raw_decode(raw, match.start())
        except RecursionError:
            raise InvalidReply("its JSON is nested too deeply") from None
        except ValueError as error:
            raise InvalidReply(f"its JSON is broken or cut off: {error}") from None
        found.append(value)
        match = _OBJECT_START.search(raw, end)
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidReply(f"it holds {len(found)} JSON objects instead of one")
    if _REFUSAL.match(raw):
        raise InvalidReply(f"it looks like a refusal: {_beginning(raw)}")
    raise InvalidReply(f"it holds no JSON object; it begins {_beginning(raw)}")


def schema_of(result: type[object]) -> Mapping[str, Any] | None:
    """The JSON schema of a result type, None for ``str``.

    Without titles and the classes' own docstrings, which only cost tokens; fields keep theirs.
    """
    return _slim(result.model_json_schema()) if issubclass(result, BaseModel) else None


def _slim(schema: Mapping[str, Any]) -> dict[str, Any]:
    slim: dict[str, Any] = {}
    for name, value in schema.items():
        if name in ("properties", "$defs"):
            slim[name] = {key: _slim(each) for key, each in value.items()}
        elif isinstance(value, Mapping):
            slim[name] = _slim(cast(Mapping[str, Any], value))
        elif name != "title" and not (name == "description" and "properties" in schema):
            slim[name] = value
    return slim


def _places(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"{'.'.join(str(step) for step in fault['loc']) or 'the object'}: {fault['msg']}"
        for fault in faults[:_FAULTS_SHOWN]
    ]
    more = len(faults) - len(lines)
    return "; ".join(lines) + (f"; and {more} more" if more > 0 else "")


def _beginning(raw: str) -> str:
    start = " ".join(raw[:200].split())
    return repr(start if len(start) <= 80 else start[:80] + "…")
