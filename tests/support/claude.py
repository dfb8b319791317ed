"""A server of Anthropic's messages API that keeps what it hears in the memory tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self, cast

FILE = "/memories/user.md"


class ScriptedClaude:
    """Views its file, writes what the user says into it if there is none, and else quotes it."""

    def __enter__(self) -> Self:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    words = ""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        spoken = request["messages"][0]["content"]
        if isinstance(spoken, str):  # the SDK's runner sends the results of tools by themselves
            _Handler.words = spoken
        body = json.dumps(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": request["model"],
                "usage": {"input_tokens": 1, "output_tokens": 1},
                "stop_sequence": None,
                **_answer(request["messages"], _Handler.words),
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


def _answer(messages: list[Mapping[str, Any]], words: str) -> dict[str, Any]:
    results = [
        str(part["content"])
        for message in messages
        if isinstance(message["content"], list)
        for part in cast("list[Mapping[str, Any]]", message["content"])
        if part["type"] == "tool_result"
    ]
    if not results:
        return _use({"command": "view", "path": FILE}, 1)
    if "does not exist" in results[-1]:
        return _use({"command": "create", "path": FILE, "file_text": words}, 2)
    return {"stop_reason": "end_turn", "content": [{"type": "text", "text": results[-1]}]}


def _use(command: Mapping[str, Any], number: int) -> dict[str, Any]:
    use = {"type": "tool_use", "id": f"toolu_{number}", "name": "memory", "input": command}
    return {"stop_reason": "tool_use", "content": [use]}
