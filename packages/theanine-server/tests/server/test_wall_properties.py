"""Walls, by generated requests: another tenant's ids answer exactly as ids that nobody has.

Every route of the document is tried, with ids in its path, parameters, headers and body. A new
route, or a new parameter or body of one, fails until it is said here what names it may hold.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass, fields
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from server.test_walls import OURS, SECRET, mine, options, other, shape
from support.fuzzing import cases

__all__ = ["mine", "options", "other"]
pytestmark = [pytest.mark.fuzz, pytest.mark.slow]

PLAIN = set(
    "action after as_of cancelled days due format history keep_going keep_turns last limit method "
    "month name newest_first partial pinned remember search since speaker state until where window "
    "with_content zone Last-Event-ID".split()
)
"""Parameters that name nothing which belongs to a user, a key or an operation."""
SETTINGS = "/v1/users/anastasia/settings"
RUN = "5d1f0a7c3b9e4826"
VARYING = {"date", "x-request-id", "content-length"}
NEVER: dict[str, Any] = {"kind": "remember", "name": "app", "methods": ["no such method"]}


@dataclass(frozen=True)
class Ids:
    """Names of one kind: all of another tenant, or all of nobody; as long as each other."""

    user: str
    thread: str
    key: str
    operation: str
    webhook: str
    delivery: str
    run: str
    etag: str
    request: str
    """Begins the values of ``Idempotency-Key``."""

    def named(self, name: str, number: int) -> str | None:
        """Return the value of a parameter; None for one without a name of anything."""
        if name in PLAIN:
            return None
        values = {
            "user": self.user,
            "agent": "default",
            "thread": self.thread,
            "key": self.key,
            "operation": self.operation,
            "webhook": self.webhook,
            "delivery": self.delivery,
            "run": self.run,
            "cursor": urlsafe_b64encode(self.operation.encode()).decode(),
            "if-match": self.etag,
            "Idempotency-Key": self.request,
            **dict.fromkeys(("session", "turn", "number", "memory", "ids"), str(number)),
        }
        return values[name]

    def body(self, schema: str, number: int) -> Any:
        """Return a body of a schema of the document."""
        words = "What is my password?"
        message = {"messages": [{"role": "user", "content": words}]}
        named = {"name": "app", "user": self.user}
        bodies: dict[str, Any] = {
            "NewKey": named,
            "NewWebhook": {**named, "url": "http://127.0.0.1:9/"},
            "WebhookChange": {},
            "ChangedSettings": {"time_zone": "Europe/Zagreb"},
            "ChangedTenantSettings": {},
            "NewMessages": message,
            "ThreadMessages": {**message, "recalled": [number]},
            "Said": {"content": words},
            "SaidByAssistant": {"content": words, "recalled": [number]},
            "ThreadRecall": {},
            "ThreadReply": {},
            "SessionEnd": {},
            "Question": {"dialogue": words},
            "DialogueReply": {"dialogue": words},
            "Explained": {"reply": number},
            "ProfileRequest": {},
            "Search": {"query": words},
            "Correction": {"text": "I live in Porto."},
            "NewForgetting": {"memory": number},
            "History": {"name": self.user, "transcripts": []},
            "NewOperation": {"kind": "expire", "user": self.user},
            "NewComparison": {"user": self.user, "methods": ["no such method"]},
        }
        return bodies[schema]


@dataclass(frozen=True)
class Route:
    """A route of the document: its parameters by place, and the schema of its body."""

    method: str
    path: str
    parameters: tuple[tuple[str, str], ...]
    schema: str | None

    def key_of(self, ids: Ids) -> str:
        """Return an ``Idempotency-Key`` that no other route gets."""
        return f"{ids.request} {self.method} {self.path}"

    def send(
        self, http: httpx2.Client, ids: Ids, number: int, *, paged: bool, headers: dict[str, str]
    ) -> httpx2.Response:
        """Send a request with ids wherever the route takes some."""
        path, query = self.path, dict[str, str]()
        sent = {"Theanine-User": quote(ids.user), "Theanine-Thread": ids.thread, **headers}
        for place, name in self.parameters:
            value = ids.named(name, number)
            if value is None or (name == "cursor" and not paged):
                continue
            if place == "path":
                path = path.replace(f"{{{name}}}", quote(value, safe=""))
            elif place == "query":
                query[name] = value
            elif name == "Idempotency-Key":
                sent[name] = self.key_of(ids)
            elif name not in headers:
                sent[name] = value
        body = None if self.schema is None else ids.body(self.schema, number)
        if self.path.startswith(("/v1/chat", "/v1/responses", "/v1/messages")):
            body = {"messages": [{"role": "user", "content": "My password?"}], "input": "Well?"}
        with http.stream(self.method, path, params=query, json=body, headers=sent) as answer:
            if self.path.endswith("/events") and answer.is_success:  # it never ends
                text = next(answer.iter_text())
                return httpx2.Response(200, headers=answer.headers, text=text)
            answer.read()
            return answer


def read_routes(http: httpx2.Client) -> list[Route]:
    paths: dict[str, Any] = http.get("/openapi.json").json()["paths"]
    return [
        Route(
            method.upper(),
            path,
            tuple((each["in"], each["name"]) for each in route.get("parameters", [])),
            _schema(route),
        )
        for path, methods in paths.items()
        if path not in OURS
        for method, route in methods.items()
    ]


def _schema(route: dict[str, Any]) -> str | None:
    if "requestBody" not in route:
        return None
    return route["requestBody"]["content"]["application/json"]["schema"]["$ref"].split("/")[-1]


def kind(answer: httpx2.Response, ids: Ids) -> object:
    """Return all of an answer but the ids that were asked for, and what differs each time."""
    own = [getattr(ids, field.name) for field in fields(ids)]
    # A speaker is shown without hidden characters, so only the beginning of the name is sure.
    names = (quote(ids.user), *own, ids.user[: len("anastasia")])
    headers = {
        name: shape(httpx2.Response(200, text=value), *names)[2]
        for name, value in answer.headers.items()
        if name not in VARYING
    }
    status, media_type, text = shape(answer, *names)
    return status, media_type, re.sub(r"whsec_[\w+/=]+", "SECRET", text), headers


@given(
    suffix=st.sampled_from(["", "' OR '1'='1", '"; DROP TABLE turn; --', "%", "\u200b", "ａ"])
    | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=4),
    number=st.integers(1, 3),
    paged=st.booleans(),
    headers=st.sampled_from([{}, {"X-Tenant": "mine"}, {"Theanine-Agent": "default"}]),
)
@settings(cases(2), phases=[Phase.generate])  # shrinking would send thousands of requests
def test_ids_of_another_tenant_are_as_ids_of_nobody(
    mine: httpx2.Client,
    other: httpx2.Client,
    suffix: str,
    number: int,
    paged: bool,
    headers: dict[str, str],
) -> None:
    theirs = fill(mine, f"anastasia{suffix}")
    nobodys = Ids(
        **{
            each.name: f"{n:x}" * len(getattr(theirs, each.name))
            for n, each in enumerate(fields(Ids))
        }
        | {"user": f"nosuchone{suffix}", "thread": "t9", "etag": f'"{"0" * 24}"'}
        | {"request": token_hex(8)}
    )
    before = mine.get("/v1/users/anastasia/export").text
    assert SECRET in before
    for route in read_routes(other):
        found = route.send(other, theirs, number, paged=paged, headers=headers)
        missing = route.send(other, nobodys, number, paged=paged, headers=headers)
        assert SECRET not in found.text, route
        names = {name for _, name in route.parameters if theirs.named(name, number)}
        if names - {"cursor", "agent"} or route.schema or (paged and "cursor" in names):
            if (route.method, route.path) == ("DELETE", "/v1/users/{user}"):
                # The first receipt says that its words remain: the second user has them too.
                assert found.status_code == missing.status_code
                continue
            assert kind(found, theirs) == kind(missing, nobodys), (route, found.text, missing.text)
    assert mine.get("/v1/users/anastasia/export").text == before
    for path in owned(theirs):
        assert mine.get(path).is_success, path
    mine.delete(f"/v1/webhooks/{theirs.webhook}")  # a tenant has a few at most


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the service look for evaluation runs in an empty folder."""
    monkeypatch.chdir(tmp_path)


def fill(mine: httpx2.Client, user: str) -> Ids:
    """Store one of everything that has an id, with an ``Idempotency-Key`` for each route."""
    webhook = {"name": "app", "url": "http://127.0.0.1:9/"}
    number = mine.post("/v1/webhooks", json=webhook).json()["webhook"]["id"]
    for runs in (mine.get("/v1/evaluation").json()["folder"], "runs"):  # of the tenant, of nobody
        (Path(runs) / RUN).mkdir(parents=True, exist_ok=True)
        (Path(runs) / RUN / "report.html").write_text(SECRET)
    ids = Ids(
        user=user,
        thread="t1",
        key=mine.post("/v1/keys", json={"name": "app"}).json()["key"]["id"],
        operation=mine.post("/v1/operations", json={"kind": "expire"}).json()["id"],
        webhook=number,
        delivery=mine.post(f"/v1/webhooks/{number}/test").json()["id"],
        run=RUN,
        etag=mine.get("/v1/users/anastasia/memories/1").headers["ETag"],
        request=token_hex(8),
    )
    body = ids.body("ChangedSettings", 1)  # as it is sent to this route; to others, another one
    for route in read_routes(mine):
        if ("header", "Idempotency-Key") in route.parameters:
            once = {"Idempotency-Key": route.key_of(ids)}
            assert mine.patch(SETTINGS, json=body, headers=once).is_success
    for path in owned(ids):
        assert mine.get(path).is_success, path
    return ids


def owned(ids: Ids) -> list[str]:
    """Return paths of what has an id, for those whose it is."""
    return [
        f"/v1/operations/{ids.operation}",
        f"/v1/webhooks/{ids.webhook}",
        f"/v1/webhooks/{ids.webhook}/deliveries",
        f"/v1/evaluation/{ids.run}/report",
    ]
