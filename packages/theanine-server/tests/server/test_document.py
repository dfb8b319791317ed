"""The service takes what its OpenAPI document names, and nothing that only looks like it."""

from __future__ import annotations

import re
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from server.conftest import START_LIMIT, Service, running
from server.providers import Provider
from theanine.client import OpenOptions
from theanine_server import ServerOptions

RIGHTS = ("read", "write", "reply", "administer")
HEAR = "/v1/users/ana/threads/t/hear"
RECALL = "/v1/users/ana/recall"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all tests: nothing is refused because of what was stored before."""
    folder = tmp_path_factory.mktemp("document")
    with running(ServerOptions(OpenOptions(str(folder / "memory.db")))) as service:
        yield service


def test_what_a_path_allows_is_what_the_document_has(service: Service) -> None:
    with service.client(rights=RIGHTS) as http:
        paths: dict[str, dict[str, Any]] = http.get("/openapi.json").json()["paths"]
        for path, methods in paths.items():
            filled = path.replace("{user}", "ana").replace("{thread}", "t").replace("{", "")
            answer = http.request("TRACE", filled.replace("}", ""))
            assert answer.status_code == 405, path
            allowed = set(answer.headers["Allow"].split(", "))
            documented = {method.upper() for method in methods}
            assert allowed == documented, path


def test_the_document_has_the_bounds_of_numbers_and_lists(service: Service) -> None:
    with service.client() as http:
        text = http.get("/openapi.json").text
    assert not re.findall(r'"(?:ge|le|gt|lt|min_length|max_length|pattern_)":', text)


def test_the_document_is_fit_for_generators(service: Service) -> None:
    with service.client() as http:
        document: dict[str, Any] = http.get("/openapi.json").json()
    assert document["servers"][0]["url"] == "/"
    routes = [route for methods in document["paths"].values() for route in methods.values()]
    ids = [route["operationId"] for route in routes]
    assert len(ids) == len(set(ids)) and {"recall", "hear", "say", "explain"} <= {*ids}
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+){0,2}", id) for id in ids)
    schemas: dict[str, Any] = document["components"]["schemas"]
    answers = {name for route in routes for name in refs(route["responses"])}
    for name in (waiting := [*answers]):
        answers.update(new := {*refs(schemas[name])} - answers)
        waiting += new
    for name, schema in schemas.items():
        properties = schema.get("properties", {})
        assert not [field for field, of in properties.items() if "default" in of], name
        if name in answers:
            assert [*properties] == schema.get("required", []), name
    assert "Default: `20`." in schemas["ThreadRecall"]["properties"]["window"]["description"]


def refs(value: Any) -> Iterator[str]:
    """Yield the names of the schemas that a part of the document refers to."""
    yield from re.findall(r"#/components/schemas/([\w-]+)", str(value))


def test_the_document_says_where_a_nul_is_refused(service: Service) -> None:
    """Each parameter and field of text: what has no pattern is what somebody said, and repaired."""
    with service.client(rights=RIGHTS) as http:
        document: dict[str, Any] = http.get("/openapi.json").json()
        schemas: dict[str, Any] = document["components"]["schemas"]
        routes = [
            (method, path, route)
            for path, methods in document["paths"].items()
            for method, route in methods.items()
        ]
        free: set[str] = set()
        for method, path, route in routes:
            for each in route.get("parameters", ()):
                assert not takes_nul(each["schema"]), (path, each["name"])
            for name in refs(route.get("requestBody")):
                for field, schema in schemas[name].get("properties", {}).items():
                    if takes_nul(schema):
                        free.add(field)
                    elif is_text(schema) and "{operation}" not in path:
                        url = re.sub(r"\{\w+\}", "1", path)
                        answer = http.request(method, url, json={field: "a\0"})
                        assert answer.status_code == 422, (path, field)
        whole = {"name": "a\0", "transcripts": list[object]()}
        refused = http.post("/v1/users/ana/histories", json=whole)
        assert refused.status_code == 422 and "name has a NUL" in refused.text
    assert free == {"content", "dialogue", "persona", "speaker", "system", "text"}


def is_text(schema: dict[str, Any]) -> bool:
    return any(each.get("type") == "string" for each in (schema, *schema.get("anyOf", ())))


def takes_nul(schema: dict[str, Any]) -> bool:
    """Whether a schema takes a text with NUL."""
    return any(
        each.get("type") == "string" and not {"pattern", "format", "enum", "const"} & {*each}
        for each in (schema, *schema.get("anyOf", ()))
    )


def test_an_answer_has_every_field_that_the_document_requires(service: Service) -> None:
    with service.client() as http:
        required = http.get("/openapi.json").json()["components"]["schemas"]
        said = http.post(HEAR, json={"content": "I live in Lisbon."}).json()
        found = http.post(RECALL, json={"dialogue": "Where do I live?"}).json()
    assert {*required["Turn"]["required"]} == {*said}
    assert {*required["Recalled"]["required"]} == {*found}
    [part] = found["recollection"]["parts"]
    assert {*required["Part"]["required"]} == {*part}


@pytest.mark.parametrize(
    ("path", "field", "others"),
    [
        (RECALL, "query", "dialogue, utterances, min_relevance"),
        (HEAR, "text", "content, id, at"),
        ("/v1/users/ana/messages", "message", "messages, utterances"),
        ("/v1/operations", "method", "kind"),
    ],
)
def test_an_unknown_field_is_answered_with_those_that_are(
    service: Service, path: str, field: str, others: str
) -> None:
    with service.client(rights=RIGHTS) as http:
        refused = http.post(path, json={field: "Where do I live?"})
        assert (refused.status_code, refused.json()["code"]) == (422, "bad_input")
        expected = f"body.{field}: there is no such field; there are {others}"
        assert expected in refused.json()["detail"], refused.text


@pytest.mark.parametrize(
    ("path", "field", "value"),
    [
        (RECALL, "min_relevance", "0.5"),
        (RECALL, "min_relevance", True),
        (RECALL, "budget", "100"),
        (RECALL, "budget", 100.5),
        (RECALL, "limit", True),
        (RECALL, "until", 20240501),
        (RECALL, "deadline", "1"),
        (HEAR, "at", 1_714_500_000),
        (HEAR, "at", "1714500000"),
        (HEAR, "at", "2024-05-01T18:00:00"),
        (HEAR, "content", 5),
        (HEAR, "speaker", False),
        ("/v1/users/ana/threads/t/say", "recalled", ["1"]),
        ("/v1/users/ana/threads/t/say", "recalled", [1.0]),
        ("/v1/users/ana/threads/t/end", "remember", "yes"),
        ("/v1/users/ana/threads/t/end", "remember", 0),
        ("/v1/users/ana/forgetting", "everything", 1),
        ("/v1/users/ana/forgetting", "memory", "1"),
        ("/v1/keys", "rate", "60"),
        ("/v1/keys", "expires_at", 4_000_000_000),
        ("/v1/operations", "again", "true"),
    ],
)
def test_a_body_holds_the_types_of_the_document(
    service: Service, path: str, field: str, value: object
) -> None:
    needed: dict[str, Any] = {
        "recall": {"dialogue": "What may I eat?"},
        "hear": {"content": "I like tea."},
        "say": {"content": "Noted."},
        "keys": {"name": "app"},
        "operations": {"kind": "rebuild"},
    }
    body = {**needed.get(path.rsplit("/", 1)[-1], {}), field: value}
    with service.client(rights=RIGHTS) as http:
        refused = http.post(path, json=body)
        assert (refused.status_code, refused.json()["code"]) == (422, "bad_input"), refused.text
        wrong = {each["where"].split(".")[1] for each in refused.json()["errors"]}
        assert wrong == {field}


def test_nested_values_are_read_as_strictly(service: Service) -> None:
    said = {"text": "I like tea.", "speaker": "ana", "at": "2024-05-01T18:00:00Z"}
    talk = {"key": "1", "turns": [said], "at": said["at"]}
    with service.client(rights=RIGHTS) as http:
        for wrong in ({"dated": "yes"}, {"revised": 1}, {"at": 5}, {"turns": [{**said, "at": 5}]}):
            history = {"name": "ana", "transcripts": [{**talk, **wrong}]}
            refused = http.post("/v1/users/ana/histories", json=history)
            assert refused.status_code == 422, refused.text
        history = {"name": "ana", "transcripts": [talk]}
        assert http.post("/v1/users/ana/histories", json=history).status_code == 201


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("turns", "newest_first=yes"),
        ("turns", "newest_first=1"),
        ("turns", "limit=1_0"),
        ("turns", "limit=10.0"),
        ("turns", "after=%2B1"),
        ("turns", "ids=1.0"),
        ("turns/1.0", ""),
        ("memories", "pinned=on"),
        ("pending", "cancelled=1"),
        ("../../audit", "since=5"),
        ("../../audit", "until=1714500000"),
        ("../../audit", "until=2024-05-01"),
    ],
)
def test_a_parameter_has_the_form_of_the_document(service: Service, path: str, query: str) -> None:
    with service.client(rights=RIGHTS) as http:
        refused = http.get(f"/v1/users/ana/{path}?{query}")
        assert (refused.status_code, refused.json()["code"]) == (422, "bad_input"), refused.text


def test_a_parameter_of_one_value_comes_once(service: Service) -> None:
    lists = set[tuple[str, str]]()
    with service.client(rights=RIGHTS) as http:
        paths: dict[str, dict[str, Any]] = http.get("/openapi.json").json()["paths"]
        for path, methods in paths.items():
            for method, route in methods.items():
                filled = re.sub(r"\{\w+\}", "1", path)
                for each in route.get("parameters", []):
                    if each["in"] != "query":
                        continue
                    name = each["name"]
                    answer = http.request(method, f"{filled}?{name}=1&{name}=2")
                    if "array" in str(each["schema"]):
                        assert "comes 2 times" not in answer.text
                        lists.add((path, name))
                    else:
                        detail = f"{name} comes 2 times; send it once"
                        assert answer.json().get("detail") == detail, (method, path, answer.text)
        assert http.get("/v1/users/ana/turns?unknown=1&unknown=2").is_success
    assert lists == {
        ("/v1/users/{user}/turns", "ids"),
        ("/v1/evaluation/estimate", "method"),
    }


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (b'{"content": "a"', JSON),
        (b'{"content": "\xff"}', JSON),
        (b"[" * 10_000, JSON),
        (b"", JSON),
        (b'{"content": "a"}', {}),
        (b'{"content": "a"}', {"Content-Type": "text/plain"}),
        (b"content=a", {"Content-Type": "application/x-www-form-urlencoded"}),
    ],
)
def test_what_is_not_json_is_refused(
    service: Service, content: bytes, headers: dict[str, str]
) -> None:
    with service.client() as http:
        path = "/v1/users/ana/threads/wrong/hear"
        refused = http.post(path, content=content, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (422, "bad_input"), refused.text
        assert http.get("/v1/users/ana/threads/wrong/turns").json() == []


@pytest.mark.parametrize("cursor", ["0" * 24, "ana\0default", "\ud800", "1'--", ""])
def test_a_cursor_that_no_list_has_given_is_refused(service: Service, cursor: str) -> None:
    encoded = urlsafe_b64encode(cursor.encode("utf-8", "surrogatepass")).decode()
    with service.client() as http:
        refused = http.get("/v1/operations", params={"cursor": encoded})
        assert (refused.status_code, refused.json()["code"]) == (422, "bad_cursor")


def test_a_tiny_deadline_is_kept_by_doing_less(service: Service) -> None:
    with service.client() as http:
        http.post(HEAR, json={"content": "I live in Lisbon."})
        asked = {"dialogue": "Where do I live?", "deadline": 1e-9}
        until = time.monotonic() + START_LIMIT
        while (answer := http.post(RECALL, json=asked)).status_code == 503:  # on a busy machine
            assert time.monotonic() < until, answer.text
        assert "Lisbon" in answer.json()["text"]


def test_what_a_provider_refuses_is_passed_on(options: ServerOptions) -> None:
    with (
        Provider() as provider,
        running(replace(options, openai_url=provider.url)) as service,
        service.client() as http,
    ):
        for content in (b"", b"tea", b"[1]", b"\xff", b"[" * 10_000):
            answer: httpx2.Response = http.post("/v1/chat/completions", content=content)
            assert answer.status_code == 400
