"""Walls: no route gives anything of another tenant, nor a hint that it exists.

The same requests are sent for a user of another tenant and for one that nobody has: the answers
must not differ, by status, body or kind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from server.conftest import Service
from server.providers import Provider
from theanine_server import ServerOptions
from theanine_server.webhooks.guard import Guard

SECRET = "cormorant-4417"
RIGHTS = ("read", "write", "reply", "administer")
INJECTED = (
    "anastasia' OR '1'='1",
    'anastasia"; DROP TABLE turn; --',
    "anastasia%",
    "../bo",
    "anastasia\n",
    "*",
    "Anastasia",
)
OURS = {"/health", "/ready", "/v1/whoami", "/v1/session", "/v1/methods"}
"""Routes that are about no user."""


@pytest.fixture
def options(options: ServerOptions) -> Iterator[ServerOptions]:
    with Provider() as provider:
        guard = Guard(["127.0.0.0/8"])
        yield replace(
            options, openai_url=provider.url, anthropic_url=provider.url, webhook_guard=guard
        )


@pytest.fixture
def mine(service: Service) -> Iterator[httpx2.Client]:
    """The tenant with a secret: a user, a thread, memories, an operation, a key, a webhook."""
    with service.client(tenant="mine", rights=RIGHTS) as http:
        for thread in ("t1", "t2"):
            said = {"content": f"My password is {SECRET}, and I live in {thread}.", "id": "m1"}
            http.post(f"/v1/users/anastasia/threads/{thread}/hear", json=said)
            http.post(f"/v1/users/anastasia/threads/{thread}/end", json={"remember": True})
        yield http


@pytest.fixture
def other(service: Service) -> Iterator[httpx2.Client]:
    """Another tenant, with every right, which has a user of its own."""
    with service.client(tenant="other", rights=RIGHTS) as http:
        http.post("/v1/users/cy/threads/t1/hear", json={"content": "I like tea."})
        yield http


def routes(http: httpx2.Client) -> list[tuple[str, str]]:
    """Return method and path of every route but those about no user."""
    document = http.get("/openapi.json").json()
    return [
        (method.upper(), path)
        for path, methods in document["paths"].items()
        if path not in OURS
        for method in methods
    ]


BODIES: dict[str, Any] = {
    "hear": {"content": "Hello."},
    "say": {"content": "Hello."},
    "messages": {"messages": [{"role": "user", "content": "What is my password?"}]},
    "recall": {"dialogue": "What is my password?"},
    "explain": {"dialogue": "What is my password?"},
    "search": {"query": "What is my password?"},
    "reply": {"dialogue": "What is my password?"},
    "forgetting": {"everything": True},
    "corrections": {"text": "I live in Porto."},
    "operations": {"kind": "remember", "user": "anastasia"},
    "keys": {"name": "app", "user": "anastasia"},
    "settings": {"time_zone": "Europe/Zagreb"},
    "histories": {"name": "anastasia", "transcripts": []},
    "webhooks": {"name": "app", "url": "http://127.0.0.1:9/", "user": "anastasia"},
    "completions": {"messages": [{"role": "user", "content": "What is my password?"}]},
    "responses": {"input": "What is my password?"},
    "end": {},
}


def send(http: httpx2.Client, method: str, path: str, user: str, number: str) -> httpx2.Response:
    """Send a request about a user, with ids that another tenant has."""
    filled = path.format(
        user=quote(user, safe=""),
        thread="t1",
        number=number,
        session=number,
        turn=number,
        operation=number,
        key=number,
        webhook=number,
        delivery=number,
        run=number,
    )
    body: Any = BODIES.get(path.rsplit("/", 1)[-1], {}) if method in ("POST", "PATCH") else None
    if path.endswith(("threads/{thread}/recall", "threads/{thread}/reply")):
        body = {}
    headers = {"Theanine-User": quote(user, safe=""), "Theanine-Thread": "t1"}
    with http.stream(method, filled, json=body, headers=headers) as answer:
        if path.endswith("/events") and answer.is_success:  # it never ends
            return httpx2.Response(200, headers=answer.headers, text=next(answer.iter_text()))
        answer.read()
        return answer


def shape(answer: httpx2.Response, *names: str) -> tuple[int, str, str]:
    """Return an answer without the names that were asked for and without random ids and times."""
    text = answer.text
    for name in names:
        if len(name) > 1:  # numbers are replaced below
            text = text.replace(name, "NAME")
    text = re.sub(r"\d{4}-\d\d-\d\d[T ][0-9:.]+Z?|\d+ [A-Z]\w+ \d{4}", "TIME", text)
    text = re.sub(r"[0-9a-f]{12,}[\w-]*", "ID", text)
    text = re.sub(r"\b\d+(\.\d+)?\b", "NUMBER", text)
    # The keys that the asking tenant itself has bound to anastasia.
    text = re.sub(r'"remaining":"in keys [^"]*"', '"remaining":""', text)
    return answer.status_code, answer.headers.get("Content-Type", ""), text


def test_nothing_of_another_tenant_is_found_on_any_route(
    mine: httpx2.Client, other: httpx2.Client
) -> None:
    before = mine.get("/v1/users/anastasia/export").text
    assert SECRET in before
    key = mine.post("/v1/keys", json={"name": "app"}).json()["key"]["id"]
    operation = mine.post("/v1/operations", json={"kind": "expire"}).json()["id"]
    hook = {"name": "app", "url": "http://127.0.0.1:9/"}
    webhook = mine.post("/v1/webhooks", json=hook).json()["webhook"]["id"]
    delivery = mine.post(f"/v1/webhooks/{webhook}/test").json()["id"]
    own = other.post("/v1/webhooks", json=hook).json()["webhook"]["id"]
    found, missing = (
        other.post(f"/v1/webhooks/{own}/deliveries/{number}/retry")
        for number in (delivery, "msg_" + "0" * (len(delivery) - 4))
    )
    assert found.status_code == 404 and shape(found) == shape(missing)
    tried = 0
    for method, path in routes(mine):
        numbers = ["1"]
        if any(name in path for name in ("{key}", "{operation}", "{webhook}")):
            numbers = [key, operation, webhook]
        for number in numbers:
            found = send(other, method, path, "anastasia", number)
            unknown = "0" * len(number) if len(number) > 1 else number
            missing = send(other, method, path, "nobody", unknown)
            assert SECRET not in found.text, (method, path)
            if "/{user}" in path or number != "1":
                expected = shape(missing, "nobody", unknown)
                assert shape(found, "anastasia", number) == expected, (method, path)
            tried += 1
    assert tried > 40
    assert mine.get("/v1/users/anastasia/export").text == before


@pytest.mark.parametrize("user", INJECTED)
def test_no_name_opens_another_user(mine: httpx2.Client, user: str) -> None:
    before: Any = mine.get("/v1/users/anastasia/turns").json()
    for method, path in routes(mine):
        if "/{user}" in path:
            answer = send(mine, method, path, user, "1")
            assert SECRET not in answer.text, (method, path)
            assert answer.status_code < 500, (method, path, answer.text)
    assert mine.get("/v1/users/anastasia/turns").json() == before


def test_no_filter_cursor_or_header_opens_another_tenant(
    mine: httpx2.Client, other: httpx2.Client
) -> None:
    cursor = mine.get("/v1/users/anastasia/turns", params={"limit": 1}).json()["next"]
    assert cursor
    paths = ("/v1/users/anastasia/turns", "/v1/users/cy/turns", "/v1/users", "/v1/operations")
    parameters: list[dict[str, str]] = [
        {"cursor": cursor},
        {"tenant": "mine"},
        {"agent": "default' OR tenant = 'mine"},
        {"search": SECRET},
        {"thread": "t1' UNION SELECT * FROM turn --"},
        {"where": json.dumps({"tenant": "mine"})},
    ]
    for path in paths:
        for query in parameters:
            answer = other.get(path, params=query, headers={"Tenant": "mine", "X-Tenant": "mine"})
            assert answer.status_code < 500, answer.text
            assert SECRET not in answer.text and "anastasia" not in answer.text, (path, query)
