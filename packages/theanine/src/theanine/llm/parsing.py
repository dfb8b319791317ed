"""Parse a model's raw reply into a typed result, or say exactly why it can't be.

Lenient about what surrounds the answer, such as prose or a code fence; strict about the answer
itself: broken JSON, also that of a reply that was cut off at its bound of tokens, is an error for
the model to repair, never repaired here. A text that was cut off loses its last sentence.

The error texts are sent to the model, so they are part of the journal key of the repair requests.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from theanine.fences import REMEMBERED_HEADING
from theanine.sentences import sentence_ends
from theanine.tokenizer import sanitize_json

T = TypeVar("T")
_OBJECT_START = re.compile(r'\{\s*["}]')
_REFUSAL = re.compile(
    r"\W*(sorry|i['’]?m sorry|i am sorry|i apologi[sz]e|as an ai\b|"
    r"i (can['’]?t|cannot|can not|won['’]?t|will not|am unable to|am not able to)\b)",
    re.IGNORECASE,
)
_MAX_ERRORS = 6
_FENCE = re.compile(r"^[ \t]*(?:<<<[ \t]*([\w -]*)|>>>[ \t]*$)", re.MULTILINE)
"""A line of a prompt that begins or ends a block of quoted text."""
_REPEATED = re.compile(rf"^[ \t]*(?:{re.escape(REMEMBERED_HEADING)}|<<<remembered\b)", re.MULTILINE)
CUT_OFF = "it was cut off at the model's token limit"
TOO_LONG = "it is longer than its bound"
FINISH_ERRORS = {
    "length": CUT_OFF,
    "content_filter": "the provider's content filter withheld it",
    "refusal": "the model refused to answer",
    "error": "the model broke off with an error",
}
"""What is wrong with a reply, by the finish reason; other reasons are no error."""


class InvalidReply(Exception):
    """The reply can't be used; the message says why, worded for the model and the user."""


def parse_reply(raw: str, result: type[T], *, prompt: str = "", cut_off: bool = False) -> T:
    """Parse a reply as ``result``: cleaned text for ``str``, else a pydantic model from its JSON.

    Args:
        raw: the reply.
        result: the type.
        prompt: the prompt, whose blocks a text must not repeat.
        cut_off: whether a text ended at its bound; what is incomplete is then left out.

    Raises InvalidReply.
    """
    if not raw.strip():
        raise InvalidReply("it is empty")
    if result is str:
        text = _clean_text(raw, prompt)
        return cast(T, _whole_sentences(text) if cut_off else text)
    return validate_reply(sanitize_json(find_object(raw)), result)


def validate_reply(fields: object, result: type[T]) -> T:
    """Return the fields of a reply as ``result``, a pydantic model. Raises InvalidReply."""
    model = cast(type[BaseModel], result)
    try:
        return cast(T, model.model_validate(fields))
    except ValidationError as error:
        raise InvalidReply(f"it does not fit the schema: {_describe(error)}") from error


def parse_message(raw: str, *, cut_off: bool = False) -> str:
    """Return the next message of a conversation, without a block of it that the model repeats.

    With ``cut_off``, a last sentence that is incomplete is left out. Raises InvalidReply.
    """
    text = _REPEATED.split(raw, maxsplit=1)[0].strip()
    if not text:
        raise InvalidReply("it repeats what was recalled" if raw.strip() else "it is empty")
    return _whole_sentences(text) if cut_off else text


def _clean_text(raw: str, prompt: str) -> str:
    """Return the text before the first block that the model adds, or inside of a block of its own.

    Raises InvalidReply for a reply that begins with a block of the prompt.
    """
    fence = _FENCE.search(raw)
    if fence is None:
        return raw.strip()
    if before := raw[: fence.start()].strip():
        return before
    name = (fence[1] or "").strip()
    if name and re.search(rf"^<<<[ \t]*{re.escape(name)}[ \t]*$", prompt, re.MULTILINE):
        raise InvalidReply(f"it repeats the block <<<{name} of the task instead of answering it")
    inside = _FENCE.split(raw[fence.end() :], maxsplit=1)[0].strip()
    if not inside:
        raise InvalidReply("it is empty but for the marks of a block")
    return inside


def _whole_sentences(text: str) -> str:
    """Return a text that was cut off up to its last sentence or line, or else its last word.

    Raises InvalidReply if it is a single word.
    """
    ends = list(sentence_ends(text))
    whole = text[: ends[-1]] if ends else text.rpartition(" ")[0]
    if not whole.strip():
        raise InvalidReply(CUT_OFF)
    return whole.strip()


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
