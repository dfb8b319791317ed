"""A provider on loopback that speaks OpenAI's and Anthropic's APIs by a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

Json = dict[str, Any]


@dataclass
class Answer:
    """What the provider answers.

    Attributes:
        text: the assistant's words, streamed word by word where a stream is asked for.
        call: name and arguments of a call of a tool in place of words.
        break_after: events after which a stream breaks; None for never.
        status: an error in place of an answer.
    """

    text: str = "Noted."
    call: tuple[str, Json] | None = None
    break_after: int | None = None
    status: int = 200


@dataclass
class Provider:
    """The provider: ``with Provider() as provider``.

    Attributes:
        script: gives the answer to a request.
        bodies: the bytes of all requests so far.
        headers: their headers, with names in lower case.
    """

    script: Callable[[Json], Answer] = lambda request: Answer()
    bodies: list[bytes] = field(default_factory=list[bytes])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    def __enter__(self) -> Self:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                provider.headers.append({n.lower(): v for n, v in self.headers.items()})
                self._send(200, {"object": "list", "data": [{"id": "m", "object": "model"}]})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                provider.bodies.append(body)
                provider.headers.append({n.lower(): v for n, v in self.headers.items()})
                request = json.loads(body)
                answer = provider.script(request)
                if answer.status != 200:
                    self._send(answer.status, {"error": {"message": "no", "type": "scripted"}})
                    return
                dialect = _DIALECTS[self.path.removeprefix("/v1")]
                if not request.get("stream"):
                    self._send(200, dialect.whole(answer))
                    return
                self.close_connection = True
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for position, event in enumerate(dialect.events(answer)):
                    if position == answer.break_after:
                        return
                    self.wfile.write(event.encode())
                    self.wfile.flush()

            def _send(self, status: int, value: Json) -> None:
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        """The base URL, with ``/v1``."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def requests(self) -> list[Json]:
        """The requests so far."""
        return [json.loads(body) for body in self.bodies]


def _words(text: str) -> Sequence[str]:
    return [word + " " for word in text.split(" ")[:-1]] + [text.split(" ")[-1]]


class _Chat:
    def whole(self, answer: Answer) -> Json:
        message: Json = {"role": "assistant", "content": answer.text}
        if answer.call:
            message = {"role": "assistant", "content": None, "tool_calls": [self._call(answer)]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {
            "id": "c1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
        }

    def _call(self, answer: Answer) -> Json:
        assert answer.call
        name, arguments = answer.call
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {"id": "call-1", "type": "function", "function": function}

    def events(self, answer: Answer) -> Iterator[str]:
        deltas: list[Json] = [{"content": word} for word in _words(answer.text)]
        if answer.call:
            deltas = [{"tool_calls": [{"index": 0, **self._call(answer)}]}]
        choices: list[list[Json]] = [
            [{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas
        ]
        choices.append([{"index": 0, "delta": {}, "finish_reason": "stop"}])
        choices.append([])  # only the usage
        for choice in choices:
            chunk = {
                "id": "c1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "m",
                "choices": choice,
            }
            yield f"data: {json.dumps(chunk)}\n\n"
        yield "data: [DONE]\n\n"


class _Responses:
    def whole(self, answer: Answer) -> Json:
        content: list[Json] = [{"type": "output_text", "text": answer.text, "annotations": ()}]
        item: Json = {
            "id": "msg-1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
        return {
            "id": "resp-1",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": "m",
            "output": [item],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }

    def events(self, answer: Answer) -> Iterator[str]:
        for word in _words(answer.text):
            yield _event("response.output_text.delta", {"delta": word})
        yield _event("response.completed", {"response": self.whole(answer)})


class _Anthropic:
    def whole(self, answer: Answer) -> Json:
        block: Json = {"type": "text", "text": answer.text}
        if answer.call:
            name, given = answer.call
            block = {"type": "tool_use", "id": "toolu-1", "name": name, "input": given}
        return {
            "id": "msg-1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [block],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def events(self, answer: Answer) -> Iterator[str]:
        start = {**self.whole(answer), "content": ()}
        yield _event("message_start", {"message": start})
        block: Json = {"type": "text", "text": ""}
        deltas: list[Json] = [{"type": "text_delta", "text": word} for word in _words(answer.text)]
        if answer.call:
            name, given = answer.call
            block = {"type": "tool_use", "id": "toolu-1", "name": name, "input": {}}
            text = json.dumps(given)
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in text]
        yield _event("content_block_start", {"index": 0, "content_block": block})
        for delta in deltas:
            yield _event("content_block_delta", {"index": 0, "delta": delta})
        yield _event("content_block_stop", {"index": 0})
        yield _event("message_stop", {})


def _event(kind: str, fields: Json) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


_DIALECTS = {
    "/chat/completions": _Chat(),
    "/responses": _Responses(),
    "/messages": _Anthropic(),
}
