"""MCP over HTTP: the keys, rights and walls of the service, on either era of the protocol."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import chain
from typing import Any

import anyio
import httpx2
import pytest

from theanine.client import OpenOptions

pytest.importorskip("mcp.server.mcpserver", reason="mcp is not installed (make extras)")

from mcp import Client
from mcp.client import advertise
from mcp.client.streamable_http import streamable_http_client
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp.shared.exceptions import MCPError
from server.conftest import START_LIMIT, Service, running
from server.planting import QUESTION, check_block, places, plant

from support.forking import Python
from theanine_server import ServerOptions
from theanine_server.mcp.texts import title

pytestmark = pytest.mark.anyio
SECRET = "cormorant-4417"
MODES = ["auto", "legacy"]
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def options(tmp_path: Any) -> ServerOptions:
    return ServerOptions(OpenOptions(str(tmp_path / "memory.db")))


@pytest.fixture
def service(options: ServerOptions) -> Iterator[Service]:
    with running(options) as service:
        yield service


@asynccontextmanager
async def connected(service: Service, mode: str, **headers: str) -> AsyncIterator[Client]:
    """A client with headers; ``key`` is the key."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if key := sent.pop("key", ""):
        sent["Authorization"] = f"Bearer {key}"
    apps = [advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})]
    async with httpx2.AsyncClient(headers=sent, timeout=30) as http:
        transport = streamable_http_client(f"{service.url}/mcp", http_client=http)
        async with Client(transport, mode=mode, extensions=apps) as client:
            yield client


async def call(client: Client, tool: str, **arguments: Any) -> tuple[bool, str]:
    result: Any = await client.call_tool(tool, arguments)
    return bool(result.is_error), result.content[0].text


async def make_key(service: Service, **bounds: Any) -> str:
    return await anyio.to_thread.run_sync(lambda: service.key(**bounds))


@pytest.mark.parametrize("mode", MODES)
async def test_a_key_opens_its_users_memory(service: Service, mode: str) -> None:
    key = await make_key(service, user="ana")
    async with connected(service, mode, key=key) as client:
        assert await call(client, "remember", text=f"My password is {SECRET}.") == (
            False,
            "Stored as t1.",
        )
        _, found = await call(client, "search", query="What is my password?")
        assert SECRET in found
    tenants = await make_key(service)
    async with connected(service, mode, key=tenants, Theanine_User="ana") as client:
        assert SECRET in (await call(client, "fetch", id="t1"))[1]
    async with connected(service, mode, key=tenants) as client:
        error, said = await call(client, "search", query="What is my password?")
        assert error and "send the header Theanine-User" in said


@pytest.mark.parametrize("mode", MODES)
async def test_nothing_of_others_is_found(service: Service, mode: str) -> None:
    ana = await make_key(service, tenant="mine", user="ana")
    async with connected(service, mode, key=ana) as client:
        await call(client, "remember", text=f"My password is {SECRET}.")
    other_tenant = await make_key(service, tenant="other")
    bo = await make_key(service, tenant="mine", user="bo")
    asks: list[tuple[str, dict[str, str]]] = [
        ("search", {"query": "What is my password?"}),
        ("fetch", {"id": "t1"}),
        ("fetch", {"id": "m1"}),
        ("timeline", {"id": "m1"}),
        ("timeline", {}),
        ("correct", {"id": "m1", "text": "x"}),
        ("forget", {"id": "t1"}),
    ]
    for key, user in ((other_tenant, "ana"), (bo, "ana"), (bo, "bo")):
        async with connected(service, mode, key=key, Theanine_User=user) as client:
            answers = [await call(client, tool, **arguments) for tool, arguments in asks]
            with pytest.raises(MCPError) as failure:
                await client.read_resource("theanine://memory/t1")
        assert SECRET not in str(answers) and SECRET not in str(failure.value)
        if (key, user) == (bo, "ana"):
            assert {said for _, said in answers} == {"the key is for another user or agent"}
        else:
            assert "has no turn t1" in answers[1][1] and "has no memory 1" in answers[2][1]
    async with connected(service, mode, key=ana) as client:
        assert SECRET in (await call(client, "fetch", id="t1"))[1]


@pytest.mark.parametrize("mode", MODES)
async def test_an_erasure_is_audited_as_one(service: Service, mode: str) -> None:
    key = await make_key(service, user="ana", rights=("read", "write", "reply", "administer"))
    async with connected(service, mode, key=key) as client:
        await call(client, "remember", text="I like tea.")
        assert not (await call(client, "forget", id="t1"))[0]
    async with httpx2.AsyncClient(base_url=service.url, timeout=60) as http:
        headers = {"Authorization": f"Bearer {key}"}
        entries = (await http.get("/v1/audit", headers=headers)).json()["items"]
    actions = [entry["action"] for entry in entries if entry["request"] == "POST /mcp"]
    assert actions.count("erase") == 1 and actions.count("change") == 1
    assert actions[0] == "erase"


async def test_what_is_planted_stays_data(service: Service) -> None:
    rights = ("read", "write", "reply", "administer")
    key = await make_key(service, rights=rights)
    with service.client(key) as http:
        user = await anyio.to_thread.run_sync(plant, http, 5)  # of those that forge fences
        memories = http.get(f"/v1/users/{user}/memories").json()["items"]
        for memory in memories[:2]:
            correction = {"text": f"{memory['text']} Corrected."}
            path = f"/v1/users/{user}/memories/{memory['id']}/corrections"
            assert http.post(path, json=correction).is_success
    found, drawn = set[str](), set[str]()
    async with connected(service, "auto", key=key, Theanine_User=user) as client:
        _, searched = await call(client, "search", query=QUESTION)
        for hit in json.loads(searched)["results"]:
            assert hit.keys() == {"id", "title", "url"} and len(hit["title"].splitlines()) == 1
            assert "<<<" not in hit["title"] and ">>>" not in hit["title"]
            found |= places(hit["title"])
        for number in range(1, 8):
            error, text = await call(client, "fetch", id=f"t{number}")
            assert not error
            found |= check_block(json.loads(text)["text"], rules="")
        for memory in memories[:8]:
            for tool in ("fetch", "timeline"):
                error, text = await call(client, tool, id=f"m{memory['id']}")
                assert not error
                block = json.loads(text)["text"] if tool == "fetch" else text
                if block == "Nothing has developed yet.":
                    continue
                found |= check_block(block.partition("\nThere is more: ")[0], rules="")
        shown: Any = await client.call_tool("timeline", {"id": f"m{memories[0]['id']}"})
        for memory in chain(*shown.structured_content["timelines"]):
            for words in (memory["text"], memory["explanation"]):
                assert words == title(words)
                drawn |= places(words)
        for number in (1, 2):
            error, text = await call(client, "forget", id=f"t{number}")
            said, _, kept = text.partition("\nKept:\n")
            assert not error and not places(said)
            found |= check_block(kept, rules="") if kept else set()
    assert {"said", "named", "replied", "tool"} <= found
    assert "said" in drawn


@pytest.mark.parametrize("mode", MODES)
async def test_a_key_that_may_only_read_changes_nothing(service: Service, mode: str) -> None:
    key = await make_key(service, user="ana", rights=("read",))
    async with connected(service, mode, key=key) as client:
        for tool, arguments in (
            ("remember", {"text": "x"}),
            ("correct", {"id": "m1", "text": "x"}),
            ("forget", {"id": "t1"}),
        ):
            refused = await call(client, tool, **arguments)
            assert refused == (True, "the key lacks the right to write")
        assert json.loads((await call(client, "search", query="ships"))[1]) == {"results": []}


async def test_without_a_valid_key_nothing_is_answered(service: Service) -> None:
    key = await make_key(service, user="ana", rate=2)
    async with httpx2.AsyncClient(base_url=service.url, headers=ACCEPT) as http:
        for headers in ({}, {"Authorization": "Bearer theanine_no_key"}):
            answer = await http.post("/mcp", json=INITIALIZE, headers=headers)
            assert answer.status_code == 401
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert answer.json()["code"] == "unauthorized"
        keyed = {"Authorization": f"Bearer {key}"}
        answers = [await http.post("/mcp", json=INITIALIZE, headers=keyed) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        large = {**INITIALIZE, "id": "x" * 5_000_000}
        other = {"Authorization": f"Bearer {await make_key(service)}"}
        assert (await http.post("/mcp", json=large, headers=other)).status_code == 413


async def test_a_session_is_for_the_key_that_began_it(service: Service) -> None:
    keys = [await make_key(service, user="ana") for _ in range(2)]
    first, second = ({**ACCEPT, "Authorization": f"Bearer {key}"} for key in keys)
    async with httpx2.AsyncClient(base_url=service.url) as http:
        begun = await http.post("/mcp", json=INITIALIZE, headers=first)
        session = {"Mcp-Session-Id": begun.headers["Mcp-Session-Id"]}
        ask = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        statuses = [
            (await http.post("/mcp", json=ask, headers={**headers, **session})).status_code
            for headers in (first, second)
        ]
    assert statuses == [200, 404]


async def test_without_sessions_any_process_answers(options: ServerOptions) -> None:
    with running(replace(options, mcp_sessions=False)) as service:
        key = await make_key(service, user="ana")
        for mode in MODES:
            async with connected(service, mode, key=key) as client:
                assert (await call(client, "remember", text=f"I sail, {mode}."))[0] is False
        async with httpx2.AsyncClient(base_url=service.url) as http:
            headers = {**ACCEPT, "Authorization": f"Bearer {key}"}
            begun = await http.post("/mcp", json=INITIALIZE, headers=headers)
            assert begun.status_code == 200 and "Mcp-Session-Id" not in begun.headers


async def test_without_keys_only_this_machine_may_ask(options: ServerOptions) -> None:
    with running(replace(options, dev=True, only_mcp=True)) as service:
        async with connected(service, "auto", Theanine_User="ana") as client:
            assert (await call(client, "remember", text="I sail."))[0] is False
        async with httpx2.AsyncClient(base_url=service.url) as http:
            for foreign in (
                {"Host": "evil.example"},
                {"Origin": "http://evil.example"},
                {"Host": "evil.example", "Origin": "http://evil.example"},
            ):
                answer = await http.post("/mcp", json=INITIALIZE, headers={**ACCEPT, **foreign})
                assert answer.status_code == 401
            assert (await http.get("/health")).status_code == 200
            assert (await http.get("/v1/users")).status_code == 404


async def test_idle_streams_leave_room_for_requests(options: ServerOptions) -> None:
    with running(replace(options, dev=True, max_mcp=2)) as service:
        async with httpx2.AsyncClient(base_url=service.url, headers=ACCEPT) as http:
            begun = await http.post("/mcp", json=INITIALIZE)
            headers = {"Mcp-Session-Id": begun.headers["Mcp-Session-Id"]}
            async with http.stream("GET", "/mcp", headers=headers) as stream:
                assert stream.status_code == 200
                ask = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
                deadline = anyio.current_time() + START_LIMIT
                while (answer := await http.post("/mcp", json=ask, headers=headers)).is_error:
                    # The first request leaves its place a moment after its answer.
                    assert answer.status_code == 429
                    assert anyio.current_time() < deadline
            assert (await http.get("/v1/users")).status_code == 200


def test_the_service_runs_without_the_extra(tmp_path: Any) -> None:
    code = f"""
import sys
sys.modules["mcp"] = None
from starlette.testclient import TestClient
from theanine.client import OpenOptions
from theanine_server import ServerOptions, create_app
options = ServerOptions(OpenOptions({str(tmp_path / "memory.db")!r}), dev=True)
with TestClient(create_app(options), base_url="http://localhost", client=("127.0.0.1", 1)) as http:
    answer = http.post("/mcp", json={{}})
    print(answer.status_code, answer.json()["detail"])
"""
    with Python(code) as process:
        status, output, _ = process.communicate()
    assert status == 0
    assert output == (
        "501 MCP needs an optional part: pip install 'theanine[mcp]' "
        "(in a checkout: packages/theanine-server 'packages/theanine[mcp]')\n"
    )
