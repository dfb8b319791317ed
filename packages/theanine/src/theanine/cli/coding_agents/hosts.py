"""The programs that coding agents run in: where their files are, and what these look like."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from theanine.errors import NotFound, SettingsError
from theanine.suggestion import suggest

HookShape = Literal["groups", "commands"]
"""A hook is a group of commands with a matcher, as in Claude Code, or a command, as in Cursor."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """A program with coding agents.

    Attributes:
        name: its name on the command line.
        title: its own name.
        servers: the file that lists MCP servers.
        servers_key: the member or table of the file that has them by name.
        hooks: the file that lists hooks; None for a program without hooks.
        events: the events to hook, and the matcher of each, if any.
        shape: the form of a hook.
        transcripts: the files and folders that its transcripts may be in.
        format: the name of the transcripts' format for ``theanine import``; empty for none.
        next_step: what the user must do after an installation.
    """

    name: str
    title: str
    servers: Path
    servers_key: str = "mcpServers"
    hooks: Path | None = None
    events: Mapping[str, str] = field(default_factory=dict[str, str])
    shape: HookShape = "groups"
    transcripts: tuple[Path, ...] = ()
    format: str = ""
    next_step: str


def find_host(name: str) -> Host:
    """Return a host by its name. Raises SettingsError for an unknown one."""
    hosts = load_hosts()
    if name not in hosts:
        raise SettingsError(
            f"no coding agent {name!r}{suggest(name, hosts)}; there are: {', '.join(hosts)}"
        )
    return hosts[name]


def find_transcripts(name: str) -> tuple[list[str], str]:
    """Return the files and folders of a host's transcripts, and their format.

    Raises SettingsError for a host that is unknown or keeps none, and NotFound.
    """
    host = find_host(name)
    if not host.format:
        raise SettingsError(f"{host.title} keeps no transcripts on this machine")
    found = [str(place) for place in host.transcripts if place.exists()]
    if not found:
        places = " and ".join(map(str, host.transcripts))
        raise NotFound(f"no transcripts of {host.title}: there is no {places}")
    return found, host.format


def load_hosts() -> dict[str, Host]:
    """Return all hosts by name, with the folders that the environment names."""
    home = Path.home()
    claude = Path(os.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    codex = Path(os.environ.get("CODEX_HOME") or home / ".codex")
    cursor = home / ".cursor"
    hosts = (
        Host(
            name="claude-code",
            title="Claude Code",
            servers=(claude if "CLAUDE_CONFIG_DIR" in os.environ else home) / ".claude.json",
            hooks=claude / "settings.json",
            events={
                "SessionStart": "startup|clear|compact",
                "UserPromptSubmit": "",
                "PreCompact": "",
                "Stop": "",
                "SessionEnd": "",
            },
            transcripts=(claude / "projects",),
            format="claude-code",
            next_step="Start Claude Code again; /mcp and /hooks list what it has loaded.",
        ),
        Host(
            name="codex",
            title="Codex",
            servers=codex / "config.toml",
            servers_key="mcp_servers",
            hooks=codex / "hooks.json",
            events={
                "SessionStart": "startup|clear",
                "UserPromptSubmit": "",
                "PreCompact": "",
                "Stop": "",
            },
            transcripts=(codex / "sessions", codex / "archived_sessions"),
            format="codex",
            next_step="Start Codex and trust the hooks: it asks, or type /hooks. Until then, it "
            "runs none of them.",
        ),
        Host(
            name="cursor",
            title="Cursor",
            servers=cursor / "mcp.json",
            hooks=cursor / "hooks.json",
            events=dict.fromkeys(
                ("sessionStart", "beforeSubmitPrompt", "afterAgentResponse", "sessionEnd"), ""
            ),
            shape="commands",
            transcripts=(_application_data("Cursor") / "User/globalStorage/state.vscdb",),
            format="cursor",
            next_step="Open a new chat in Cursor; its settings list the server and the hooks.",
        ),
        Host(
            name="claude-desktop",
            title="Claude Desktop",
            servers=_application_data("Claude") / "claude_desktop_config.json",
            next_step="Quit Claude Desktop and start it again. It has no hooks: memory is used "
            "where the model calls a tool.",
        ),
    )
    return {host.name: host for host in hosts}


def _application_data(name: str) -> Path:
    """Return the folder of a desktop program's data."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / name
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / name
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / name
