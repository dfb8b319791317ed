"""Limits: a body that is too large, and more requests at once than the service takes."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from dataclasses import replace
from urllib.parse import urlsplit

from server.conftest import START_LIMIT, running
from theanine.server import ServerOptions


def test_a_large_body_is_refused(options: ServerOptions) -> None:
    with (
        running(replace(options, max_body=1_000)) as service,
        service.client() as http,
    ):
        said = {"content": "tea " * 1_000}
        answer = http.post("/v1/users/ana/threads/t/hear", json=said)
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        assert http.get("/v1/users/ana/turns").json()["items"] == []


def test_above_its_number_of_requests_the_service_says_when_to_come_back(
    options: ServerOptions,
) -> None:
    with (
        running(replace(options, max_requests=2)) as service,
        service.client() as http,
        ExitStack() as held,
    ):
        address = urlsplit(service.url)
        head = (
            "POST /v1/users/ana/recall HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
            f"Content-Type: application/json\r\nAuthorization: {http.headers['Authorization']}"
            "\r\n\r\n{"
        )
        for _ in range(2):  # requests whose body never ends
            client = socket.create_connection((str(address.hostname), int(address.port or 0)))
            held.enter_context(client)
            client.sendall(head.encode())
        deadline = time.monotonic() + START_LIMIT
        while (answer := http.get("/v1/users")).status_code == 200:
            assert time.monotonic() < deadline, "the two requests were never served"
        assert (answer.status_code, answer.json()["code"]) == (429, "busy")
        assert answer.headers["Retry-After"] == "1"
        assert http.get("/health").status_code == 200
        held.close()
        while http.get("/v1/users").status_code == 429:
            assert time.monotonic() < deadline, "the places of the two requests stay taken"
