"""What the memory proxy does not know goes through it as if it were not there."""

from __future__ import annotations

import inspect
import json
import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, cast

import httpx2
import openai
import pytest
from pydantic import BaseModel

from server.conftest import Service, running
from server.mirrors import Mirror, Received
from theanine_server import ServerOptions

anthropic: Any = pytest.importorskip("anthropic")

CLIENTS = ("openai", "anthropic")
OWN_HEADERS = ("host", "connection", "accept-encoding", "idempotency-key", "x-stainless-timeout")
"""Headers that differ by the connection, or from call to call."""
FILE = ("a file.bin", b"\0\xff words\r\n" * 5_000)
READ = ("/v1/chat/completions", "/v1/responses", "/v1/messages")
"""Paths of requests that have memory."""


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with Mirror() as mirror:
        yield mirror


@pytest.fixture
def options(options: ServerOptions, mirror: Mirror) -> ServerOptions:
    url = f"{mirror.url}/v1"
    return replace(options, openai_url=url, anthropic_url=url, memory_deadline=60.0)


@pytest.fixture
def service(options: ServerOptions) -> Generator[Service]:
    with running(options) as service:
        yield service


@pytest.fixture
def http(service: Service) -> Generator[httpx2.Client]:
    """A client with a key of a provider and one of the service."""
    with service.client("") as http:
        http.headers.update({"Authorization": "Bearer sk-mine", "Theanine-Key": service.key()})
        yield http


def make_client(name: str, url: str, key: str | None, **options: Any) -> Any:
    """Return an official client, straight to a provider or through the service with a key."""
    headers = {"Theanine-Key": key, "Theanine-User": "ana"} if key else {}
    given: Any = {"default_headers": headers, "max_retries": 0, "timeout": 120, **options}
    if name == "openai":
        keys = {"api_key": "sk-mine", "admin_api_key": "sk-mine"}
        return openai.OpenAI(base_url=f"{url}/v1", **keys, **given)
    return anthropic.Anthropic(base_url=url, api_key="sk-mine", **given)


def calls(client: Any, prefix: str = "") -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the methods of all resources of an official client that send a request."""
    kind = cast("type[object]", type(client))
    for name in dir(kind):
        static = inspect.getattr_static(kind, name)
        if name.startswith(("_", "with_")) or not hasattr(static, "func"):
            continue
        resource = getattr(client, name)
        if not hasattr(resource, "with_raw_response"):
            continue
        for method in cast("dict[str, object]", vars(resource.with_raw_response)):
            if not method.startswith("_"):
                yield f"{prefix}{name}.{method}", getattr(resource, method)
        yield from calls(resource, f"{prefix}{name}.")


def arguments(call: Callable[..., Any]) -> dict[str, Any]:
    """Return a value for each parameter that a call needs, of about its type."""
    return {
        name: _value(name, str(parameter.annotation))
        for name, parameter in inspect.signature(call).parameters.items()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    }


def _value(name: str, annotation: str) -> Any:
    if "FileTypes" in annotation:
        return [FILE] if annotation.startswith("Sequence") else FILE
    if name == "messages":
        return [{"role": "user", "content": "Zxqv?"}]
    if name in ("model", "input", "prompt"):
        return "Zxqv?"
    if annotation.startswith(("Iterable", "List", "Sequence")):
        return [{"type": "é"}] if annotation.startswith("Iterable") else ["é"]
    if annotation.startswith(("Dict", "Optional[Dict", "Optional[Metadata")):
        return {"a": "é"}
    if "date" in annotation:
        return "2026-01-01"
    if annotation == "int":
        return 7
    return (
        "a/b é%" if annotation.startswith(("str", "Optional[str", "Union[str")) else {"type": "é"}
    )


def outcome(call: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Return what a call returns, or raises, as plain data."""
    try:
        returned = call(**given)
    except Exception as error:  # noqa: BLE001 (it is the outcome)
        return type(error).__name__, str(error)
    if isinstance(returned, BaseModel):
        return type(returned).__name__, returned.model_dump(mode="json", warnings=False)
    if hasattr(returned, "content"):
        return type(returned).__name__, returned.content
    try:
        return type(returned).__name__, [str(each) for each in returned]
    except TypeError:
        return type(returned).__name__, str(returned)
    except Exception as error:  # noqa: BLE001
        return type(error).__name__, str(error)


def plain(request: Received) -> tuple[Any, ...]:
    """Return what must be alike of a request that came straight and one through the proxy."""
    headers = [each for each in request.headers if each[0] not in OWN_HEADERS]
    return request.method, request.target, headers, request.body


@pytest.mark.slow
@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("status", [200, 429])
def test_every_call_of_an_official_client_gives_the_same(
    service: Service, mirror: Mirror, name: str, status: int
) -> None:
    mirror.status = status
    with ExitStack() as stack:
        straight = stack.enter_context(make_client(name, mirror.url, None))
        through = stack.enter_context(make_client(name, service.url, service.key()))
        sent = 0
        for (label, direct), (_, proxied) in zip(calls(straight), calls(through), strict=True):
            if status != 200 and not label.endswith((".create", ".list")):
                continue
            given = arguments(direct)
            mirror.requests.clear()
            expected = outcome(direct, given)
            before = [*map(plain, mirror.requests)]
            mirror.requests.clear()
            got = outcome(proxied, given)
            assert [*map(plain, mirror.requests)] == before, label
            for url in (mirror.url, service.url):  # which some errors name
                expected, got = (
                    json.loads(json.dumps(each, default=repr).replace(url, ""))
                    for each in (expected, got)
                )
            assert got == expected, label
            sent += bool(before)
        assert sent > (300 if status == 200 else 100)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_an_unknown_path_goes_through_to_the_byte(
    http: httpx2.Client, mirror: Mirror, method: str
) -> None:
    content = b"" if method == "GET" else b'{ "odd":1.50}\n\xff'
    target = "/v1/some%2Fthing/a%20b//c?x=1&x=2&%C3%A9=+"
    headers = {"X-Odd": "1", "Content-Encoding": "zstd", "Accept-Encoding": "gzip"}
    answer = http.request(method, target, content=content, headers=headers)
    [got] = mirror.requests
    assert (got.method, got.target, got.body) == (method, target, content)
    received = dict(got.headers)
    assert received["x-odd"] == "1" and received["content-encoding"] == "zstd"
    assert answer.headers.get_list("link") == ["<a>; rel=next", "<b>; rel=prev"]
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.json()["target"] == target
    assert answer.headers.get_list("x-request-id") == ["req-of-the-provider"]
    assert len(answer.headers.get_list("date")) == 1
    assert len(answer.headers["theanine-request-id"]) == 16


def test_an_upload_is_passed_on_while_it_comes(options: ServerOptions, mirror: Mirror) -> None:
    came = list[bytes]()
    mirror.on_chunk = came.append
    part = b"x" * 100_000

    def upload() -> Iterator[bytes]:
        for number in range(30):
            yield part
            until = time.monotonic() + 60
            while sum(map(len, came)) < number * len(part):  # the one before is there
                assert time.monotonic() < until
                time.sleep(0.005)

    small = replace(options, max_body=1_000, max_proxied_body=1_000)
    with running(small) as service, service.client("") as http:
        headers = {"x-api-key": "sk-mine", "Theanine-Key": service.key()}
        headers["anthropic-version"] = "2023-06-01"
        assert http.post("/v1/files", content=upload(), headers=headers).status_code == 200
        assert len(mirror.requests[-1].body) == 30 * len(part)
        refused = http.post("/v1/messages", content=b"x" * 2_000, headers=headers)
        assert (refused.status_code, refused.json()["error"]["type"]) == (413, "request_too_large")


def test_a_path_of_the_service_is_never_passed_on(http: httpx2.Client, mirror: Mirror) -> None:
    document = http.get("/openapi.json").json()
    own = {path for path in document["paths"] if path not in READ}
    for path in own:
        for method in ("GET", "POST", "DELETE", "PUT", "PATCH"):
            if not path.endswith("/events"):
                http.request(method, path.replace("{", "").replace("}", "") + "/nowhere")
    assert not mirror.requests
    assert http.get("/v1/users/ana/nowhere").json()["code"] == "not_found"
    assert http.get("/nowhere").json()["code"] == "not_found"


@pytest.mark.parametrize("path", ["/v1/%2e%2e/admin", "/v1/a/%2e%2e%2fb", "/v1/a/%2E/b"])
def test_a_path_stays_below_the_providers_base_url(
    service: Service, mirror: Mirror, path: str
) -> None:
    headers = [(b"Authorization", b"Bearer sk-mine"), (b"Theanine-Key", service.key().encode())]
    target = httpx2.URL(service.url).copy_with(raw_path=path.encode())
    with httpx2.Client() as http:
        answer = http.send(httpx2.Request("GET", target, headers=headers))
    assert answer.status_code in (400, 404) and not mirror.requests


def test_only_calls_that_keep_nothing_are_sent_with_the_operators_key(
    service: Service, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "OPENAI_API_KEY", "sk-of-the-service")
    monkeypatch.setitem(os.environ, "ANTHROPIC_API_KEY", "ak-of-the-service")
    with service.client() as http:
        lent = [("POST", "/v1/embeddings"), ("POST", "/v1/messages/count_tokens")]
        lent += [("POST", "/v1/audio/speech"), ("GET", "/v1/models"), ("GET", "/v1/models/a/b")]
        for method, path in lent:
            assert http.request(method, path, json={}).status_code == 200, path
        sent = len(mirror.requests)
        for method, path in (
            ("GET", "/v1/files"),
            ("POST", "/v1/files"),
            ("GET", "/v1/chat/completions"),
            ("GET", "/v1/responses/resp-1"),
            ("DELETE", "/v1/models/a"),
            ("POST", "/v1/user/ana/recall"),  # mistyped
        ):
            refused = http.request(method, path, json={"dialogue": "A secret."})
            assert refused.status_code == 401, path
            assert refused.json()["error"]["code"] == "provider_key_needed"
        assert len(mirror.requests) == sent
        assert "of-the-service" in str(mirror.requests)


@pytest.mark.parametrize("name", CLIENTS)
def test_an_official_client_shows_the_errors_of_the_service(
    options: ServerOptions, name: str
) -> None:
    library: Any = openai if name == "openai" else anthropic
    closed = "http://127.0.0.1:9/v1"
    bounds = replace(options, openai_url=closed, anthropic_url=closed, max_proxied_body=10_000)
    with running(replace(bounds, require_user=True)) as service:
        key, other, reader = service.key(), service.key(user="bo"), service.key(rate=1)

        def ask(client: Any, **asked: Any) -> None:
            if name == "openai":
                client.chat.completions.create(model="m", **asked)
            else:
                client.messages.create(model="m", max_tokens=9, **asked)

        def error(key: str, words: str = "Hello.", **headers: str) -> Any:
            messages = [{"role": "user", "content": words}]
            with (
                make_client(name, service.url, key) as client,
                pytest.raises(library.APIStatusError) as raised,
            ):
                ask(client, messages=messages, extra_headers=headers)
            body = raised.value.response.json()
            shown = body["error"]
            if name == "openai":
                assert set(body) == {"error"}
                assert set(shown) == {"message", "type", "param", "code"}
                assert raised.value.code == shown["code"]
            else:
                assert set(body) == {"type", "error"} and body["type"] == "error"
                assert set(shown) == {"type", "message"}
            assert shown["message"] in str(raised.value)
            return raised.value

        cases = [
            (error("theanine_0_0"), 401, library.AuthenticationError, "the key is unknown"),
            (error(other), 403, library.PermissionDeniedError, "for another user"),
            (error(key, "x" * 20_000), 413, library.APIStatusError, "larger than 10,000 bytes"),
            (
                error(key, **{"Theanine-Memory": "maybe"}),
                422,
                library.UnprocessableEntityError,
                "Theanine-Memory must be one of",
            ),
            (
                error(key, **{"Theanine-User": ""}),
                400,
                library.BadRequestError,
                "send Theanine-User",
            ),
            (error(key), 502, library.InternalServerError, "the provider can't be reached"),
        ]
        error(reader)
        cases.append((error(reader), 429, library.RateLimitError, "1 requests a minute"))
        for shown, status, kind, words in cases:
            assert shown.status_code == status and isinstance(shown, kind), str(shown)
            assert words in str(shown)


def test_two_versions_in_a_path_are_explained(http: httpx2.Client, mirror: Mirror) -> None:
    answer = http.post("/v1/v1/messages", json={})
    assert answer.status_code == 404 and "leave it out of the base URL" in answer.text
    assert not mirror.requests


@pytest.mark.parametrize("path", ["/chat/completions", "/responses", "/embeddings", "/files/a%2Fb"])
def test_openais_paths_need_no_version(http: httpx2.Client, mirror: Mirror, path: str) -> None:
    answer = http.post(path, json={"model": "m", "messages": [], "input": "Hi"})
    assert answer.status_code == 200 and answer.json()["target"] == f"/v1{path}"
    assert len(mirror.requests) == 1


def test_other_paths_are_not_a_providers(http: httpx2.Client, mirror: Mirror) -> None:
    for path in ("/", "/chats", "/filesystem", "/messages", "/v2/chat/completions", "//chat"):
        assert http.post(path, json={}).status_code in (404, 405), path
    assert not mirror.requests


def test_a_providers_url_without_its_path_is_named_in_the_log(
    options: ServerOptions, mirror: Mirror, caplog: pytest.LogCaptureFixture
) -> None:
    mirror.status = 404
    for url in (mirror.url, f"{mirror.url}/v1"):
        with running(replace(options, openai_url=url)) as service, service.client("") as http:
            http.headers.update({"Authorization": "Bearer sk-mine", "Theanine-Key": service.key()})
            for path in ("/v1/chat/completions", "/v1/files"):
                assert http.post(path, json={"messages": []}).status_code == 404
    assert [line.count("--openai-url must end with it") for line in caplog.messages].count(1) == 2
