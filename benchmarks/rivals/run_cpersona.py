"""Measure CPersona as an MCP client uses it: ``store`` and ``recall`` of its server over stdio."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from measuring import MODEL, Rival, Said, System, main

AGENT = "ana"


class CPersona:
    """Its server in a process of its own, with one SQLite file and the endpoint's vectors."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._open = AsyncExitStack()
        self._session: Any = self._loop.run_until_complete(self._start(folder, endpoint))

    async def _start(self, folder: Path, endpoint: str) -> Any:
        from mcp import ClientSession, StdioServerParameters
        from mcp.client.stdio import stdio_client

        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "cpersona"],
            env={
                **os.environ,
                "CPERSONA_DB_PATH": str(folder / "cpersona.db"),
                "CPERSONA_UPDATE_CHECK": "false",
                "CPERSONA_EMBEDDING_MODE": "api",
                "CPERSONA_EMBEDDING_API_URL": f"{endpoint}/embeddings",
                "CPERSONA_EMBEDDING_API_KEY": "none",
                "CPERSONA_EMBEDDING_MODEL": MODEL,
            },
        )
        streams = await self._open.enter_async_context(stdio_client(server))
        session = await self._open.enter_async_context(ClientSession(*streams))
        await session.initialize()
        return session

    def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        called = self._session.call_tool(tool, {"agent_id": AGENT, **arguments})
        answer = json.loads(self._loop.run_until_complete(called).content[0].text)
        if answer.get("ok") is False or "error" in answer:
            raise RuntimeError(f"{tool}: {answer}")
        return answer

    def add(self, turns: Sequence[Said]) -> None:
        """Store each turn."""
        for turn in turns:
            self._call("store", content=turn.line, id=turn.id)

    def ask(self, question: str, limit: int) -> list[str]:
        """Recall; the last row is the best."""
        rows = self._call("recall", query=question, limit=limit)["messages"]
        return list(dict.fromkeys(row["id"] for row in reversed(rows)))


def open_system(folder: Path, endpoint: str, dimension: int) -> System:
    """Open it."""
    return CPersona(folder, endpoint)


RIVAL = Rival("cpersona", ("cpersona==2.6.14",), open_system, __file__)

if __name__ == "__main__":
    main(RIVAL)
