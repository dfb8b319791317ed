"""Parse a model's raw reply into a typed result, or say exactly why it can't be.

Lenient about what surrounds the answer, such as prose or a code fence; strict about the answer
itself: broken or cut-off JSON is an error for the model to repair, never repaired here.

The error texts are sent to the model, so they are part of the journal key of the repair requests.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from theanine.tokenizer import sanitize

T = TypeVar("T")
_OBJECT_START = re.compile(r'\{\s*["}]')
_REFUSAL = re.compile(
    r"\W*(sorry|i['’]?m sorry|i am sorry|i apologi[sz]e|as an ai\b|"
    r"i (can['’]?t|cannot|can not|won['’]?t|will not|am unable to|am not able to)\b)",
    re.IGNORECASE,
)
_MAX_ERRORS = 6
FINISH_ERRORS = {
    "length": "it was cut off at the model's token limit",
    "content_filter": "the provider's content filter withheld it",
    "refusal": "the model refused to answer",
    "error": "the model broke off with an error",
}
"""What is wrong with a reply, by the finish reason; other reasons are no error."""


class InvalidReply(Exception):
    """The reply can't be used; the message says why, worded for the model and the user."""


def parse_reply(raw: str, result: type[T]) -> T:
    """Parse a reply as ``result``: stripped text for ``str``, else a pydantic model from its JSON.

    Raises InvalidReply.
    """
    if not raw.strip():
        raise InvalidReply("it is empty")
    if result is str:
        return cast(T, raw.strip())
    model = cast(type[BaseModel], result)
    try:
        return cast(T, model.model_validate(_sanitize_all(find_object(raw))))
    except ValidationError as error:
        raise InvalidReply(f"it does not fit the schema: {_describe(error)}") from error


def _sanitize_all(value: Any) -> Any:
    """Sanitize all strings of a JSON value: escapes can spell characters that no store takes."""
    if isinstance(value, str):
        return sanitize(value)
    if isinstance(value, list):
        return [_sanitize_all(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {sanitize(name): _sanitize_all(item) for name, item in fields.items()}
    return value


def find_object(raw: str) -> dict[str, Any]:
    """Return the only JSON object in a reply, in time linear in its length.

    Raises InvalidReply when there is none, more than one, or a broken one.
    """
    objects: list[dict[str, Any]] = []
    decoder = json.JSONDecoder()
    match = _OBJECT_START.search(raw)
    while match:
        try:
            value, end = decoder.raw_decode(raw, match.start())
        except RecursionError:
            raise InvalidReply("its JSON is nested too deeply") from None
        except ValueError as error:
            raise InvalidReply(f"its JSON is broken or cut off: {error}") from None
        objects.append(value)
        match = _OBJECT_START.search(raw, end)
    if len(objects) == 1:
        return objects[0]
    if objects:
        raise InvalidReply(f"it holds {len(objects)} JSON objects instead of one")
    start = " ".join(raw[:200].split())
    quoted = repr(start if len(start) <= 80 else start[:80] + "…")
    if _REFUSAL.match(raw):
        raise InvalidReply(f"it looks like a refusal: {quoted}")
    raise InvalidReply(f"it holds no JSON object; it begins {quoted}")


def _describe(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"{'.'.join(str(step) for step in each['loc']) or 'the object'}: {each['msg']}"
        for each in errors[:_MAX_ERRORS]
    ]
    more = len(errors) - len(lines)
    return "; ".join(lines) + (f"; and {more} more" if more > 0 else "")
