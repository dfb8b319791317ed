"""A provider on loopback that speaks OpenAI's and Anthropic's APIs by a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self, cast

Json = dict[str, Any]


@dataclass
class Answer:
    """What the provider answers.

    Attributes:
        text: the assistant's words, streamed word by word where a stream is asked for.
        calls: names and arguments of calls of tools, at once, in place of words.
        break_after: events after which a stream breaks; None for never.
        inside: whether it breaks in the middle of the next event.
        status: an error in place of an answer.
    """

    text: str = "Noted."
    calls: Sequence[tuple[str, Json]] = ()
    break_after: int | None = None
    inside: bool = False
    status: int = 200


@dataclass
class Provider:
    """The provider: ``with Provider() as provider``.

    Attributes:
        script: gives the answer to a request.
        bodies: the bytes of all requests so far.
        headers: their headers, with names in lower case.
        cookie: what each answer that is no stream sets.
    """

    script: Callable[[Json], Answer] = lambda request: Answer()
    bodies: list[bytes] = field(default_factory=list[bytes])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    cookie: str = "session=of-the-provider"

    def __enter__(self) -> Self:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # a client may take 40 ms to acknowledge the head

            def do_GET(self) -> None:
                provider.headers.append({n.lower(): v for n, v in self.headers.items()})
                self._send(200, {"object": "list", "data": [{"id": "m", "object": "model"}]})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                provider.bodies.append(body)
                provider.headers.append({n.lower(): v for n, v in self.headers.items()})
                answer = provider.answer(body)
                if answer.status != 200:
                    self._send(answer.status, {"error": {"message": "no", "type": "scripted"}})
                    return
                dialect = _DIALECTS[self.path.removeprefix("/v1")]
                if not json.loads(body).get("stream"):
                    self._send(200, dialect.whole(answer))
                    return
                self.close_connection = True
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for position, event in enumerate(dialect.events(answer)):
                    if position == answer.break_after:
                        if answer.inside:
                            self.wfile.write(event.encode()[: len(event) // 2])
                        return
                    self.wfile.write(event.encode())
                    self.wfile.flush()

            def _send(self, status: int, value: Json) -> None:
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Set-Cookie", provider.cookie)
                self.send_header("Strict-Transport-Security", "max-age=31536000")
                self.send_header("Alt-Svc", 'h3=":443"')
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

    def answer(self, body: bytes) -> Answer:
        """Return the answer to a request; 400 for what is no object of JSON."""
        try:
            request: object = json.loads(body)
        except (ValueError, RecursionError):
            return Answer(status=400)
        return (
            self.script(cast("Json", request)) if isinstance(request, dict) else Answer(status=400)
        )

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
        if answer.calls:
            message = {"role": "assistant", "content": None, "tool_calls": self._calls(answer)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {
            "id": "c1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
        }

    def _calls(self, answer: Answer) -> list[Json]:
        return [
            {
                "id": f"call-{number}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for number, (name, arguments) in enumerate(answer.calls, 1)
        ]

    def events(self, answer: Answer) -> Iterator[str]:
        deltas: list[Json] = [{"content": word} for word in _words(answer.text)]
        if answer.calls:
            deltas = [{"tool_calls": calls} for calls in self._parts_of_calls(answer)]
        choices: list[list[Json]] = [
            [{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas
        ]
        choices[0][0]["delta"]["role"] = "assistant"
        choices.append([{"index": 0, "delta": {}, "finish_reason": "stop"}])
        choices.append([])  # only the usage
        for choice in choices:
            chunk: Json = {
                "id": "c1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "m",
                "choices": choice,
            }
            if not choice:
                usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
                chunk["usage"] = usage
            yield f"data: {json.dumps(chunk)}\n\n"
        yield "data: [DONE]\n\n"

    def _parts_of_calls(self, answer: Answer) -> Iterator[list[Json]]:
        """Yield all calls without their arguments, then these in two halves, in turns."""
        calls = self._calls(answer)
        for index, call in enumerate(calls):
            function = {"name": call["function"]["name"], "arguments": ""}
            yield [{**call, "index": index, "function": function}]
        for half in (0, 1):
            for index, call in enumerate(calls):
                text = call["function"]["arguments"]
                middle = len(text) // 2
                part = text[middle:] if half else text[:middle]
                yield [{"index": index, "function": {"arguments": part}}]


class _Responses:
    def whole(self, answer: Answer) -> Json:
        content: list[Json] = [{"type": "output_text", "text": answer.text, "annotations": ()}]
        output: list[Json] = [
            {
                "id": "msg-1",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        ]
        if answer.calls:
            output = [
                {
                    "id": f"fc-{number}",
                    "type": "function_call",
                    "call_id": f"call-{number}",
                    "name": name,
                    "arguments": json.dumps(arguments),
                    "status": "completed",
                }
                for number, (name, arguments) in enumerate(answer.calls, 1)
            ]
        return {
            "id": "resp-1",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": "m",
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }

    def events(self, answer: Answer) -> Iterator[str]:
        for word in () if answer.calls else _words(answer.text):
            yield _event("response.output_text.delta", {"delta": word})
        for index, item in enumerate(self.whole(answer)["output"] if answer.calls else ()):
            yield _event("response.output_item.done", {"output_index": index, "item": item})
        yield _event("response.completed", {"response": self.whole(answer)})


class _Anthropic:
    def whole(self, answer: Answer) -> Json:
        return {
            "id": "msg-1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": self._blocks(answer),
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def _blocks(self, answer: Answer) -> list[Json]:
        if not answer.calls:
            return [{"type": "text", "text": answer.text}]
        return [
            {"type": "tool_use", "id": f"toolu-{number}", "name": name, "input": given}
            for number, (name, given) in enumerate(answer.calls, 1)
        ]

    def events(self, answer: Answer) -> Iterator[str]:
        start = {**self.whole(answer), "content": ()}
        yield _event("message_start", {"message": start})
        for index, block in enumerate(self._blocks(answer)):
            empty: Json = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": word} for word in _words(answer.text)]
            if answer.calls:
                empty = {**block, "input": {}}
                text = json.dumps(block["input"])
                deltas = [{"type": "input_json_delta", "partial_json": part} for part in text]
            yield _event("content_block_start", {"index": index, "content_block": empty})
            for delta in deltas:
                yield _event("content_block_delta", {"index": index, "delta": delta})
            yield _event("content_block_stop", {"index": index})
        yield _event("message_stop", {})


def _event(kind: str, fields: Json) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


_DIALECTS = {
    "/chat/completions": _Chat(),
    "/responses": _Responses(),
    "/messages": _Anthropic(),
}
