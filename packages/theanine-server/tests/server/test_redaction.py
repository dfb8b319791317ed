"""What the service redacts is nowhere: not in the store's files, its answers, exports or logs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from server.processes import serving
from server.providers import Answer, Json, Provider
from theanine.testing import ScriptedServer

SECRET, MODELS = "ana.secret@mail.example.org", "bo.secret@mail.example.org"
SAID = f"Write to {SECRET} about the hazelnut cake."


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider(lambda request: Answer(f"I wrote to {MODELS}.")) as provider:
        yield provider


def send(http: httpx2.Client, path: str, body: Json | bytes, **headers: str) -> httpx2.Response:
    """Send a request twice, under an ``Idempotency-Key`` where that is of use."""
    content: Any = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers |= {"Content-Type": "application/json"}
    answers = [http.post(path, content=content, headers=headers) for _ in range(2)]
    assert all(answer.is_success for answer in answers), answers[-1].text
    return answers[-1]


@pytest.mark.server
@pytest.mark.slow
def test_what_is_redacted_is_nowhere(tmp_path: Path, provider: Provider) -> None:
    store = tmp_path / "store" / "memory.db"
    store.parent.mkdir()
    with (
        ScriptedServer(f"I know that it is {MODELS}.") as model,
        serving(
            store,
            *(
                "--dev",
                "--redact",
                "emails,secrets",
                "--log-format",
                "json",
                "--log-level",
                "debug",
            ),
            *("--openai-url", provider.url, "--anthropic-url", provider.url),
            *("--model", "openai:scripted", "--base-url", model.base_url),
            *("--memory-model", "local"),
            environment={"OPENAI_API_KEY": "sk-test"},
        ) as service,
        service.client() as http,
    ):
        path = "/v1/users/ana"
        message = {"role": "user", "content": [{"type": "text", "text": SAID}, {"type": "x"}]}
        line = {"speaker": "Ana", "text": SAID, "at": "2024-05-01T12:00:00Z"}
        keyed = {"Idempotency-Key": SECRET}
        send(http, f"{path}/threads/t/hear", {"content": SAID, "id": "m1"}, **keyed)
        send(http, f"{path}/threads/t/messages", {"messages": [message]})
        keyed = {"Idempotency-Key": "2"}
        replied = send(http, f"{path}/threads/t/reply", {"system": SAID}, **keyed)
        assert MODELS not in replied.text and "[email]" in replied.text  # as it is kept
        keyed = {"Idempotency-Key": "3"}
        streamed = http.post(f"{path}/threads/t/reply", json={"stream": True}, headers=keyed)
        assert MODELS in streamed.text  # as the model says it
        send(http, f"{path}/reply", {"dialogue": SAID})
        send(http, f"{path}/import?name=chat.jsonl", json.dumps(line).encode())
        http.post(f"{path}/threads/t/end", json={"remember": True})
        memory = http.get(f"{path}/memories").json()["items"][0]["id"]
        corrected = {"text": f"Ana's address is {SECRET}."}
        http.post(f"{path}/memories/{memory}/corrections", json=corrected)
        history = {"name": "h", "transcripts": [{"key": "s", "at": line["at"], "turns": [line]}]}
        assert (answer := http.post(f"{path}/histories", json=history)).is_success, answer.text
        http.post(f"{path}/recall", json={"dialogue": SAID})
        named = {"Theanine-User": "ana"}
        said = [{"role": "user", "content": SAID}]
        tool = {"role": "tool", "tool_call_id": "c", "content": SAID}
        for route, body in (
            ("/v1/chat/completions", {"messages": [*said, tool, *said], "stream": True}),
            ("/v1/responses", {"input": SAID}),
            ("/v1/messages", {"messages": said, "max_tokens": 9}),
        ):
            assert MODELS in send(http, route, {"model": "m", **body}, **named).text
            assert SECRET in provider.bodies[-1].decode()  # the provider gets what the client sent
        exported = http.get(f"{path}/export")
        assert "[email]" in exported.text
        refused = http.post(f"{path}/import", content=exported.content)
        assert refused.status_code == 422 and "redacts" in refused.json()["detail"]
        listed = [
            http.get(f"{path}{each}").text
            for each in (
                "/turns",
                "/memories",
                "/threads/t/messages",
                "/threads/t/system",
                "/graph",
                "/conversations",
            )
        ]
        kept = "".join([exported.text, *listed])
        http.delete("/v1/users/nobody")  # waits until the audit log is written
        found = [file for file in tmp_path.rglob("*") if file.is_file()]
        files = {str(file): file.read_bytes() for file in found}
    files |= {str(file): file.read_bytes() for file in found if file.exists()}
    assert any("memory.db" in name for name in files)
    for secret in (SECRET, MODELS):
        assert secret not in kept and secret not in "".join(service.errors)
        for name, content in files.items():
            assert secret.encode() not in content, name
