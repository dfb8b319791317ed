"""Add the server and the hooks to a host's files, or take them out."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError

from theanine.cli.coding_agents import jsonc
from theanine.cli.coding_agents.commands import is_ours, join_words
from theanine.cli.coding_agents.hosts import Host
from theanine.cli.detached import NAME
from theanine.errors import BadInput
from theanine.private_files import make_folder

BACKUP = ".before-theanine"
HOOK_TIMEOUT = 15
"""Seconds after which a host ends a hook; it ends by itself before."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it is, and as it should be.

    Attributes:
        before: its text; None if there is no file.
        after: its text afterwards; None if the file goes.
        had_ours: whether it has something of theanine.
    """

    file: Path
    before: str | None
    after: str | None
    had_ours: bool

    def write(self) -> Path | None:
        """Write the file, and return the backup of what it was, if one was made.

        There is one backup for each file: of what it was before it had anything of theanine.
        """
        if self.after is None:
            self.file.unlink()
            return None
        backup = None
        if self.before is not None and not self.had_ours:
            backup = _backup(self.file)
            _write(backup, self.before, self.file)
        make_folder(self.file.parent)
        _write(self.file, self.after, self.file)
        return backup


def plan_install(
    host: Host, command: Sequence[str], arguments: Sequence[str], environment: Sequence[str] = ()
) -> list[Change]:
    """Return the changes that make a host use theanine; none where it does already.

    Args:
        command: what starts theanine.
        arguments: options of both ``theanine mcp`` and ``theanine hook``.
        environment: variables that the server needs, which Codex passes on only if they are named.

    Raises BadInput for a file that can't be read.
    """
    server: dict[str, Any] = {"command": command[0], "args": [*command[1:], "mcp", *arguments]}
    if environment and host.servers.suffix == ".toml":
        server["env_vars"] = [*environment]
    hook = join_words([*command, "hook", *arguments])
    return _plan(host, partial(_add_server, host, server), partial(_add_hooks, host, hook))


def plan_uninstall(host: Host) -> list[Change]:
    """Return the changes that take theanine out of a host's files. Raises BadInput."""
    return _plan(host, partial(_remove_server, host), _remove_hooks)


def _plan(
    host: Host, edit_servers: Callable[[str], str], edit_hooks: Callable[[str], str]
) -> list[Change]:
    changes = [_change(host.servers, edit_servers, partial(_remove_server, host))]
    if host.hooks is not None:
        changes.append(_change(host.hooks, edit_hooks, _remove_hooks))
    return [change for change in changes if change is not None]


def _change(file: Path, edit: Callable[[str], str], clean: Callable[[str], str]) -> Change | None:
    file = file.resolve()  # a link to where the user keeps their settings stays one
    try:
        before = file.read_bytes().decode("utf-8") if file.exists() else None
        text = (before or "").replace("\r\n", "\n")
        after, had_ours = edit(text), clean(text) != text
    except (jsonc.NotJson, TOMLKitError, UnicodeDecodeError) as error:
        raise BadInput(f"can't be read, so nothing was changed ({error})", str(file)) from None
    if after == text:
        return None
    was_made = had_ours and not _backup(file).exists()
    is_left = not was_made or "".join(after.split()) not in ("", "{}")
    if before and "\r\n" in before:
        after = after.replace("\n", "\r\n")
    return Change(file, before, after if is_left else None, had_ours)


def _backup(file: Path) -> Path:
    return file.with_name(file.name + BACKUP)


def _add_server(host: Host, server: dict[str, Any], text: str) -> str:
    if host.servers.suffix == ".toml":
        document: dict[str, Any] = tomlkit.parse(text)
        tables = document.setdefault(host.servers_key, tomlkit.table(is_super_table=True))
        if not isinstance(tables, dict):
            raise TOMLKitError(f"{host.servers_key} is not a table")
        table = cast("dict[str, Any]", tables).setdefault(NAME, tomlkit.table())
        table.update({name: value for name, value in server.items() if table.get(name) != value})
        return tomlkit.dumps(document)
    old = _members(_members(jsonc.read(text), host.servers_key), NAME)
    if old | server == old:
        return text
    return jsonc.put(text, [host.servers_key, NAME], old | server)


def _remove_server(host: Host, text: str) -> str:
    if host.servers.suffix == ".toml":
        document: dict[str, Any] = tomlkit.parse(text)
        tables = _members(document, host.servers_key)
        if NAME in tables:
            del tables[NAME]
            if not tables:
                del document[host.servers_key]
        return tomlkit.dumps(document)
    return jsonc.remove(text, [host.servers_key, NAME])


def _add_hooks(host: Host, command: str, text: str) -> str:
    text = _remove_hooks(text, keep=(command, host.events))
    if host.shape == "commands" and "version" not in jsonc.read(text):
        text = jsonc.put(text, ["version"], 1)
    for event, matcher in host.events.items():
        if any(_find_hooks(jsonc.read(text), event)):
            continue
        hook: dict[str, Any] = {"command": command}
        if host.shape == "groups":
            hook = {"type": "command", **hook, "timeout": HOOK_TIMEOUT}
            hook = {**({"matcher": matcher} if matcher else {}), "hooks": [hook]}
        text = jsonc.append(text, ["hooks", event], hook)
    return text


def _remove_hooks(text: str, keep: tuple[str, Collection[str]] = ("", ())) -> str:
    """Take our hooks out, but those of a command for some events."""
    kept, events = keep
    for event in _members(jsonc.read(text), "hooks"):
        found = [
            path
            for path, command in _find_hooks(jsonc.read(text), event)
            if command != kept or event not in events
        ]
        for path in reversed(found):
            text = jsonc.remove(text, ["hooks", event, *path])
    left = jsonc.read(text)
    return "{}" if left == {"version": 1} and not kept and text.strip() else text


def _members(value: Any, name: str) -> dict[str, Any]:
    found = value.get(name)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _find_hooks(settings: Any, event: str) -> Iterator[tuple[list[str | int], str]]:
    """Yield path, below the event, and command of our hooks, of either shape.

    A group that has nothing else is named as a whole.
    """
    for index, hook in _objects(_members(settings, "hooks").get(event)):
        commands = _objects(hook.get("hooks")) or [(0, hook)]
        ours = [(n, str(each["command"])) for n, each in commands if is_ours(each.get("command"))]
        if len(ours) == len(commands):
            yield [index], ours[0][1]
        else:
            yield from (([index, "hooks", number], command) for number, command in ours)


def _objects(value: Any) -> list[tuple[int, dict[str, Any]]]:
    """Return the objects of a list with their indexes; none for what is no list."""
    listed = cast("list[Any]", value) if isinstance(value, list) else []
    return [(index, item) for index, item in enumerate(listed) if isinstance(item, dict)]


def _write(file: Path, text: str, like: Path) -> None:
    """Write a file in one step, with the permissions of another one if that exists."""
    with NamedTemporaryFile(
        "w", encoding="utf-8", newline="", dir=file.parent, prefix=f".{file.name}.", delete=False
    ) as made:
        made.write(text)
    if like.exists():
        os.chmod(made.name, like.stat().st_mode)
    os.replace(made.name, file)
