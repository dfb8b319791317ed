"""The APIs that the proxy understands: their messages and replies."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, cast

from theanine.types import Message, MessageFormat
from theanine_server.provider_paths import Provider

Body = dict[str, Any]


class ReplyReader(ABC):
    """Collects the assistant's message from the events of a stream.

    Attributes:
        ended: whether the reply was received to its end.
    """

    def __init__(self) -> None:
        self.ended = False

    @abstractmethod
    def read(self, event: Mapping[str, Any]) -> None:
        """Read the data of one event."""

    @abstractmethod
    def messages(self) -> list[Message]:
        """Return what was received, as messages; empty if nothing was."""


class Dialect(ABC):
    """One API of a provider.

    Attributes:
        name: the format of its messages.
        provider: whose API it is.
        path: its path below the provider's base URL.
    """

    name: MessageFormat
    provider: Provider
    path: str

    @abstractmethod
    def messages(self, body: Body) -> list[Message]:
        """Return the messages of a request, without system messages."""

    @abstractmethod
    def append(self, body: Body, block: str) -> Body | None:
        """Return a request with a text after the newest user message; None if there is none."""

    @abstractmethod
    def replies(self, answer: Mapping[str, Any]) -> list[Message]:
        """Return the assistant's messages of a whole answer."""

    @abstractmethod
    def reader(self) -> ReplyReader:
        """Return a reader of a streamed answer."""


class ChatCompletions(Dialect):
    """OpenAI's chat completions, which most providers speak."""

    name, provider, path = "openai", "openai", "/chat/completions"

    def messages(self, body: Body) -> list[Message]:
        return _spoken(body.get("messages"))

    def append(self, body: Body, block: str) -> Body | None:
        return _append_to_newest(body, "messages", block, "text")

    def replies(self, answer: Mapping[str, Any]) -> list[Message]:
        choices = _list(answer.get("choices"))
        message = choices[0].get("message") if choices else None
        return [message] if isinstance(message, Mapping) else []

    def reader(self) -> ReplyReader:
        return _ChatReader()


class _ChatReader(ReplyReader):
    def __init__(self) -> None:
        super().__init__()
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, Body] = {}

    def read(self, event: Mapping[str, Any]) -> None:
        for choice in _list(event.get("choices")):  # a chunk with only the usage has none
            if choice.get("index", 0) != 0:
                continue
            delta = _mapping(choice.get("delta"))
            self._text += _strings(delta.get("content"))
            self._refusal += _strings(delta.get("refusal"))
            for call in _list(delta.get("tool_calls")):
                self._add_call(call)
            self.ended |= choice.get("finish_reason") is not None

    def _add_call(self, part: Mapping[str, Any]) -> None:
        index = part.get("index")
        call = self._calls.setdefault(
            index if isinstance(index, int) else len(self._calls),
            {"id": "", "type": "function", "function": {"name": "", "arguments": ""}},
        )
        call["id"] = part.get("id") or call["id"]
        function = _mapping(part.get("function"))
        for name in ("name", "arguments"):
            call["function"][name] += "".join(_strings(function.get(name)))

    def messages(self) -> list[Message]:
        message: Body = {"role": "assistant", "content": "".join(self._text)}
        if self._refusal:
            message["refusal"] = "".join(self._refusal)
        if self._calls and self.ended:
            message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        return [message] if any(message[key] for key in message if key != "role") else []


class Responses(Dialect):
    """OpenAI's responses."""

    name, provider, path = "responses", "openai", "/responses"

    def messages(self, body: Body) -> list[Message]:
        given = body.get("input")
        return [{"role": "user", "content": given}] if isinstance(given, str) else _spoken(given)

    def append(self, body: Body, block: str) -> Body | None:
        if isinstance(given := body.get("input"), str):
            return {**body, "input": f"{given}\n\n{block}"}
        return _append_to_newest(body, "input", block, "input_text")

    def replies(self, answer: Mapping[str, Any]) -> list[Message]:
        return [*_list(answer.get("output"))]

    def reader(self) -> ReplyReader:
        return _ResponsesReader()


class _ResponsesReader(ReplyReader):
    def __init__(self) -> None:
        super().__init__()
        self._items: list[Message] = []
        self._text: list[str] = []

    def read(self, event: Mapping[str, Any]) -> None:
        kind = event.get("type")
        if kind == "response.output_text.delta":
            self._text += _strings(event.get("delta"))
        elif kind == "response.output_item.done" and isinstance(event.get("item"), Mapping):
            self._items.append(event["item"])
            self._text = []
        elif kind in ("response.completed", "response.incomplete"):
            output = _list(_mapping(event.get("response")).get("output"))
            self._items = [*output] or self._items
            self._text, self.ended = [], True

    def messages(self) -> list[Message]:
        rest = "".join(self._text)
        return self._items + ([{"role": "assistant", "content": rest}] if rest else [])


class AnthropicMessages(Dialect):
    """Anthropic's messages."""

    name, provider, path = "anthropic", "anthropic", "/messages"

    def messages(self, body: Body) -> list[Message]:
        return _spoken(body.get("messages"))

    def append(self, body: Body, block: str) -> Body | None:
        return _append_to_newest(body, "messages", block, "text")

    def replies(self, answer: Mapping[str, Any]) -> list[Message]:
        content = _list(answer.get("content"))
        return [{"role": "assistant", "content": content}] if content else []

    def reader(self) -> ReplyReader:
        return _AnthropicReader()


class _AnthropicReader(ReplyReader):
    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[int, Body] = {}
        self._inputs: dict[int, list[str]] = {}
        self._closed: set[int] = set()

    def read(self, event: Mapping[str, Any]) -> None:
        kind, index = event.get("type"), event.get("index")
        if kind == "message_stop":
            self.ended = True
        if not isinstance(index, int):
            return
        if kind == "content_block_start":
            self._blocks[index] = dict(_mapping(event.get("content_block")))
        elif kind == "content_block_delta" and index in self._blocks:
            delta = _mapping(event.get("delta"))
            for text in _strings(delta.get("text")):
                self._blocks[index]["text"] = self._blocks[index].get("text", "") + text
            self._inputs.setdefault(index, []).extend(_strings(delta.get("partial_json")))
        elif kind == "content_block_stop":
            self._closed.add(index)

    def messages(self) -> list[Message]:
        blocks: list[Body] = []
        for index in sorted(self._blocks):
            block = self._blocks[index]
            if block.get("type") == "text":
                if block.get("text"):
                    blocks.append(block)
            elif index in self._closed:  # a call that was cut off was never made
                given = _read_object("".join(self._inputs.get(index, [])))
                blocks.append({**block, "input": given} if given else block)
        return [{"role": "assistant", "content": blocks}] if blocks else []


def _append_to_newest(body: Body, name: str, block: str, kind: str) -> Body | None:
    """Append a text to the content of the newest message of the user's own words."""
    messages = body.get(name)
    if not isinstance(messages, list):
        return None
    listed = cast("list[Any]", messages)
    for position in range(len(listed) - 1, -1, -1):
        message = _mapping(listed[position])
        if message.get("role") != "user" or not _has_words(content := message.get("content")):
            continue
        if isinstance(content, str):
            changed: Any = f"{content}\n\n{block}"
        else:
            changed = [*cast("list[Any]", content), {"type": kind, "text": block}]
        newest = {**message, "content": changed}
        return {**body, name: [*listed[:position], newest, *listed[position + 1 :]]}
    return None


def _has_words(content: object) -> bool:
    """Return whether content has the user's own words, not only results of tools."""
    if isinstance(content, str):
        return bool(content.strip())
    return any(part.get("type") != "tool_result" for part in _list(content))


def _spoken(messages: object) -> list[Message]:
    """Return the messages that are not instructions of the application."""
    return [each for each in _list(messages) if each.get("role") not in ("system", "developer")]


def _list(value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        return []
    items = cast("Sequence[object]", value)
    return [cast("Mapping[str, Any]", item) for item in items if isinstance(item, Mapping)]


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _strings(value: object) -> list[str]:
    return [value] if isinstance(value, str) else []


def _read_object(text: str) -> Body:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return cast("Body", value) if isinstance(value, dict) else {}
