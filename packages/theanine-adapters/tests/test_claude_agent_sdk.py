"""The Claude Agent SDK's session store: its own conformance suite, and what is remembered."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.errors import BadInput

pytest.importorskip("claude_agent_sdk.testing", reason="claude-agent-sdk is not installed")

from claude_agent_sdk import get_session_messages_from_store
from claude_agent_sdk.testing import run_session_store_conformance

from theanine_adapters.claude_agent_sdk import TheanineSessionStore

pytestmark = pytest.mark.anyio
KEY = {"project_key": "trips", "session_id": "0b1e0b9e-0000-4000-8000-000000000001"}


def entry(number: int, role: str, content: Any, **fields: Any) -> dict[str, Any]:
    ids = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number > 1 else None}
    message = {"role": role, "content": content}
    session = {"sessionId": KEY["session_id"], "timestamp": "2026-11-01T10:00:00.000Z"}
    return {"type": role, "message": message, **ids, **session, **fields}


async def test_the_sdks_conformance_suite_on_either_handle(
    client: theanine.Client, tmp_path: Path
) -> None:
    users = count()
    await run_session_store_conformance(
        lambda: TheanineSessionStore(client.user(f"user {next(users)}"))
    )
    async with theanine.aopen(tmp_path / "other.db") as other:
        await run_session_store_conformance(
            lambda: TheanineSessionStore(other.user(f"user {next(users)}"))
        )
    assert next(users) == 2 * (14 + 1)  # one each, and one to see what the store can do


async def test_a_batch_that_is_repeated_is_logged_once(client: theanine.Client) -> None:
    store = TheanineSessionStore(client.user("ana"))
    first, second = entry(1, "user", "Hello!"), entry(2, "assistant", "Hi.")
    title = {"type": "custom-title", "customTitle": "Trip"}
    await store.append(KEY, [first, first, title])
    await store.append(KEY, [first, second, title])
    assert await store.load(KEY) == [first, title, second, title]
    with pytest.raises(BadInput, match="can't be stored as JSON"):
        await store.append(KEY, [{"type": "x", "value": object()}])
    shown = await get_session_messages_from_store(store, KEY["session_id"], directory="trips")
    assert isinstance(shown, list)


async def test_what_is_said_is_recalled_and_the_rest_is_kept(client: theanine.Client) -> None:
    ana = client.user("ana")
    store = TheanineSessionStore(ana)
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file": "trip.md"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "a cruise in May"}
    entries = [
        {"type": "mode", "mode": "plan"},
        entry(1, "user", "I'm terrified of ships since the storm."),
        entry(2, "assistant", [{"type": "thinking", "thinking": "Hm."}, use]),
        entry(3, "user", [result]),
        entry(4, "assistant", [{"type": "text", "text": "So no cruise."}]),
        entry(5, "user", "<command-name>/clear</command-name>", isMeta=True),
    ]
    await store.append(KEY, entries)
    await store.append({**KEY, "subpath": "subagents/a"}, [entry(6, "user", "Find ships.")])
    assert await store.load(KEY) == entries
    spoken = [(turn.role, turn.text) for turn in ana.turns() if turn.role != "tool"]
    assert spoken == [
        ("user", "I'm terrified of ships since the storm."),
        ("assistant", "So no cruise."),
    ]
    assert "terrified" in ana.recall("Shall we book that cruise on a ship?").text
    await store.delete(KEY)
    assert ana.turns() == []
