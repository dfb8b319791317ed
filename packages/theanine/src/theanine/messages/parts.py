"""Parts of messages: what they are, and their words for memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from theanine.errors import BadInput
from theanine.tokenizer import sanitize_json
from theanine.types import CALLED, Message

RESULT_LIMIT = 2_000
"""Characters of a tool's result that memory sees; the log has all of it."""
ARGUMENT_LIMIT = 200
"""Characters of one argument in the words for a call."""
TEXTS = frozenset({"text", "input_text", "output_text"})
"""Types of the parts that are text."""
_CALLS = frozenset({"function", "custom"})
_CALL_ENDINGS = ("_call", "tool_use")
_OUTPUTS = ("_output", "_result")
_REASONING = frozenset({"thinking", "redacted_thinking", "reasoning", "redacted-reasoning"})
_FILES = frozenset({"file", "input_file", "document"})

PartKind = Literal["text", "reasoning", "call", "result", "image", "audio", "file", "other"]


def as_message(value: object, where: str) -> Message:
    """Return a message or a part as a mapping.

    Objects of the APIs' own clients are read by their ``model_dump``. Raises BadInput.
    """
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        value = dump(exclude_none=True)
    if not isinstance(value, Mapping):
        raise BadInput(
            'a message must be a mapping such as {"role": "user", "content": "…"}, not '
            f"{type(value).__name__}",
            where,
        )
    return cast("Message", value)


def content_parts(content: object, where: str) -> list[Message]:
    """Return the parts of a content: a string, a list of parts or strings, or nothing.

    Raises BadInput, with the position of a part that is neither.
    """
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, Sequence):
        raise BadInput(
            f"content must be a string or a list of parts, not {type(content).__name__}", where
        )
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else as_message(part, f"{where}[{position}]")
        for position, part in enumerate(cast("Sequence[object]", content))
        if part is not None
    ]


def part_kind(part: Message) -> PartKind:
    """Return what a part is, by its type or else by its fields."""
    kind = str(part.get("type", "text" if "text" in part else "part"))
    if is_result(part):
        return "result"
    if is_call(part):
        return "call"
    if kind in _REASONING:
        return "reasoning"
    if "image" in kind:
        return "image"
    if "audio" in kind:
        return "audio"
    if kind in _FILES:
        return "file"
    return "other" if part_text(part) is None and kind not in TEXTS else "text"


def part_text(part: Message) -> str | None:
    """Return a part's own text, or that of a refusal; None if it has none."""
    text = part.get("refusal" if part.get("type") == "refusal" else "text")
    return text if isinstance(text, str) else None


def part_transcript(part: Message) -> str:
    """Return what a recording says, if the part has it; else nothing."""
    return str(_details(part).get("transcript") or "").strip()


def part_name(part: Message) -> str:
    """Return the name of a file, if the part has it; else nothing."""
    details = _details(part)
    names = (details.get(field) for field in ("filename", "title", "file_name"))
    return str(next(filter(None, names), "")).strip()


def _details(part: Message) -> Message:
    """Return the fields of a file or a recording, which may be those of the part itself."""
    inner = part.get("file") or part.get("input_audio") or part.get("audio")
    return cast("Message", inner) if isinstance(inner, Mapping) else part


def is_call(part: Message) -> bool:
    """Whether a part is a call of a tool."""
    kind = str(part.get("type"))
    return kind in _CALLS or kind.endswith(_CALL_ENDINGS)


def read_call(call: Message) -> tuple[str, str, Any]:
    """Return a call's id, name and arguments: an object, or JSON in a string."""
    id_ = call.get("call_id") or call.get("id") or "call"
    inner = call.get("function") or call.get("custom") or call
    name = inner.get("name") or str(call.get("type")).removesuffix("_call")
    return str(id_), str(name), inner.get("arguments", inner.get("input")) or {}


def call_arguments(arguments: object) -> Mapping[str, Any]:
    """Return arguments as an object; what is no JSON object is its only field, ``input``."""
    try:
        # An escape in JSON may be half of a character, which no request can hold.
        values = sanitize_json(json.loads(arguments)) if isinstance(arguments, str) else arguments
    except ValueError:
        values = arguments
    return cast("Message", values) if isinstance(values, Mapping) else {"input": values}


def call_words(call: Message) -> str:
    """Return a call in words, such as ``[called book_table(people=4)]``."""
    _, name, arguments = read_call(call)
    pairs = call_arguments(arguments).items()
    shown = ", ".join(f"{key}={_clip(as_json(value), ARGUMENT_LIMIT)}" for key, value in pairs)
    return f"{CALLED}{name}({shown})]"


def is_result(part: Message) -> bool:
    """Whether a part is a tool's result: also a whole message of the role ``tool``."""
    role = part.get("role")
    return role in ("tool", "function") or str(part.get("type")).endswith(_OUTPUTS)


def read_result(part: Message) -> tuple[str, str]:
    """Return the id of the call and the text of its result."""
    ids = (part.get(name) for name in ("tool_call_id", "tool_use_id", "call_id", "name"))
    result = part.get("output", part.get("content"))
    if result is None or isinstance(result, str):
        text = result or ""
    elif isinstance(result, Sequence):
        parts = content_parts(cast("object", result), "the tool's result")
        text = "\n".join(part_words(part) for part in parts)
    else:
        text = as_json(result)
    return str(next(filter(None, ids), "call")), text


def part_words(part: Message) -> str:
    """Return a part in words: its text, or what it is, such as ``[image]``."""
    kind, label = part_kind(part), str(part.get("type", "part"))
    if kind == "text":
        text = part_text(part)
        if text is None:
            raise BadInput(f"a part of the type {label!r} needs a string as its text")
        return text
    if kind == "result":
        return _clip(read_result(part)[1].strip(), RESULT_LIMIT) or "[no output]"
    if kind == "call":
        return call_words(part)
    if kind == "audio" and (transcript := part_transcript(part)):
        return transcript
    name = "" if kind in ("audio", "image") else part_name(part)
    return f"[{label if kind in ('other', 'reasoning') else kind}{' ' if name else ''}{name}]"


def image_url(part: Message) -> str:
    """Return an image's URL, or its data as one; empty for all else and for uploaded files."""
    kind, source = part.get("type"), part.get("source")
    if kind in ("image_url", "input_image"):
        url = part.get("image_url")
        return str(cast("Message", url).get("url", "")) if isinstance(url, Mapping) else url or ""
    if kind == "image" and isinstance(source, Mapping):
        image = cast("Message", source)
        if image.get("type") == "base64":
            return f"data:{image.get('media_type')};base64,{image.get('data')}"
        return str(image.get("url") or "")
    return ""


def as_json(value: object) -> str:
    """Return a value as JSON, or as the string that it prints as."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit].rstrip() + "…"
