"""The cache of threads while several tasks use one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.store.sqlite import SqliteStore

pytestmark = pytest.mark.anyio


class BusyStore(SqliteStore):
    """A store in which something else happens once when a thread was counted."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def count_turns(self, *args: Any, **kwargs: Any) -> int:
        count = await super().count_turns(*args, **kwargs)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            await meanwhile()
        return count


async def test_what_is_logged_while_a_thread_is_read_hides_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    said = [{"role": "system", "content": "Be kind."}]
    said += [{"role": "user", "content": f"Number {number}."} for number in range(2, 23)]
    async with theanine.aopen(path) as client:
        await client.user("ana").session("long").add(said)
    store = BusyStore(path)
    async with theanine.aopen(store) as client:
        live = client.user("ana").session("long")
        store.meanwhile = lambda: live.hear("Number 23.")
        await live.messages(last=20)
        assert store.meanwhile is None
        shown = await live.messages(last=20)
        assert [shown[0]["content"], shown[1]["content"]] == ["Be kind.", "Number 4."]
        everything = await live.messages(last=1_000)
        assert [m["content"] for m in everything] == [
            "Be kind.",
            *(f"Number {number}." for number in range(2, 24)),
        ]


async def test_the_system_prompt_outlives_the_turns_that_are_kept(tmp_path: Path) -> None:
    async with theanine.aopen(tmp_path / "memory.db") as client:
        live = client.user("ana").session("long")
        await live.add([{"role": "system", "content": "Be kind."}])
        for number in range(150):
            await live.hear(f"Number {number}.")
            if number in (5, 120):
                assert (await live.messages(last=2))[0]["content"] == "Be kind."
        assert await live.system() == "Be kind."
