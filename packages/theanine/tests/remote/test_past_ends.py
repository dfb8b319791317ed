"""What would be over when it is said is refused at every face that takes ``expires``."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from server.conftest import open_client, running
from typer import Context
from typer.main import get_command

import theanine
from support.running import Terminal
from theanine.cli.app import app
from theanine.client import OpenOptions
from theanine.errors import BadInput
from theanine_server import ServerOptions

PAST = "2020-01-01"
SAID = datetime(2019, 1, 1, tzinfo=UTC)
WHY = r"expires \(2020-01-01T23:59:59\+00:00\) is over: it was said at 20\d\d-.*name a later time"

METHODS: Mapping[str, Callable[[Any, Any], object]] = {
    "UserMemory.add": lambda ana, end: ana.add("A code.", expires=end),
    "UserMemory.correct": lambda ana, end: ana.correct(1, "A code.", expires=end),
    "LiveSession.hear": lambda ana, end: ana.session("s").hear("A code.", expires=end),
    "LiveSession.say": lambda ana, end: ana.session("s").say("A code.", expires=end),
    "LiveSession.add": lambda ana, end: ana.session("s").add("A code.", expires=end),
}
BODIES: Mapping[str, dict[str, Any]] = {
    "/v1/users/{user}/messages": {"messages": [{"role": "user", "content": "A code."}]},
    "/v1/users/{user}/threads/{thread}/hear": {"content": "A code."},
    "/v1/users/{user}/threads/{thread}/say": {"content": "A code."},
    "/v1/users/{user}/threads/{thread}/messages": {"messages": [{"role": "user", "content": "A."}]},
    "/v1/users/{user}/memories/{number}/corrections": {"text": "A code."},
}
COMMANDS: Mapping[str, tuple[str, ...]] = {"add": ("A code.",), "correct": ("1", "A code.")}
TOOLS: Mapping[str, dict[str, str]] = {"remember": {"text": "A code."}}


def test_every_method_that_takes_an_end_is_here() -> None:
    found = {
        f"{kind.__name__}.{name}"
        for kind in (theanine.UserMemory, theanine.LiveSession)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if "expires" in inspect.signature(method).parameters
    }
    assert found == {*METHODS}


@pytest.mark.parametrize("way", ["store", "service"])
@pytest.mark.parametrize("method", METHODS)
def test_a_method(method: str, way: str, tmp_path: Path) -> None:
    with open_client(way, str(tmp_path / "memory.db")) as client:
        ana = client.user("ana")
        ana.add("A key.")
        for end in (PAST, datetime(2020, 1, 1, 23, 59, 59, tzinfo=UTC)):
            with pytest.raises(BadInput, match=WHY):
                METHODS[method](ana, end)
        assert [turn.text for turn in ana.turns()] == ["A key."]


def test_a_route(tmp_path: Path) -> None:
    options = ServerOptions(OpenOptions(str(tmp_path / "memory.db")))
    with running(options) as service, service.client() as http:
        document = http.get("/openapi.json").json()
        schemas = document["components"]["schemas"]
        found = {
            path: method
            for path, item in document["paths"].items()
            for method, operation in item.items()
            if "expires" in _properties(operation, schemas)
        }
        assert {*found} == {*BODIES}
        http.post("/v1/users/ana/messages", json=BODIES["/v1/users/{user}/messages"])
        for path, body in BODIES.items():
            url = path.format(user="ana", thread="s", number=1)
            answer = http.request(found[path], url, json={**body, "expires": PAST})
            assert answer.status_code == 422
            assert "is over" in answer.json()["detail"], path


def _properties(operation: Any, schemas: Any) -> Any:
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    return schemas.get(schema.get("$ref", "").rpartition("/")[2], {}).get("properties", {})


def test_a_command(run: Terminal) -> None:
    group: Any = get_command(app)
    commands = {name: group.get_command(Context(group), name) for name in group.commands}
    found = {
        name
        for name, command in commands.items()
        if any(parameter.name == "expires" for parameter in command.load().params)
    }
    assert found == {*COMMANDS}
    run("add", "A key.", "--user", "ana")
    for name, arguments in COMMANDS.items():
        ran = run(name, *arguments, "--user", "ana", "--expires", PAST, fine=False)
        assert ran.code == 2 and "is over" in ran.err
    assert "A code." not in run("log", "--user", "ana").out


@pytest.mark.anyio
async def test_a_tool(tmp_path: Path) -> None:
    pytest.importorskip("mcp.server.mcpserver", reason="mcp is not installed (make extras)")
    from mcp import Client

    from theanine_server.mcp.server import build_server

    async with theanine.aopen(tmp_path / "memory.db") as opened:
        ana = opened.user("ana")
        async with Client(build_server(lambda context, access: ana)) as client:
            tools = (await client.list_tools()).tools
            assert {t.name for t in tools if "expires" in str(t.input_schema)} == {*TOOLS}
            for name, arguments in TOOLS.items():
                result: Any = await client.call_tool(name, {**arguments, "expires": PAST})
                assert result.is_error and "is over" in result.content[0].text
        assert await ana.turns() == []


@given(said=st.integers(-400, 400), end=st.integers(-400, 400), by=st.booleans())
@settings(max_examples=25, deadline=None)
def test_only_what_ends_after_it_was_said_is_logged(said: int, end: int, by: bool) -> None:
    """A turn of the past may have an end of the past: it is logged, and gone."""
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    at, expires = now + timedelta(hours=said), now + timedelta(hours=end)
    with (
        TemporaryDirectory() as folder,
        theanine.open(f"{folder}/m.db", clock=lambda: now) as client,
    ):
        ana = client.user("ana")
        metadata = {"expires": expires.isoformat()} if by else {}
        session = ana.session("s", metadata=metadata)
        if end <= said:
            with pytest.raises(BadInput, match="is over"):
                session.hear("A code.", at=at, expires=None if by else expires)
        else:
            session.hear("A code.", at=at, expires=None if by else expires)
        assert len(ana.turns()) == (end > said and end > 0)
