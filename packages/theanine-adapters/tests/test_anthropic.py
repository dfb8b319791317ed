"""Claude's memory tool: as the SDK's tool for a folder of files; in the user's memory."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import theanine
from support.fuzzing import cases

pytest.importorskip("anthropic.tools.memory", reason="anthropic is not installed (make extras)")

from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

from theanine_adapters.anthropic import AsyncTheanineMemoryTool, TheanineMemoryTool
from theanine_adapters.files import FileConflict
from theanine_adapters.handles import call

PATHS = st.sampled_from(
    [
        "/memories",
        "/memories/",
        "/memories/a",
        "/memories/a/b",
        "/memories/a/b/c",
        "/memories/a/b/c/d",
        "/memories/b.txt",
        "/memories//b.txt",
        "/memories/a/../b.txt",
        "/memories/.hidden/x",
        "/memories/š 1",
        "/memories/../x",
        "/etc/passwd",
    ]
)
TEXTS = st.one_of(
    st.sampled_from(["", "\n", "one\ntwo\n", "one\none", "x\r\ny", "aaa", "z" * 1500]),
    st.text(alphabet="ab\n", max_size=6),
)
COMMANDS = st.one_of(
    st.fixed_dictionaries({"command": st.just("create"), "path": PATHS, "file_text": TEXTS}),
    st.fixed_dictionaries(
        {
            "command": st.just("view"),
            "path": PATHS,
            "view_range": st.one_of(
                st.none(), st.tuples(st.integers(-1, 3), st.integers(-1, 4)).map(list)
            ),
        }
    ),
    st.fixed_dictionaries(
        {
            "command": st.just("str_replace"),
            "path": PATHS,
            "old_str": st.sampled_from(["one", "a", "aa", "", "two\n"]),
            "new_str": TEXTS,
        }
    ),
    st.fixed_dictionaries(
        {
            "command": st.just("insert"),
            "path": PATHS,
            "insert_line": st.integers(-1, 3),
            "insert_text": TEXTS,
        }
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": PATHS}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": PATHS, "new_path": PATHS}),
)


def outcome(tool: Any, command: dict[str, Any]) -> tuple[bool, str]:
    """Whether it succeeded, and the reply: the sizes of folders are the file system's own."""
    try:
        return True, re.sub(r"^\S+(\t/memories)", r"\1", tool.call(command), flags=re.M)
    except ToolError as error:
        return False, str(error)
    except OSError:  # what the SDK's tool doesn't catch
        return False, ""


def remove_empty_folders(root: Path) -> None:
    for folder, _, _ in os.walk(root, topdown=False):
        if folder != str(root) and not os.listdir(folder):
            os.rmdir(folder)


@pytest.mark.parametrize("client", ["store"], indirect=True)  # a service takes minutes
@pytest.mark.fuzz
@cases(30)
@given(commands=st.lists(COMMANDS, max_size=12))
def test_as_the_sdks_tool_for_a_folder(
    client: theanine.Client, commands: Sequence[dict[str, Any]]
) -> None:
    ours = TheanineMemoryTool(client.user(f"user {len(client.users())}"))
    with TemporaryDirectory() as folder:
        theirs = BetaLocalFilesystemMemoryTool(folder)
        for command in commands:
            done, reply = outcome(ours, command)
            wanted, expected = outcome(theirs, command)
            remove_empty_folders(Path(folder) / "memories")
            assert (done, reply if expected else "") == (wanted, expected)


def run(tool: Any, name: str, **fields: Any) -> str:
    return tool.call({"command": name, **fields})


def test_sizes_are_those_of_the_texts(client: theanine.Client) -> None:
    tool = TheanineMemoryTool(client.user("ana"))
    for name, size in (("a/x", 1), ("a/y", 1023), ("b", 1536), ("c", 0)):
        run(tool, "create", path=f"/memories/{name}", file_text="z" * size)
    assert run(tool, "view", path="/memories").split("\n")[1:] == [
        "2.5K\t/memories",
        "1K\t/memories/a/",
        "1B\t/memories/a/x",
        "1023B\t/memories/a/y",
        "1.5K\t/memories/b",
        "0B\t/memories/c",
    ]


def test_recall_finds_each_line_once_from_when_it_was_written(client: theanine.Client) -> None:
    ana = client.user("ana")
    tool = TheanineMemoryTool(ana)
    path = "/memories/ana.md"
    run(tool, "create", path=path, file_text="# Ana\nAna is a vegan.\n")
    run(tool, "insert", path=path, insert_line=2, insert_text="Her dog is called Rex.")
    run(tool, "str_replace", path=path, old_str="# Ana\n", new_str="")
    spoken = [turn.text for turn in ana.turns() if turn.role == "assistant"]
    assert spoken == ["# Ana\nAna is a vegan.", "Her dog is called Rex."]
    assert "Rex" in ana.recall("What is her dog called?").text
    assert "Her dog is called Rex." in run(tool, "view", path=path)


def test_deleting_erases_the_words(client: theanine.Client, tmp_path: Path) -> None:
    ana = client.user("ana")
    tool = TheanineMemoryTool(ana)
    run(tool, "create", path="/memories/a/x", file_text="The code is Xylophon.")
    run(tool, "rename", old_path="/memories/a", new_path="/memories/b")
    run(tool, "delete", path="/memories/b")
    assert ana.turns() == []
    run(tool, "create", path="/memories/a/x", file_text="again")
    assert tool.clear_all_memory() == "All memory cleared"
    assert run(tool, "view", path="/memories").endswith("0B\t/memories")
    client.close()
    assert not [file for file in tmp_path.iterdir() if b"Xylophon" in file.read_bytes()]
    with pytest.raises(ToolError, match="this client is closed"):
        run(tool, "view", path="/memories")


@pytest.mark.anyio
async def test_two_changes_of_one_version_are_not_both_made(
    client: theanine.Client, tmp_path: Path
) -> None:
    async with theanine.aopen(tmp_path / "memory.db") as other:
        ours = AsyncTheanineMemoryTool(other.user("ana"))
        theirs = TheanineMemoryTool(client.user("ana"))
        create = {"command": "create", "path": "/memories/x", "file_text": "one"}
        await ours.call(create)
        before = await ours._commands._files.read("/memories/x", call)
        run(theirs, "str_replace", path="/memories/x", old_str="one", new_str="two")
        with pytest.raises(FileConflict, match="was changed meanwhile; read it again"):
            await ours._commands._files.write("/memories/x", "three", before, call)
        view = {"command": "view", "path": "/memories/x", "view_range": None}
        assert "two" in str(await ours.call(view))
        blocking: Any = TheanineMemoryTool(other.user("ana"))
        with pytest.raises(ToolError, match=r"theanine\.open, not of aopen"):
            blocking.call(view)
