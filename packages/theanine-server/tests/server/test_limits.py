"""Limits: a body that is too large, and more requests at once than the service takes."""

from __future__ import annotations

import socket
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from urllib.parse import urlsplit

import httpx2
import pytest

from server.conftest import START_LIMIT, Service, running
from theanine_server import ServerOptions
from theanine_server.connections import HttpProtocol


def test_a_large_body_is_refused(options: ServerOptions) -> None:
    with (
        running(replace(options, max_body=1_000)) as service,
        service.client() as http,
    ):
        said = {"content": "tea " * 1_000}
        answer = http.post("/v1/users/ana/threads/t/hear", json=said)
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        assert http.get("/v1/users/ana/turns").json()["items"] == []


ALL = ("read", "write", "reply", "administer")
PATHS = {
    "/v1/users/ana/recall": "application/json",
    "/v1/users/ana/import": "application/octet-stream",
    "/v1/chat/completions": "application/json",
    "/v1/session": "application/json",
    **({"/mcp": "application/json"} if find_spec("mcp") else {}),
}
"""Paths of each kind of request with a body, and its type."""


@contextmanager
def held(
    service: Service, count: int, path: str = "/v1/users/ana/recall", token: str = ""
) -> Generator[list[socket.socket]]:
    """Hold requests whose body never ends."""
    address = urlsplit(service.url)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
        f"Content-Type: {PATHS[path]}\r\nAccept: application/json, text/event-stream\r\n"
        + (f"Authorization: Bearer {token}\r\n" if token else "")
        + "\r\n{"
    )
    with ExitStack() as connections:
        clients = [
            connections.enter_context(
                socket.create_connection((str(address.hostname), int(address.port or 0)))
            )
            for _ in range(count)
        ]
        for client in clients:
            client.settimeout(START_LIMIT)
            client.sendall(head.encode())
        yield clients


def status_of(client: socket.socket) -> int:
    """Return the status with which a held request is answered."""
    return int(client.recv(4_096).split()[1])


def wait_for(status: int, http: httpx2.Client, path: str = "/v1/users") -> httpx2.Response:
    """Ask until the answer has a status."""
    deadline = time.monotonic() + START_LIMIT
    while (answer := http.get(path)).status_code != status:
        assert time.monotonic() < deadline, f"{path} goes on answering {answer.status_code}"
    return answer


@contextmanager
def refused(
    service: Service, http: httpx2.Client, path: str, *holders: tuple[int, str]
) -> Generator[httpx2.Response]:
    """Hold requests of keys until a client is refused, and yield its answer."""
    deadline = time.monotonic() + START_LIMIT
    while True:
        with ExitStack() as holding:
            for count, token in holders:
                holding.enter_context(held(service, count, token=token))
            for _ in range(20):  # one of these may have a slot before those that are to be held
                if (answer := http.get(path)).status_code == 429:
                    yield answer
                    return
        assert time.monotonic() < deadline, "the client is never refused"


def test_above_its_number_of_requests_the_service_says_when_to_come_back(
    options: ServerOptions,
) -> None:
    with running(replace(options, max_requests=4)) as service, service.client(tenant="c") as http:
        tenants = [(2, service.key(tenant=name)) for name in ("a", "b")]
        with refused(service, http, "/v1/users", *tenants) as answer:
            assert answer.json()["code"] == "busy"
            assert answer.headers["Retry-After"] == "1"
            assert http.get("/health").status_code == 200
            assert http.get("/ready").status_code == 503
        wait_for(200, http)
        wait_for(200, http, "/ready")


@pytest.mark.parametrize("path", [path for path in PATHS if path != "/v1/session"])
def test_a_body_without_a_key_is_not_waited_for(service: Service, path: str) -> None:
    with held(service, 8, path) as clients, service.client() as http:
        assert [status_of(client) for client in clients] == [401] * 8
        assert http.get("/v1/users").status_code == 200
    with held(service, 1, path, "theanine_no-such-key") as [client]:
        assert status_of(client) == 401


@pytest.mark.parametrize("path", PATHS)
def test_a_body_that_never_ends_is_given_up(options: ServerOptions, path: str) -> None:
    most = {"max_requests": 16, "max_imports": 4, "max_proxied": 4, "max_mcp": 4, "max_sign_ins": 4}
    with (
        running(replace(options, body_timeout=0.5, **most)) as service,
        held(service, 4, path, service.key(tenant="a", rights=ALL)) as clients,
        service.client(tenant="b") as http,
    ):
        assert http.get("/v1/users").status_code == 200  # whatever one tenant holds
        assert {status_of(client) for client in clients} <= {408, 429}
        if path != "/v1/session":
            said = {"content": "I like tea."}
            answer = http.post("/v1/users/ana/threads/t/hear", json=said)
            assert answer.status_code == 201


def test_a_slow_import_that_goes_on_is_waited_for(options: ServerOptions) -> None:
    lines = [f'{{"role": "user", "content": "{"tea " * 500}{at}"}}' for at in range(8)]

    def slowly() -> Generator[bytes]:
        for line in lines:
            time.sleep(0.25)
            yield f"{line}\n".encode()

    with (
        running(replace(options, body_timeout=1.0)) as service,
        service.client(rights=ALL) as http,
    ):
        answer = http.post(
            "/v1/users/ana/import",
            params={"name": "chat.jsonl"},
            content=slowly(),
            headers={"Content-Type": "application/octet-stream"},
        )
        assert answer.status_code in (200, 201, 202), answer.text


def test_a_key_of_one_user_gets_an_eighth(options: ServerOptions) -> None:
    with running(replace(options, max_requests=16)) as service:
        bound, path = service.key(user="ana"), "/v1/users/ana/turns"
        with (
            service.client(user="bo") as other,
            service.client(bound) as http,
            refused(service, http, path, (2, bound)) as answer,
        ):
            assert answer.json()["code"] == "busy"
            assert other.get("/v1/users/bo/turns").status_code == 200


def test_the_rate_of_a_key_counts_for_every_kind_of_request(service: Service) -> None:
    for path, kind in PATHS.items():
        if path == "/v1/session":
            continue
        with service.client(rate=1) as http:
            assert http.get("/v1/users/ana/turns").status_code == 200
            answer = http.post(path, content=b"{}", headers={"Content-Type": kind})
            problem = answer.json().get("error", answer.json())  # the proxy's has another shape
            assert (answer.status_code, problem["code"]) == (429, "rate_limited"), path


@pytest.mark.parametrize("sent", [b"", b"GET /v1/users HTTP/1.1\r\nHost: localhost\r\n"])
def test_headers_that_never_end_are_given_up(
    options: ServerOptions, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("theanine_server.connections.HEADER_TIMEOUT", 0.5)
    with running(options, http=HttpProtocol) as service:
        address = urlsplit(service.url)
        with socket.create_connection((str(address.hostname), int(address.port or 0))) as client:
            client.settimeout(START_LIMIT)
            client.sendall(sent)
            received = client.recv(4_096)
            assert received.startswith(b"HTTP/1.1 408") if sent else not received
        with service.client() as http:
            for _ in range(2):
                assert http.get("/v1/users").status_code == 200
                time.sleep(0.7)
