"""Anthropic: Claude's memory tool, whose files are in a user's memory.

::

    tool = TheanineMemoryTool(client.user("ana"))
    runner = Anthropic().beta.messages.tool_runner(model=model, messages=messages, tools=[tool], …)
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import logging
import posixpath
from collections.abc import Coroutine, Sequence
from typing import Any

from theanine.errors import TheanineError
from theanine_adapters.files import Files, StoredFile
from theanine_adapters.handles import Call, UserHandle, call, call_now, needs_extra, run_now

with needs_extra("anthropic"):
    from anthropic.lib.tools import ToolError
    from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool

ROOT = "/memories"
MAX_LINES = 999_999
"""Lines of a file that can be viewed; their numbers have six digits."""
DEPTH = 2
"""Levels of folders that are listed."""

_log = logging.getLogger(__name__)


class TheanineMemoryTool(BetaAbstractMemoryTool):
    """Claude's memory tool (``memory_20250818``) with its files in a user's memory.

    Commands and replies are those of the SDK's tool for a folder of files, except that a folder
    without files doesn't exist. ``user.recall`` finds what the files say, from when each line was
    written. Changes keep the earlier versions as history; ``delete`` and ``rename`` erase the old
    file from the store, and ``user.forget_all`` erases all of them. What goes wrong with the store
    is logged, and Claude gets it as the tool's error.

    Args:
        user: the handle of the user, of ``theanine.open``.
        options: those of the SDK's tool, such as ``cache_control``.
    """

    def __init__(self, user: UserHandle, **options: Any) -> None:
        super().__init__(**options)
        self._commands = _Commands(user)

    def view(self, command: Any) -> str:
        return self._run(self._commands.view(command, call_now))

    def create(self, command: Any) -> str:
        return self._run(self._commands.create(command, call_now))

    def str_replace(self, command: Any) -> str:
        return self._run(self._commands.str_replace(command, call_now))

    def insert(self, command: Any) -> str:
        return self._run(self._commands.insert(command, call_now))

    def delete(self, command: Any) -> str:
        return self._run(self._commands.delete(command, call_now))

    def rename(self, command: Any) -> str:
        return self._run(self._commands.rename(command, call_now))

    def clear_all_memory(self) -> str:
        return self._run(self._commands.clear(call_now))

    def _run(self, command: Coroutine[Any, Any, str]) -> str:
        return run_now(_reported(command))


class AsyncTheanineMemoryTool(BetaAsyncAbstractMemoryTool):
    """Claude's memory tool for ``AsyncAnthropic``; takes the handle of either kind of client.

    See :class:`TheanineMemoryTool`.
    """

    def __init__(self, user: UserHandle, **options: Any) -> None:
        super().__init__(**options)
        self._commands = _Commands(user)

    async def view(self, command: Any) -> str:
        return await _reported(self._commands.view(command, call))

    async def create(self, command: Any) -> str:
        return await _reported(self._commands.create(command, call))

    async def str_replace(self, command: Any) -> str:
        return await _reported(self._commands.str_replace(command, call))

    async def insert(self, command: Any) -> str:
        return await _reported(self._commands.insert(command, call))

    async def delete(self, command: Any) -> str:
        return await _reported(self._commands.delete(command, call))

    async def rename(self, command: Any) -> str:
        return await _reported(self._commands.rename(command, call))

    async def clear_all_memory(self) -> str:
        return await _reported(self._commands.clear(call))


async def _reported(command: Coroutine[Any, Any, str]) -> str:
    """Run a command; what goes wrong with the store is the tool's error."""
    try:
        return await command
    except TheanineError as error:
        _log.error("a command of the memory tool failed: %s", error)
        raise ToolError(str(error)) from error


class _Commands:
    """The commands, with the replies of the SDK's tool for a folder of files."""

    def __init__(self, user: UserHandle) -> None:
        self._files = Files(user, "anthropic_memory")

    async def view(self, command: Any, call: Call) -> str:
        path = _resolve(command.path)
        file = await self._files.read(path, call)
        if file is not None:
            return _numbered(command.path, file.text, command.view_range)
        files = await self._files.list(f"{path}/", call)
        if not files and path != ROOT:
            raise _missing(command.path)
        lines = [f"{_format_size(sum(file.size for file in files.values()))}\t{command.path}"]
        lines += [
            f"{_format_size(size)}\t{command.path}/{name}" for name, size in _entries(path, files)
        ]
        return (
            f"Here're the files and directories up to {DEPTH} levels deep in {command.path}, "
            "excluding hidden items:\n" + "\n".join(lines)
        )

    async def create(self, command: Any, call: Call) -> str:
        path = _resolve(command.path)
        if await self._exists(path, call):
            raise ToolError(f"File {command.path} already exists")
        await self._check_folder(path, call)
        await self._files.write(path, command.file_text, None, call)
        return f"File created successfully at: {command.path}"

    async def str_replace(self, command: Any, call: Call) -> str:
        file = await self._read(command.path, call)
        old, new = command.old_str, command.new_str
        starts = _find_all(file.text, old)
        if not starts:
            raise ToolError(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in "
                f"{command.path}."
            )
        if file.text.count(old) > 1:
            lines = ", ".join(str(file.text.count("\n", 0, start) + 1) for start in starts)
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                f"{lines}. Please ensure it is unique"
            )
        text = file.text.replace(old, new)
        await self._files.write(file.path, text, file, call)
        changed = file.text.count("\n", 0, starts[0])
        lines = text.split("\n")
        first = max(0, changed - 2)
        shown = _number_lines(lines[first : changed + 3], first + 1)
        return (
            "The memory file has been edited. Here is the snippet showing the change "
            f"(with line numbers):\n{shown}"
        )

    async def insert(self, command: Any, call: Call) -> str:
        file = await self._read(command.path, call)
        lines = file.text.removesuffix("\n").split("\n") if file.text else []
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        text = "\n".join(lines)
        await self._files.write(file.path, text if text.endswith("\n") else f"{text}\n", file, call)
        return f"The file {command.path} has been edited."

    async def delete(self, command: Any, call: Call) -> str:
        path = _resolve(command.path)
        if path == ROOT:
            raise ToolError("Cannot delete the /memories directory itself")
        files = await self._below(path, call)
        if not files:
            raise ToolError(f"The path {command.path} does not exist")
        await self._files.delete(files, call)
        return f"Successfully deleted {command.path}"

    async def rename(self, command: Any, call: Call) -> str:
        old, new = _resolve(command.old_path), _resolve(command.new_path)
        if old == ROOT:
            raise ToolError("Cannot rename the /memories directory itself")
        if await self._exists(new, call):
            raise ToolError(f"The destination {command.new_path} already exists")
        files = await self._below(old, call)
        if not files:
            raise ToolError(f"The path {command.old_path} does not exist")
        if new.startswith(f"{old}/"):
            raise ToolError(f"{command.new_path} is in {command.old_path} itself")
        await self._check_folder(new, call)
        for listed in files:
            file = await self._files.read(listed.path, call)
            if file is not None:
                await self._files.write(new + file.path.removeprefix(old), file.text, None, call)
        await self._files.delete(files, call)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    async def clear(self, call: Call) -> str:
        await self._files.delete((await self._files.list(f"{ROOT}/", call)).values(), call)
        return "All memory cleared"

    async def _read(self, path: str, call: Call) -> StoredFile:
        resolved = _resolve(path)
        file = await self._files.read(resolved, call)
        if file is None:
            if await self._exists(resolved, call):
                raise ToolError(f"The path {path} is not a file.")
            raise _missing(path)
        return file

    async def _exists(self, path: str, call: Call) -> bool:
        return path == ROOT or bool(await self._below(path, call))

    async def _below(self, path: str, call: Call) -> list[StoredFile]:
        """Return the file at a path, or all files of the folder there."""
        files = await self._files.list(path, call)
        return [file for name, file in files.items() if name == path or _is_in(name, path)]

    async def _check_folder(self, path: str, call: Call) -> None:
        """Raise ToolError if a path leads through a file."""
        files = await self._files.list(ROOT, call)
        if through := [name for name in files if _is_in(path, name)]:
            raise ToolError(f"{through[0]} is a file, not a directory")


def _resolve(path: str) -> str:
    """Return an absolute path without ``..``. Raises ToolError for one outside of the root."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    resolved = posixpath.normpath(path)
    if resolved != ROOT and not _is_in(resolved, ROOT):
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    return resolved


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def _missing(path: str) -> ToolError:
    return ToolError(f"The path {path} does not exist. Please provide a valid path.")


def _entries(folder: str, files: dict[str, StoredFile]) -> list[tuple[str, int]]:
    """Return files and folders, which end with a slash, and their sizes, as a walk finds them."""
    sizes: dict[tuple[str, ...], int] = {}
    folders: set[tuple[str, ...]] = set()
    for path, file in files.items():
        names = tuple(path.removeprefix(f"{folder}/").split("/"))
        shown = next((at for at, name in enumerate(names) if name.startswith(".")), len(names))
        for end in range(1, min(shown, DEPTH) + 1):
            sizes[names[:end]] = sizes.get(names[:end], 0) + file.size
            if end < len(names):
                folders.add(names[:end])
    return [
        ("/".join(names) + ("/" if names in folders else ""), size)
        for names, size in sorted(sizes.items())
    ]


def _numbered(path: str, text: str, view_range: Sequence[int] | None) -> str:
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of {MAX_LINES:,} lines.")
    first, end = 0, len(lines)
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0]) - 1
        end = end if view_range[1] == -1 else view_range[1]
    shown = _number_lines(lines[first:end], first + 1)
    return f"Here's the content of {path} with line numbers:\n{shown}"


def _number_lines(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, first))


def _find_all(text: str, part: str) -> list[int]:
    """Return where a part begins, also where two overlap."""
    starts: list[int] = []
    start = text.find(part)
    while start >= 0:
        starts.append(start)
        start = text.find(part, start + 1)
    return starts


def _format_size(size: float) -> str:
    units = [*"BKMG"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        del units[0]
    return f"{int(size)}{units[0]}" if size == int(size) else f"{size:.1f}{units[0]}"
