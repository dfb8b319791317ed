"""An HTTP server on loopback with the APIs of OpenAI and Anthropic that answers by a script."""

from __future__ import annotations

import base64
import json
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import ceil
from threading import Event, RLock, Thread
from typing import Any, Self, cast

from theanine.embeddings.hashing import HashEmbedder
from theanine.errors import ModelRejected
from theanine.testing.answers import answer
from theanine.testing.dialects import DIALECTS, ChatCompletions, Dialect
from theanine.testing.faults import Delay, Drop, Outcome, Reply, Status, Truncate
from theanine.testing.script import Script, writer
from theanine.tokenizer import count_tokens


@dataclass(frozen=True, slots=True)
class Call:
    """One received request.

    Attributes:
        path: such as ``/v1/chat/completions``.
        body: the parsed request.
        outcome: ``open`` at first; then ``answered``, ``dropped``, ``status 429`` or the like, or
            ``gone`` if the client closed the connection before the answer.
    """

    path: str
    body: Mapping[str, Any]
    outcome: str = "open"


class ScriptedServer:
    """Serves ``/v1/chat/completions``, ``/v1/messages``, ``/v1/embeddings`` and ``/v1/models``.

    ::

        with ScriptedServer([status(429, retry_after=1), "Hello."]) as server:
            model = open_chat("openai:test", base_url=server.base_url)

    Args:
        script: the answers; None gives valid answers to theanine's own prompts, and
            an error of status 400 to a prompt of any other step. A function in it is
            called by one thread at a time.
        latency: minimum seconds of a chat answer; the attribute can be changed at any time.
        port: port to listen on; 0 takes a free one.
        dimension: dimension of the embeddings.
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        latency: float = 0.0,
        port: int = 0,
        dimension: int = 64,
    ) -> None:
        self.latency = latency
        self._calls: list[Call] = []
        self._lock = RLock()
        self._write = writer(script)
        self._embedder = HashEmbedder(dimension)
        self._closing = Event()
        self._http = _Http(("127.0.0.1", port), self)

    @property
    def base_url(self) -> str:
        """The URL for ``base_url``."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def calls(self) -> list[Call]:
        """All chat requests so far, in order of arrival."""
        return [call for call in self._seen() if _dialect(call.path)]

    @property
    def embedding_calls(self) -> list[Call]:
        """All embedding requests so far."""
        return [call for call in self._seen() if call.path.endswith("/embeddings")]

    @property
    def requests(self) -> list[Mapping[str, Any]]:
        """Bodies of all chat requests so far."""
        return [call.body for call in self.calls]

    @property
    def answered(self) -> list[Mapping[str, Any]]:
        """Bodies of the chat requests that got a reply: those a provider would charge for."""
        return [call.body for call in self.calls if call.outcome == "answered"]

    def script(self, script: Script | None) -> None:
        """Follow another script from now on."""
        with self._lock:
            self._write = writer(script)

    def __enter__(self) -> Self:
        Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()

    # Called by the handler's threads

    def record(self, path: str, body: Mapping[str, Any]) -> int:
        """Record a request; return its index."""
        with self._lock:
            self._calls.append(Call(path, body))
            return len(self._calls) - 1

    def finish(self, index: int, outcome: str) -> None:
        """Set the outcome of a request."""
        with self._lock:
            self._calls[index] = replace(self._calls[index], outcome=outcome)

    def outcome(self, request: Mapping[str, Any]) -> Reply | Status | Drop:
        """Return the script's outcome for a chat request, after its delays."""
        try:
            return self._follow(request)
        except ModelRejected as error:  # of a step that the script doesn't know
            return Status(400, message=str(error))

    def _follow(self, request: Mapping[str, Any]) -> Reply | Status | Drop:
        with self._lock:
            outcome: Outcome = self._write(request)
        wait = self.latency
        while isinstance(outcome, Delay):
            wait += outcome.seconds
            outcome = answer(request) if outcome.then is None else outcome.then
        if wait > 0:
            self._closing.wait(wait)
        if isinstance(outcome, Truncate):
            text = answer(request) if outcome.then is None else outcome.then
            return Reply(text=text[: outcome.at], finish=outcome.finish)
        return Reply(text=outcome) if isinstance(outcome, str) else outcome

    def wait(self, seconds: float) -> None:
        """Pause, but not beyond the server's end."""
        self._closing.wait(seconds)

    def embeddings(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the API's response to an embedding request."""
        texts = request["input"]
        texts = [texts] if isinstance(texts, str) else [str(text) for text in texts]
        packed = request.get("encoding_format") == "base64"
        data = [
            {
                "object": "embedding",
                "index": index,
                "embedding": base64.b64encode(row.tobytes()).decode() if packed else row.tolist(),
            }
            for index, row in enumerate(self._embedder.vectors(texts))
        ]
        tokens = sum(count_tokens(text) for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "model": request.get("model"), "data": data, "usage": usage}

    def _seen(self) -> list[Call]:
        with self._lock:
            return list(self._calls)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], owner: ScriptedServer) -> None:
        self.owner = owner
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print errors of the script, but not those of closed connections."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    @property
    def owner(self) -> ScriptedServer:
        return cast(_Http, self.server).owner

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            self._send(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
        else:
            self._send(404, _error(404, f"no such path: {self.path}"))

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        try:
            body = json.loads(self.rfile.read(length))
        except ValueError:
            self._send(400, _error(400, "the body is not JSON"))
            return
        index = self.owner.record(self.path, body)
        if dialect := _dialect(self.path):
            self._chat(body, index, dialect)
        elif self.path.endswith("/embeddings"):
            self._send(200, self.owner.embeddings(body))
            self.owner.finish(index, "answered")
        else:
            self._send(404, _error(404, f"no such path: {self.path}"))
            self.owner.finish(index, "status 404")

    def _chat(self, body: Mapping[str, Any], index: int, dialect: Dialect) -> None:
        outcome = self.owner.outcome(body)
        if isinstance(outcome, Drop):
            self.owner.finish(index, "dropped")
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif isinstance(outcome, Status):
            self.owner.finish(index, f"status {outcome.status}")
            error = dialect.error(outcome.status, outcome.message, outcome.code)
            self._send(outcome.status, error, outcome.retry_after)
        elif body.get("stream"):
            self._stream(body, outcome, index, dialect)
        else:
            completion = dialect.whole(body, outcome)
            self.owner.finish(index, "answered")  # before the client can have read it
            try:
                self._send(200, completion)
            except ConnectionError:
                self.owner.finish(index, "gone")
                raise

    def _stream(self, body: Mapping[str, Any], reply: Reply, index: int, dialect: Dialect) -> None:
        """Send the answer word by word, as server-sent events."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        events = dialect.events(body, reply)
        try:
            for position, event in enumerate(events):
                if position - dialect.before_words == reply.break_after:
                    self.owner.finish(index, "dropped")
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                if position == len(events) - 1:
                    self.owner.finish(index, "answered")
                self.wfile.write(event.encode())
                self.wfile.flush()
                if reply.pause:
                    self.owner.wait(reply.pause)
        except ConnectionError:
            self.owner.finish(index, "gone")
            raise

    def _send(self, status: int, body: Mapping[str, Any], retry_after: float | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if retry_after is not None:
            self.send_header("Retry-After", str(ceil(retry_after)))
            self.send_header("Retry-After-Ms", f"{retry_after * 1000:.0f}")
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: tests read ``calls``."""


_error = ChatCompletions().error


def _dialect(path: str) -> Dialect | None:
    """Return the API of a path for chats; None for other paths."""
    path = path.partition("?")[0]
    return next((dialect for end, dialect in DIALECTS.items() if path.endswith(end)), None)
