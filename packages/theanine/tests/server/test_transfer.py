"""Export and import over HTTP: whole, of one user, and of no other."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from server.conftest import Service, running
from theanine.client import OpenOptions
from theanine.server import ServerOptions

ADMINISTER = ("read", "write", "administer")
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


def test_conversations_of_another_service_are_imported(service: Service) -> None:
    with service.client(rights=ADMINISTER) as http:
        path, body = "/v1/users/ana/import", json.dumps(CHAT).encode()
        imported = http.post(path, content=body).json()
        assert (imported["format"], imported["turns_new"]) == ("chatgpt", 1)
        assert http.post(path, content=body).json()["turns_new"] == 0
        [turn] = http.get("/v1/users/ana/turns").json()["items"]
        assert turn["text"] == "I am going to Lisbon."
        refused = http.post(path, content=b"\x00\xff{}")
        assert refused.status_code == 422 and "/tmp" not in refused.text
        assert http.post(path, params={"format": "nothing"}, content=body).status_code == 422


def test_a_file_above_the_limit_is_refused(options: ServerOptions) -> None:
    with (
        running(replace(options, max_import=100)) as service,
        service.client(rights=ADMINISTER) as http,
    ):
        answer = http.post("/v1/users/ana/import", content=b"x" * 101)
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def said(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}
