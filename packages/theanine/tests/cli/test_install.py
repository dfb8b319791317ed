"""``theanine install``: on folders shaped as the hosts' own, with comments and other settings."""

from __future__ import annotations

import json
import shlex
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

from support.forking import Python
from support.running import Terminal
from theanine.cli.coding_agents import jsonc
from theanine.cli.coding_agents.commands import is_ours
from theanine.cli.coding_agents.configure import BACKUP
from theanine.cli.coding_agents.hosts import load_hosts

CLAUDE_STATE = """{
  "numStartups": 42,
  "projects": {"/srv/theanine": {"history": ["add a test"], "mcpServers": {}}},
  "mcpServers": {"github": {"type": "http", "url": "https://mcp.example"}}
}
"""
CLAUDE_SETTINGS = """{
  // mine
  "model": "opus",
  "hooks": {
    "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
    "SessionStart": [
      {"hooks": [
        {"type": "command", "command": "git fetch"},
        {"type": "command", "command": "/old/place/theanine hook --user ana"}
      ]}
    ]
  },
  "permissions": {"allow": ["Bash(ls:*)"]} /* the end */
}
"""
CODEX_CONFIG = """# mine
model = "gpt-5"  # the best

[mcp_servers.docs]
command = "docs"

[features]
web_search = true
"""
CURSOR_HOOKS = """{
  "version": 1,
  "hooks": {"afterFileEdit": [{"command": "./format.sh"}]}
}
"""
DESKTOP = (
    '{"globalShortcut": "Alt+Space", "mcpServers": {"files": {"command": "npx", "args": ["-y"]}}}'
)
FILES = {
    "claude-code": {".claude.json": CLAUDE_STATE, ".claude/settings.json": CLAUDE_SETTINGS},
    "codex": {".codex/config.toml": CODEX_CONFIG, ".codex/hooks.json": '{"hooks": {}}\n'},
    "cursor": {".cursor/mcp.json": "", ".cursor/hooks.json": CURSOR_HOOKS},
    "claude-desktop": {".config/Claude/claude_desktop_config.json": DESKTOP},
}
EVENTS = {
    "claude-code": {"SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd"},
    "codex": {"SessionStart", "UserPromptSubmit", "PreCompact", "Stop"},
    "cursor": {"sessionStart", "beforeSubmitPrompt", "afterAgentResponse", "sessionEnd"},
}
HOSTS = [*FILES]


@pytest.mark.parametrize("missing", ["mcp", "theanine_server"])
def test_without_its_extra_nothing_is_written(tmp_path: Path, missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; from theanine.cli import main; main()"
    needed = (
        "the MCP server needs an optional part: pip install 'theanine[mcp]' "
        "(in a checkout: packages/theanine-server 'packages/theanine[mcp]')\n"
    )
    environment = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path)}
    command = [code, "install", "claude-code", "--user", "ana"]
    with Python(*command, environment=environment) as process:
        assert process.communicate() == (2, "", f"theanine: {needed}")
    with Python(*command, "--dry-run", environment=environment) as process:
        status, out, err = process.communicate()
        assert (status, "mcpServers" in out, err) == (
            0,
            True,
            f"nothing would be changed: {needed}",
        )
    assert not list(tmp_path.iterdir())


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("mcp.server.mcpserver", reason="mcp is not installed (make extras)")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "THEANINE_STORE"):
        monkeypatch.delenv(name, raising=False)
    return home


def write_files(home: Path, host: str) -> None:
    for name, text in FILES[host].items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, "utf-8")


def read_files(home: Path) -> dict[str, str]:
    return {
        str(file.relative_to(home)): file.read_text("utf-8")
        for file in sorted(home.rglob("*"))
        if file.is_file()
    }


def load(home: Path, name: str) -> Any:
    text = (home / name).read_text("utf-8")
    return tomllib.loads(text) if name.endswith(".toml") else jsonc.read(text)


def commands_of(hooks: Any, event: str) -> list[str]:
    return [each["command"] for hook in hooks["hooks"][event] for each in hook.get("hooks", [hook])]


@pytest.mark.parametrize("host", HOSTS)
def test_it_is_installed_once_and_taken_out_again(host: str, home: Path, run: Terminal) -> None:
    write_files(home, host)
    before = read_files(home)
    done = run.bare("install", host, "--user", "ana").out
    assert load_hosts()[host].next_step in done
    installed = read_files(home)
    assert {name.removesuffix(BACKUP) for name in installed if name.endswith(BACKUP)} == {
        name
        for name in before
        if name != ".claude/settings.json"  # which had a hook of ours
    }
    for name, text in before.items():
        if f"{name}{BACKUP}" in installed:
            assert installed[f"{name}{BACKUP}"] == text
    again = run.bare("install", host, "--user", "ana").out
    assert "uses theanine already" in again and read_files(home) == installed
    run.bare("install", host, "--uninstall")
    left = {name: text for name, text in read_files(home).items() if not name.endswith(BACKUP)}
    for name, text in before.items():
        if name == ".claude/settings.json":
            assert "theanine" not in left[name]
        elif text in ("", '{"hooks": {}}\n'):
            assert load(home, name) == {}
        else:
            assert left[name] == text
    assert "has nothing of theanine" in run.bare("install", host, "--uninstall").out


@pytest.mark.parametrize("host", HOSTS)
def test_the_server_and_the_hooks_are_the_hosts(host: str, home: Path, run: Terminal) -> None:
    write_files(home, host)
    run("install", host, "--user", "ana maria")
    chosen = load_hosts()[host]
    assert chosen.servers.is_relative_to(home)
    servers = load(home, str(chosen.servers.relative_to(home)))[chosen.servers_key]
    server = servers["theanine"]
    words = [server["command"], *server["args"]]
    assert Path(words[0]).exists() and "mcp" in words
    assert words[-4:] == ["--user", "ana maria", "--store", str(run.store.resolve())]
    if chosen.hooks is None:
        assert host == "claude-desktop"
        return
    hooks = load(home, str(chosen.hooks.relative_to(home)))
    ours = {
        event: [shlex.split(command) for command in commands_of(hooks, event) if is_ours(command)]
        for event in hooks["hooks"]
    }
    expected = [words[0], *["hook" if word == "mcp" else word for word in words[1:]]]
    assert {event for event, commands in ours.items() if commands} == EVENTS[host]
    assert all(commands in ([], [expected]) for commands in ours.values())


def test_other_settings_and_comments_stay(home: Path, run: Terminal) -> None:
    for host in HOSTS:
        write_files(home, host)
        run.bare("install", host, "--user", "ana")
    settings = (home / ".claude/settings.json").read_text("utf-8")
    assert "// mine" in settings and "/* the end */" in settings
    hooks = load(home, ".claude/settings.json")
    assert commands_of(hooks, "Stop")[0] == "say done"
    assert commands_of(hooks, "SessionStart")[0] == "git fetch"
    assert "/old/place" not in settings
    state = load(home, ".claude.json")
    assert state["numStartups"] == 42 and state["mcpServers"]["github"]["type"] == "http"
    config = (home / ".codex/config.toml").read_text("utf-8")
    assert config.startswith(CODEX_CONFIG.split("[features]")[0]) and "# the best" in config
    assert load(home, ".cursor/hooks.json")["hooks"]["afterFileEdit"] == [
        {"command": "./format.sh"}
    ]
    assert load(home, ".config/Claude/claude_desktop_config.json")["globalShortcut"] == "Alt+Space"


@pytest.mark.parametrize("host", HOSTS)
def test_a_dry_run_changes_nothing(host: str, home: Path, run: Terminal) -> None:
    write_files(home, host)
    before = read_files(home)
    shown = run.bare("install", host, "--user", "ana", "--dry-run").out
    assert read_files(home) == before
    assert "+" in shown and "theanine" in shown and str(home) in shown


@pytest.mark.parametrize("host", HOSTS)
def test_files_that_are_missing_are_made_and_go_again(host: str, home: Path, run: Terminal) -> None:
    run.bare("install", host, "--user", "ana")
    assert read_files(home)
    run.bare("install", host, "--uninstall")
    assert read_files(home) == {}


def test_options_that_change_are_changed_in_place(home: Path, run: Terminal) -> None:
    write_files(home, "codex")
    run.bare("install", "codex", "--user", "ana")
    run.bare("install", "codex", "--user", "bo", "--url", "https://memory.example")
    server = load(home, ".codex/config.toml")["mcp_servers"]["theanine"]
    assert server["args"][-4:] == ["--user", "bo", "--url", "https://memory.example"]
    assert server["env_vars"] == ["THEANINE_KEY"]
    hooks = load(home, ".codex/hooks.json")
    [command] = commands_of(hooks, "Stop")
    assert "--user bo" in command
    run.bare("install", "codex", "--user", "bo", "--command", "uvx --from theanine[mcp] theanine")
    server = load(home, ".codex/config.toml")["mcp_servers"]["theanine"]
    assert [server["command"], *server["args"][:4]] == [
        "uvx", "--from", "theanine[mcp]", "theanine", "mcp",
    ]  # fmt: skip
    run.bare("install", "codex", "--uninstall")
    assert (home / ".codex/config.toml").read_text("utf-8") == CODEX_CONFIG


def test_the_folders_that_the_environment_names(
    home: Path, run: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(home / "codex"))
    run.bare("install", "claude-code", "--user", "ana")
    run.bare("install", "codex", "--user", "ana")
    assert sorted(read_files(home)) == [
        "claude/.claude.json",
        "claude/settings.json",
        "codex/config.toml",
        "codex/hooks.json",
    ]


def test_a_link_stays_a_link_and_permissions_stay(home: Path, run: Terminal) -> None:
    dotfiles = home / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "mcp.json").write_text('{"mcpServers": {}}')
    (dotfiles / "mcp.json").chmod(0o640)
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").symlink_to(dotfiles / "mcp.json")
    run.bare("install", "cursor", "--user", "ana")
    assert (home / ".cursor/mcp.json").is_symlink()
    assert "theanine" in (dotfiles / "mcp.json").read_text()
    assert stat.S_IMODE((dotfiles / "mcp.json").stat().st_mode) == 0o640


def test_lines_end_as_they_did(home: Path, run: Terminal) -> None:
    (home / ".cursor").mkdir()
    file = home / ".cursor/mcp.json"
    file.write_bytes(b'{\r\n  "mcpServers": {\r\n    "a": {"command": "b"}\r\n  }\r\n}\r\n')
    before = file.read_bytes()
    run.bare("install", "cursor", "--user", "ana")
    assert file.read_bytes().count(b"\n") == file.read_bytes().count(b"\r\n") > 5
    run.bare("install", "cursor", "--uninstall")
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".cursor/mcp.json", "{"),
        (".cursor/mcp.json", "[]"),
        (".cursor/mcp.json", '{"mcpServers": []}'),
        (".cursor/hooks.json", '{"hooks": {"sessionStart": {}}}'),
        (".cursor/hooks.json", b"\xff\xfe"),
        (".codex/config.toml", "[mcp_servers\n"),
        (".codex/config.toml", "mcp_servers = 1\n"),
    ],
)
def test_a_file_that_cannot_be_read_is_left_alone(
    name: str, text: str | bytes, home: Path, run: Terminal
) -> None:
    content = text if isinstance(text, bytes) else text.encode()
    (home / name).parent.mkdir()
    (home / name).write_bytes(content)
    host = "codex" if "codex" in name else "cursor"
    ran = run.bare("install", host, "--user", "ana", fine=False)
    assert ran.code == 2 and str(home / name) in ran.err and len(ran.err.splitlines()) == 1
    assert (home / name).read_bytes() == content
    assert [str(file) for file in home.rglob("*") if file.is_file()] == [str(home / name)]


def test_an_unknown_agent_is_named_with_a_suggestion(home: Path, run: Terminal) -> None:
    ran = run.bare("install", "claude", "--user", "ana", fine=False)
    assert ran.code == 2 and "there are: claude-code, codex, cursor, claude-desktop" in ran.err


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("theanine hook --user ana", True),
        ("'/my folder/bin/theanine' hook", True),
        ('"C:\\\\Program Files\\\\theanine.exe" hook', True),
        ("/usr/bin/python -m theanine hook", True),
        ("uvx --from theanine[mcp] theanine hook", True),
        ("theanine mcp", False),
        ("my-theanine hook", False),
        ("echo 'theanine", False),
        (None, False),
    ],
)
def test_our_hooks_are_told_from_others(command: object, ours: bool) -> None:
    assert is_ours(command) is ours


def test_a_dry_run_shows_a_difference(home: Path, run: Terminal) -> None:
    shown = run.bare("install", "claude-desktop", "--user", "ana", "--dry-run").out
    added = "\n".join(
        line[1:] for line in shown.splitlines() if line[:1] == "+" and line[:3] != "+++"
    )
    assert json.loads(added)["mcpServers"]["theanine"]["args"][-2:] == ["--user", "ana"]
