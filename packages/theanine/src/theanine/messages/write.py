"""Turns as messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from theanine.messages.parts import (
    as_json,
    call_arguments,
    image_url,
    is_result,
    part_words,
    read_call,
    read_result,
)
from theanine.types import Message, MessageFormat, Utterance


def write_messages(turns: Iterable[Utterance], format: MessageFormat = "openai") -> list[Message]:
    """Return turns as messages; a part that the format doesn't know is put in words.

    Args:
        format: ``openai`` (chat completions), ``responses`` (OpenAI's items) or ``anthropic``,
            without turns of the system, because that API takes its prompt apart from the messages.
    """
    write = _WRITERS[format]
    messages: list[Message] = []
    for message in (message for turn in turns for message in write(turn)):
        merged = _merge(messages[-1], message, format) if messages else None
        if merged is None:
            messages.append(message)
        else:
            messages[-1] = merged
    return messages


def _merge(earlier: Message, later: Message, format: MessageFormat) -> Message | None:
    """Return two messages as the one that the format has for them; None where it has two."""
    if format == "responses" or earlier["role"] != later["role"]:
        return None
    if format == "anthropic":
        return {**earlier, "content": [*_blocks(earlier), *_blocks(later)]}
    if "tool_calls" in later and "tool_calls" not in earlier:
        return {**later, "content": earlier["content"]}
    return None


def _blocks(message: Message) -> list[Message]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _tool_parts(turn: Utterance) -> tuple[Message, ...]:
    """Return the calls and results of a tool's turn; one without parts is a result."""
    return turn.content or ({"role": "tool", "content": turn.text},)


# OpenAI's chat completions


def _write_openai(turn: Utterance) -> Iterator[Message]:
    if turn.role != "tool":
        parts = [_openai_part(part) for part in turn.content]
        yield {"role": turn.role, "content": parts or turn.text}
        return
    calls: list[Message] = []
    for part in _tool_parts(turn):
        if part.get("type") in ("function", "custom"):
            calls.append(part)
        elif is_result(part):
            id_, text = read_result(part)
            content = part["content"] if "role" in part else text
            yield {"role": "tool", "tool_call_id": id_, "content": content}
        else:
            calls.append(_function(part))
    if calls:
        yield {"role": "assistant", "content": None, "tool_calls": calls}


def _function(call: Message) -> Message:
    id_, name, arguments = read_call(call)
    text = arguments if isinstance(arguments, str) else as_json(arguments)
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": text}}


def _openai_part(part: Message) -> Message:
    kind, url = part.get("type"), image_url(part)
    if kind in ("text", "image_url", "input_audio", "file"):
        return part
    return {"type": "image_url", "image_url": {"url": url}} if url else _text("text", part)


# OpenAI's responses


def _write_responses(turn: Utterance) -> Iterator[Message]:
    if turn.role != "tool":
        kind = "output_text" if turn.role == "assistant" else "input_text"
        parts = [_responses_part(part, kind) for part in turn.content]
        yield {"role": turn.role, "content": parts or turn.text}
        return
    for part in _tool_parts(turn):
        if str(part.get("type")).endswith(("_call", "_call_output")):
            yield part
        elif is_result(part):
            id_, text = read_result(part)
            yield {"type": "function_call_output", "call_id": id_, "output": text}
        else:
            call = _function(part)
            yield {"type": "function_call", "call_id": call["id"], **call["function"]}


def _responses_part(part: Message, text: str) -> Message:
    kind, url = part.get("type"), image_url(part)
    if kind in (text, "input_image", "input_file"):
        return part
    return {"type": "input_image", "image_url": url} if url else _text(text, part)


# Anthropic's messages


def _write_anthropic(turn: Utterance) -> Iterator[Message]:
    if turn.role == "system":
        return
    if turn.role != "tool":
        blocks = [_anthropic_block(part) for part in turn.content]
        role = "assistant" if turn.role == "assistant" else "user"
        yield {"role": role, "content": blocks or turn.text}
        return
    for part in _tool_parts(turn):
        kind = str(part.get("type"))
        if kind == "tool_result":
            yield {"role": "user", "content": [part]}
        elif kind in ("tool_use", "server_tool_use") or kind.endswith("_tool_result"):
            yield {"role": "assistant", "content": [part]}  # results of what the provider ran
        elif is_result(part):
            id_, text = read_result(part)
            block = {"type": "tool_result", "tool_use_id": id_, "content": text}
            yield {"role": "user", "content": [block]}
        else:
            id_, name, arguments = read_call(part)
            block = {"type": "tool_use", "id": id_, "name": name}
            yield {"role": "assistant", "content": [{**block, "input": call_arguments(arguments)}]}


def _anthropic_block(part: Message) -> Message:
    url = image_url(part)
    if part.get("type") in ("text", "image", "document"):
        return part
    if not url:
        return _text("text", part)
    head, _, data = url.partition(";base64,")
    source = {"type": "url", "url": url}
    if data:
        source = {"type": "base64", "media_type": head.removeprefix("data:"), "data": data}
    return {"type": "image", "source": source}


def _text(kind: str, part: Message) -> Message:
    return {"type": kind, "text": part_words(part)}


_WRITERS: Mapping[MessageFormat, Callable[[Utterance], Iterator[Message]]] = {
    "openai": _write_openai,
    "responses": _write_responses,
    "anthropic": _write_anthropic,
}
