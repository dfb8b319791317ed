"""Measure CPersona as an MCP client uses it: ``store`` and ``recall`` of its server over stdio."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from measuring import MODEL, Rival, Said, System, main

AGENT = "ana"


class CPersona:
    """Its server in a process of its own, with one SQLite file and the endpoint's vectors."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        from anyio.from_thread import start_blocking_portal
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
        self._open = ExitStack()
        self._portal: Any = self._open.enter_context(start_blocking_portal())
        streams = self._enter(stdio_client(server))
        self._session = self._enter(ClientSession(*streams))
        self._portal.call(self._session.initialize)

    def _enter(self, context: Any) -> Any:
        return self._open.enter_context(self._portal.wrap_async_context_manager(context))

    def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        called = self._portal.call(self._session.call_tool, tool, {"agent_id": AGENT, **arguments})
        answer = json.loads(called.content[0].text)
        if answer.get("ok") is False or "error" in answer:
            raise RuntimeError(f"{tool}: {answer}")
        return answer

    def add(self, turns: Sequence[Said], user: str) -> None:
        """Store each turn."""
        for turn in turns:
            self._call("store", content=turn.line, id=turn.id, timestamp=turn.at)

    def ask(self, question: str, limit: int | None) -> list[str]:
        """Recall; the last row is the best."""
        limited = {} if limit is None else {"limit": limit}
        rows = self._call("recall", query=question, **limited)["messages"]
        return list(dict.fromkeys(row["id"] for row in reversed(rows)))

    def close(self) -> None:
        """End the server."""
        self._open.close()


def open_system(folder: Path, endpoint: str, dimension: int) -> System:
    """Open it."""
    return CPersona(folder, endpoint)


RIVAL = Rival(
    "cpersona",
    ("cpersona==2.6.14",),
    "recall: limit=10 (10 a retriever), similarity of .3",
    open_system,
    __file__,
)

if __name__ == "__main__":
    main(RIVAL)
