"""Odd values of every parameter and field: every store answers alike, in none of its own words."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2
import pytest

from server.conftest import Service, running
from support.postgres import MISSING, database_url
from theanine.client import OpenOptions
from theanine_server import ServerOptions

RIGHTS = ("read", "write", "reply", "administer")
OF_PROVIDERS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")
LASTING = ("/events", "/comparisons")
"""Ends of the paths that answer with a stream, or begin a run."""
GIVEN = {"name": "x", "kind": "expire", "content": "x", "dialogue": "x"}
"""Fields that a body needs."""
Answers = dict[tuple[str, str, str, str], tuple[int, str]]


def cursor(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


CURSORS = ("7", "ana\0default", "m\0", "abc", "9" * 9)
PLAIN = ("\0", "a\0b", "9" * 30, "-1", "0", " ", "%", "'; --", "\u202e", "x" * 3_000)
IN_JSON = [*PLAIN, "\ud83d"]
TOKENS = re.compile(
    rf"sqlite|postgres|psycopg|\.db\b|host=|role |{gettempdir()}/|127\.0\.0\.1:\d+", re.I
)


def fill(http: httpx2.Client) -> None:
    for thread in ("t1", "t2"):
        path = f"/v1/users/ana/threads/{thread}"
        said = {"content": "I live in Lisbon.", "id": "m1", "metadata": {"channel": "web"}}
        assert http.post(f"{path}/hear", json=said).is_success
        assert http.post(f"{path}/end", json={"remember": True}).is_success


def strings(schema: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    """Yield the fields of a body that may be strings."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for name, field in schema.get("properties", {}).items():
        if any(each.get("type") == "string" for each in (field, *field.get("anyOf", []))):
            yield name


class Asking:
    """Sends odd values, and keeps the answers."""

    def __init__(self, http: httpx2.Client) -> None:
        self._http = http
        self.answers: Answers = {}

    def send(self, method: str, path: str, where: str, odd: str, **request: Any) -> None:
        if "json" in request:  # whose library refuses half of a character
            request["content"] = json.dumps(request.pop("json"))
            request["headers"] = {"Content-Type": "application/json"}
        answer = self._http.request(method, path, **request)
        code = "" if answer.is_success else str(answer.json().get("code"))
        assert answer.status_code < 500, (method, path, where, odd, answer.text)
        if not answer.is_success:
            assert not TOKENS.search(answer.text), (method, path, where, odd, answer.text)
        self.answers[method, path, where, odd] = (answer.status_code, code)

    def try_route(self, method: str, path: str, route: Any, document: Any) -> None:
        filled = fill_in(path)
        for each in route.get("parameters", []):
            name = each["name"]
            for odd in (*PLAIN, *map(cursor, CURSORS if name == "cursor" else ())):
                if each["in"] == "path" and method != "delete":
                    odd_path = fill_in(path.replace(f"{{{name}}}", quote(odd, safe="")))
                    self.send(method, odd_path, name, odd, json={})
                elif each["in"] == "query":
                    self.send(method, filled, name, odd, params={name: odd}, json={})
        content = route.get("requestBody", {}).get("content", {})
        names = [*strings(content.get("application/json", {}).get("schema", {}), document)]
        fields = {name: GIVEN[name] for name in names if name in GIVEN}
        for name in names:
            for odd in IN_JSON:
                self.send(method, filled, name, odd, json={**fields, name: odd})


def fill_in(path: str) -> str:
    named = path.replace("{user}", "ana").replace("{thread}", "t1")
    return re.sub(r"\{\w+\}", "1", named)


def ask(service: Service) -> Answers:
    """Send odd values in place of every text that the API documents."""
    with service.client(rights=RIGHTS) as http:
        fill(http)
        document = http.get("/openapi.json").json()
        asking = Asking(http)
        for path, methods in document["paths"].items():
            if path not in OF_PROVIDERS and not path.endswith(LASTING):
                for method, route in methods.items():
                    asking.try_route(method, path, route, document)
        for odd in IN_JSON:
            for where in ({"channel": odd}, {odd: "web"}, {"channel": {"!=": odd}}):
                asked = {"dialogue": "Where do I live?", "where": where}
                asking.send("post", "/v1/users/ana/recall", str(where), odd, json=asked)
        return asking.answers


def on(options: ServerOptions, location: str) -> Answers:
    client = OpenOptions(location)
    with running(replace(options, client=client)) as service:
        assert urlsplit(service.url).port
        return ask(service)


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_odd_values_are_answered_alike(options: ServerOptions, tmp_path: Path) -> None:
    in_file, on_server = on(options, str(tmp_path / "a.db")), on(options, database_url(tmp_path))
    differing = {
        asked: (in_file[asked], on_server.get(asked))
        for asked in in_file
        if in_file[asked] != on_server.get(asked)
    }
    assert len(in_file) > 1_000
    assert not differing
