"""Attacks planted in a memory stay data wherever a model gets it: within one fence, in one turn."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Generator, Iterator
from dataclasses import replace

import httpx2
import pytest

from server.conftest import running
from server.planting import (
    ABOUT_IMPORTS,
    QUESTION,
    USERS,
    check_block,
    check_prompt,
    places,
    plant,
)
from server.providers import Json, Provider
from theanine.fences import REMEMBERED_HEADING
from theanine.testing import ScriptedServer
from theanine_server import ServerOptions

RIGHTS = ("read", "write", "reply", "administer")
SYSTEM = "You are a baker. Be kind."
PATHS = {
    "openai": ("/v1/chat/completions", "messages"),
    "responses": ("/v1/responses", "input"),
    "anthropic": ("/v1/messages", "messages"),
}


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def http(options: ServerOptions, provider: Provider) -> Generator[httpx2.Client]:
    """A client of a proxy that has time for memory, however slow the machine is."""
    served = replace(
        options, openai_url=provider.url, anthropic_url=provider.url, memory_deadline=60.0
    )
    with running(served) as service, service.client(rights=RIGHTS) as http:
        yield http


def requests() -> dict[str, Json]:
    """Return a request of each dialect, with the system prompt where the dialect has it."""
    said: list[Json] = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hi."},
    ]
    image: Json = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    cached: Json = {"type": "text", "text": QUESTION, "cache_control": {"type": "ephemeral"}}
    asked: Json = {"role": "user", "content": QUESTION}
    system: Json = {"role": "system", "content": SYSTEM}
    return {
        "openai": {"model": "m", "messages": [system, *said, asked]},
        "responses": {
            "model": "m",
            "instructions": SYSTEM,
            "input": [*said, {"role": "user", "content": ABOUT_IMPORTS}],
        },
        "anthropic": {
            "model": "m",
            "max_tokens": 9,
            "system": [{"type": "text", "text": SYSTEM}],
            "messages": [*said, {"role": "user", "content": [image, cached]}],
        },
    }


def test_the_proxy_keeps_attacks_in_the_fence(http: httpx2.Client, provider: Provider) -> None:
    prefixes, found = defaultdict[str, set[bytes]](set), set[str]()
    for user in (plant(http, number) for number in USERS):
        for dialect, asked in requests().items():
            path, listed = PATHS[dialect]
            headers = {"Theanine-User": user, "Theanine-Thread": dialect}
            answer = http.post(path, json=asked, headers=headers)
            assert (answer.status_code, answer.headers["Theanine-Memory"]) == (200, "on")
            assert not places(str(answer.headers) + answer.text)
            body = provider.bodies[-1]
            prefixes[dialect].add(body.partition(REMEMBERED_HEADING.encode())[0])
            sent = json.loads(body)
            newest, own = sent[listed].pop()["content"], asked[listed].pop()["content"]
            assert sent == asked  # the system prompt, and all before the newest turn
            if isinstance(own, str):
                assert newest.startswith(f"{own}\n\n")
                block = newest[len(own) + 2 :]
            else:
                assert newest[:-1] == own and newest[-1].keys() == {"type", "text"}
                block = newest[-1]["text"]
            found |= check_block(block)
    assert all(len(same) == 1 for same in prefixes.values())
    # It did reach the model, as data; metadata and names of sessions are for no model.
    assert {"said", "replied", "imported", "agent"} <= found
    assert not {"note", "session"} & found


def test_replies_and_remembering_keep_attacks_in_the_fence(options: ServerOptions) -> None:
    with ScriptedServer() as model:
        client = replace(options.client, model="openai:scripted", base_url=model.base_url)
        served = replace(options, client=client, recall_deadline=60.0)
        with running(served) as service, service.client(rights=RIGHTS) as http:
            for user in (plant(http, number) for number in USERS[::3]):
                path = f"/v1/users/{user}"
                found = http.post(f"{path}/recall", json={"dialogue": QUESTION}).json()
                check_block(found["messages"][0]["content"])
                said = {"content": QUESTION}
                assert http.post(f"{path}/threads/new/hear", json=said).is_success
                for prompt in ("chat", "transcript"):
                    asked = {"system": SYSTEM, "prompt": prompt}
                    if prompt == "transcript":
                        del asked["system"]
                    answer = http.post(f"{path}/threads/new/reply", json=asked)
                    assert answer.status_code == 200, answer.text
        systems, found = set[str](), set[str]()
        for request in model.requests:
            first, *others = request["messages"]
            if first["role"] == "system":
                systems.add(first["content"])
                words, _, block = others[-1]["content"].partition(f"\n\n{REMEMBERED_HEADING}\n")
                assert not places(f"{first}{others[:-1]}{words}")
                found |= check_block(f"{REMEMBERED_HEADING}\n{block}", rules="")
            else:
                found |= check_prompt(first["content"])
                assert all(not check_prompt(each["content"]) for each in others)
    assert len(systems) == 1 and systems.pop().startswith(SYSTEM)
    assert {"said", "replied", "imported", "named", "friend"} <= found
    assert not {"note", "session"} & found
