"""Export and import over HTTP: whole, of one user, and of no other."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import httpx2
import pytest

from server.conftest import Service, running
from theanine.client import OpenOptions
from theanine_server import ServerOptions

ADMINISTER = ("read", "write", "reply", "administer")
CHAT: list[dict[str, Any]] = [
    {
        "title": "Trip",
        "create_time": 1_700_000_000,
        "mapping": {
            "a": {
                "id": "a",
                "parent": None,
                "children": list[str](),
                "message": {
                    "id": "a",
                    "author": {"role": "user"},
                    "create_time": 1_700_000_000,
                    "content": {"content_type": "text", "parts": ["I am going to Lisbon."]},
                },
            }
        },
        "current_node": "a",
        "conversation_id": "c1",
    }
]


def test_an_export_is_restored_elsewhere(service: Service, options: ServerOptions) -> None:
    with service.client() as http:
        for text in ("I live in Lisbon.", "I have a cat."):
            http.post("/v1/users/ana/messages", json={"messages": [said(text)]})
        http.post("/v1/users/bo/messages", json={"messages": [said("I like tea.")]})
        export = http.get("/v1/users/ana/export")
    assert export.headers["Content-Type"].startswith("application/x-ndjson")
    assert json.loads(export.text.splitlines()[-1])["type"] == "end"
    elsewhere = replace(options, client=OpenOptions(f"{options.client.location}-2"))
    with running(elsewhere) as other, other.client(rights=ADMINISTER) as http:
        path = "/v1/users/ana/import"
        cut = export.content[: len(export.content) // 2]
        assert http.post(path, content=cut).status_code == 422
        restored = http.post(path, content=export.content)
        assert restored.status_code == 200 and restored.json()["records_new"] > 0
        assert http.get("/v1/users/ana/export").text == export.text
        assert http.post(path, content=export.content).json()["records_new"] == 0
        refused = http.post("/v1/users/bo/import", content=export.content)
        assert refused.status_code == 422 and "'ana'" in refused.json()["detail"]
        assert http.get("/v1/users/bo/turns").json()["items"] == []
        http.post("/v1/users/ana/messages", json={"messages": [said("I have a dog.")]})
        changed = http.get("/v1/users/ana/export").content
    with service.client(rights=ADMINISTER) as http:
        http.post("/v1/users/ana/messages", json={"messages": [said("I have a parrot.")]})
        refused = http.post(path, content=changed)
        assert refused.status_code == 422
        assert "ana is not empty here" in refused.json()["detail"]


def test_conversations_of_another_service_are_imported(service: Service) -> None:
    with service.client(rights=ADMINISTER) as http:
        path, body = "/v1/users/ana/import", json.dumps(CHAT).encode()
        imported = http.post(path, content=body).json()
        assert (imported["format"], imported["turns_new"]) == ("chatgpt", 1)
        assert http.post(path, content=body).json()["turns_new"] == 0
        [turn] = http.get("/v1/users/ana/turns").json()["items"]
        assert turn["text"] == "I am going to Lisbon."
        refused = http.post(path, content=b"\x00\xff{}")
        assert refused.status_code == 422 and gettempdir() not in refused.text
        assert http.post(path, params={"format": "nothing"}, content=body).status_code == 422


def test_a_file_above_the_limit_is_refused(options: ServerOptions) -> None:
    with (
        running(replace(options, max_import=100)) as service,
        service.client(rights=ADMINISTER) as http,
    ):
        answer = http.post("/v1/users/ana/import", content=b"x" * 101)
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_a_preview_tells_what_would_come_in_and_stores_nothing(service: Service) -> None:
    with service.client(rights=ADMINISTER) as http:
        path, body = "/v1/users/ana/import", json.dumps(CHAT).encode()
        found = http.post(f"{path}/preview", content=body).json()
        assert (found["format"], found["one_account"], found["rejected"]) == ("chatgpt", True, [])
        [history] = found["histories"]
        assert (history["sessions"], history["known"], history["turns"]) == (1, 0, 1)
        assert history["first"][:10] == history["last"][:10] == "2023-11-14"
        assert list(history["speakers"].values()) == [1]
        assert history["sample"][0]["text"] == "I am going to Lisbon."
        assert http.get("/v1/users/ana/turns").json()["items"] == []
        http.post(path, content=body, params={"remember": False})
        assert len(http.get("/v1/users/ana/pending").json()) == 1
        again = http.post(f"{path}/preview", content=body).json()
        assert again["histories"][0]["known"] == 1
        export = http.get("/v1/users/ana/export").content
        assert http.post(f"{path}/preview", content=export).json()["format"] == "theanine"
    with service.client() as http:
        assert http.post(f"{path}/preview", content=body).status_code == 403


def test_what_cannot_be_read_is_listed_and_left_out_on_request(service: Service) -> None:
    lines = [
        {"user": "ana", "session": "s1", "speaker": "Ana", "at": "2026-03-01T09:00:00+00:00"},
        {"user": "bo", "session": "s2", "speaker": "Bo", "at": "2026-03-01T09:00:00+00:00"},
    ]
    body = "".join(f"{json.dumps({**line, 'text': 'I live here.'})}\n" for line in lines).encode()
    broken = body + b'{"user": "ana", "session": "s1", "speaker": "Ana"}\n'
    with service.client(rights=ADMINISTER) as http:
        path = "/v1/users/ana/import"
        found = http.post(f"{path}/preview", content=broken, params={"name": "talks.jsonl"}).json()
        assert [history["name"] for history in found["histories"]] == ["ana", "bo"]
        assert not found["one_account"]
        [[where, reason]] = found["rejected"]
        assert where == "talks.jsonl, line 3" and reason
        assert http.post(path, content=broken, params={"history": "bo"}).status_code == 422
        several = http.post(path, content=body)
        assert several.status_code == 422 and "'ana', 'bo'" in several.json()["detail"]
        unknown = http.post(path, content=body, params={"history": "cy"})
        assert unknown.status_code == 422
        options = {"history": "bo", "keep_going": True}
        assert http.post(path, content=broken, params=options).json()["turns_new"] == 1
        [turn] = http.get(path.replace("import", "turns")).json()["items"]
        assert turn["speaker"] == "Bo"


def test_files_of_other_names_are_other_conversations(service: Service) -> None:
    with service.client(rights=ADMINISTER) as http:
        path = "/v1/users/ana/import"
        for name, text in (("march.txt", "I live in Lisbon."), ("../../may.txt", "I have a cat.")):
            body = f"Ana: {text}\nTheo: I see.\n".encode()
            imported = http.post(path, content=body, params={"name": name, "speaker": "Ana"})
            assert imported.json()["turns_new"] == 2, imported.text
        sessions = http.get("/v1/users/ana/sessions").json()["items"]
        assert len(sessions) == 2


@pytest.mark.slow
def test_a_large_memory_streams(service: Service, tmp_path: Path) -> None:
    """Of an export and an import, as little is in main memory as of small ones."""
    grown, sizes = list[int](), list[int]()
    with service.client(rights=ADMINISTER) as http:
        for user, turns in (("warm", 10), ("small", 1_000), ("large", 3_000)):
            for start in range(0, turns, 500):
                messages = [
                    {"role": "user", "content": f"{number} " + "bird " * 600}
                    for number in range(start, min(start + 500, turns))
                ]
                path = f"/v1/users/{user}/threads/t/messages"
                answer = http.post(path, json={"messages": messages, "resent": False})
                assert answer.status_code == 201, answer.text
            path, file = f"/v1/users/{user}", tmp_path / user
            grown.append(_peak(partial(_download, http, path, file)))
            assert http.delete(path).json()["turns"] == turns
            grown.append(_peak(partial(_upload, http, path, file)))
            sizes.append(file.stat().st_size)
    more = sizes[-1] - sizes[-2]
    assert more > 6_000_000
    for small, large in zip(grown[2:4], grown[4:], strict=True):
        assert large - small < more / 4


def _peak(act: Callable[[], None]) -> int:
    """Return the bytes that this process, with the service, has at most during an act."""
    tracemalloc.start()
    act()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _download(http: httpx2.Client, path: str, file: Path) -> None:
    with http.stream("GET", f"{path}/export") as answer, file.open("wb") as written:
        for chunk in answer.iter_raw():
            written.write(chunk)


def _upload(http: httpx2.Client, path: str, file: Path) -> None:
    with file.open("rb") as read:
        chunks = iter(lambda: read.read(1 << 16), b"")
        answer = http.post(f"{path}/import", content=chunks)
    assert answer.status_code == 200, answer.text


def said(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


NAMES = [
    "..",
    ".",
    "/",
    "a/..",
    "\\..\\..",
    "é" * 300,
    "x" * 255,
    "x" * 251 + ".txt",
    "a\nb",
    " ",
    "...",
]


@pytest.mark.parametrize("name", NAMES)
def test_an_import_takes_any_name(service: Service, name: str) -> None:
    with service.client(rights=ADMINISTER) as http:
        said = b'{"role": "user", "content": "I like tea.", "at": "2024-05-01T09:00:00Z"}\n'
        for path in ("/v1/users/ana/import", "/v1/users/ana/import/preview"):
            answer = http.post(path, params={"name": name}, content=said)
            assert answer.status_code in (200, 422), answer.text
