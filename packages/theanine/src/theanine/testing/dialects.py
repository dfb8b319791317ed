"""The answers of a scripted server, in the form of OpenAI's and of Anthropic's API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from theanine.testing.faults import Reply
from theanine.tokenizer import count_tokens

Json = dict[str, Any]
Request = Mapping[str, Any]


class Dialect(Protocol):
    """An API that answers messages."""

    before_words: int
    """Number of events of a streamed answer that come before its first word."""

    def whole(self, request: Request, reply: Reply) -> Json:
        """Return the body of an answer that is not streamed."""
        ...

    def events(self, request: Request, reply: Reply) -> list[str]:
        """Return a streamed answer as server-sent events."""
        ...

    def error(self, status: int, message: str, code: str | None = None) -> Json:
        """Return the body of an error."""
        ...


class ChatCompletions:
    """OpenAI's chat completions."""

    before_words = 0

    def whole(self, request: Request, reply: Reply) -> Json:
        """Return a chat completion."""
        message: Json = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
        if reply.refusal is not None:
            message["content"] = None
        if reply.tool_calls:
            message["tool_calls"] = self._tool_calls(reply)
        choice = {"index": 0, "message": message, "finish_reason": self._finish(reply)}
        return self._response(request, "chat.completion", [choice]) | self._usage(request, reply)

    def events(self, request: Request, reply: Reply) -> list[str]:
        """Return chunks, then the usage."""
        deltas: list[Json] = [{"content": word} for word in _words(reply.text)]
        if reply.refusal is not None:
            deltas = [{"refusal": reply.refusal}]
        if reply.tool_calls:
            calls = [{"index": index, **call} for index, call in enumerate(self._tool_calls(reply))]
            deltas.append({"tool_calls": calls})
        choices: list[Json] = [
            *({"index": 0, "delta": delta, "finish_reason": None} for delta in deltas),
            {"index": 0, "delta": {}, "finish_reason": self._finish(reply)},
        ]
        kind = "chat.completion.chunk"
        chunks = [self._response(request, kind, [choice]) for choice in choices]
        chunks.append(self._response(request, kind, []) | self._usage(request, reply))
        return [f"data: {data}\n\n" for data in (*map(json.dumps, chunks), "[DONE]")]

    def error(self, status: int, message: str, code: str | None = None) -> Json:
        """Return an error with its code."""
        return {"error": {"message": message, "type": "scripted", "code": code}}

    def _response(self, request: Request, kind: str, choices: list[Json]) -> Json:
        return {
            "id": "chatcmpl-scripted",
            "object": kind,
            "created": 1_700_000_000,
            "model": request.get("model", "scripted"),
            "choices": choices,
        }

    def _finish(self, reply: Reply) -> str:
        return "tool_calls" if reply.tool_calls else reply.finish

    def _tool_calls(self, reply: Reply) -> list[Json]:
        return [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for call in reply.tool_calls
        ]

    def _usage(self, request: Request, reply: Reply) -> Json:
        read, written = _tokens(request, reply)
        usage = {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        }
        return {"usage": usage}


class Messages:
    """Anthropic's messages."""

    before_words = 2

    def whole(self, request: Request, reply: Reply) -> Json:
        """Return a message."""
        read, written = _tokens(request, reply)
        text = reply.text if reply.refusal is None else reply.refusal
        blocks: list[Json] = [{"type": "text", "text": text}] if text else []
        blocks += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}
            for call in reply.tool_calls
        ]
        return {
            "id": "msg_scripted",
            "type": "message",
            "role": "assistant",
            "model": request.get("model", "scripted"),
            "content": blocks,
            "stop_reason": self._finish(reply),
            "stop_sequence": None,
            "usage": {"input_tokens": read, "output_tokens": written},
        }

    def events(self, request: Request, reply: Reply) -> list[str]:
        """Return the events of a message, from its start to its stop."""
        message = self.whole(request, reply)
        begun: Json = {**message, "content": [], "stop_reason": None}
        events: list[Json] = [{"type": "message_start", "message": begun}]
        for index, block in enumerate(message["content"]):
            events += ({**event, "index": index} for event in self._block_events(block))
        stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        usage = {"output_tokens": message["usage"]["output_tokens"]}
        events.append({"type": "message_delta", "delta": stop, "usage": usage})
        events.append({"type": "message_stop"})
        return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]

    def error(self, status: int, message: str, code: str | None = None) -> Json:
        """Return an error; Anthropic's have a type, but no code."""
        kind = "rate_limit_error" if status == 429 else "api_error"
        if 400 <= status < 500 and status != 429:
            kind = "invalid_request_error"
        return {"type": "error", "error": {"type": kind, "message": message}}

    def _block_events(self, block: Json) -> Iterable[Json]:
        if block["type"] == "text":
            empty: Json = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": word} for word in _words(block["text"])]
        else:
            empty = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        yield {"type": "content_block_start", "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "delta": delta}
        yield {"type": "content_block_stop"}

    def _finish(self, reply: Reply) -> str:
        if reply.tool_calls:
            return "tool_use"
        if reply.refusal is not None or reply.finish == "content_filter":
            return "refusal"
        return "max_tokens" if reply.finish == "length" else "end_turn"


DIALECTS: Mapping[str, Dialect] = {
    "/chat/completions": ChatCompletions(),
    "/messages": Messages(),
}
"""By the end of the path."""


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*", text)


def _tokens(request: Request, reply: Reply) -> tuple[int, int]:
    """Return how many tokens were read and written."""
    prompt = sum(count_tokens(str(m.get("content", ""))) for m in request.get("messages", ()))
    read = prompt if reply.input_tokens is None else reply.input_tokens
    written = count_tokens(reply.text) if reply.output_tokens is None else reply.output_tokens
    return read, written
