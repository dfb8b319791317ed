"""A remembering chat loop of one's own takes at most twelve lines, and works."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.blocks import blocks_of
from support.forking import Python
from theanine.testing import ScriptedServer

PAGE = Path(__file__).parents[2] / "docs" / "applications.md"
MOST_LINES = 12


@pytest.mark.slow
def test_a_remembering_chat_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [program] = [block for block in blocks_of(PAGE) if block.mark("file") == "loop.py"]
    installing = [
        line
        for block in blocks_of(PAGE)
        for line in block.text.splitlines()
        if line.startswith("$ pip install")
    ]
    lines = [line for line in program.text.splitlines() if line.strip()]
    assert len(installing) + len(lines) <= MOST_LINES
    with ScriptedServer(["Noted.", "Ask for one without nuts."]) as server:
        environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        for typed in ("I'm allergic to hazelnuts.\n\n", "Which cake may I order?\n\n"):
            with Python(program.text, environment=environment) as process:
                code, output, errors = process.communicate(typed)
                assert (code, errors) == (0, "")
        assert "Ask for one without nuts." in output
        [first, second] = [request["messages"] for request in server.requests]
    assert [message["content"] for message in first] == ["I'm allergic to hazelnuts."]
    assert [message["role"] for message in second] == ["user", "assistant", "user"]
