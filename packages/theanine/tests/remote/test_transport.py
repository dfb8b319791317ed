"""Requests to a service behind a gateway that answers in its own way."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from pydantic import TypeAdapter

from theanine.errors import StoreUnavailable
from theanine.remote.transport import TRIES, Transport

NUMBERS = TypeAdapter(list[int])
HTML = "<html><h1>503 Service Unavailable</h1></html>"


class Gateway:
    """A server that refuses some requests before it answers one."""

    def __init__(self, refusals: int, status: int, headers: dict[str, str]) -> None:
        gateway = self
        self.left, self.requests = refusals, 0

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                gateway.requests += 1
                gateway.left -= 1
                refused = gateway.left >= 0
                data = (HTML if refused else "[1]").encode()
                self.send_response(status if refused else 200)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self) -> Gateway:
        return self

    def __exit__(self, *error: object) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.mark.anyio
@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize(
    "wait", [None, "0", "-1", "nan", "", "soon", "Wed, 21 Oct 2015 07:28:00 GMT"]
)
async def test_a_gateways_refusal_is_repeated(status: int, wait: str | None) -> None:
    headers = {} if wait is None else {"Retry-After": wait}
    with Gateway(2, status, headers) as gateway:
        transport = Transport(f"http://127.0.0.1:{gateway.server.server_port}", "", 10)
        assert await transport.call(NUMBERS, "GET", "/x") == [1]
        assert gateway.requests == 3
        await transport.close()


@pytest.mark.anyio
async def test_a_gateway_that_refuses_for_good_is_named() -> None:
    with Gateway(TRIES, 503, {"Retry-After": "0"}) as gateway:
        transport = Transport(f"http://127.0.0.1:{gateway.server.server_port}", "", 10)
        with pytest.raises(StoreUnavailable, match="a gateway before http"):
            await transport.call(NUMBERS, "GET", "/x")
        assert gateway.requests == TRIES
        await transport.close()
