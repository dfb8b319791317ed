"""``theanine install``: memory for a coding agent, by its server and its hooks."""

from __future__ import annotations

import shlex
import sys
from difflib import unified_diff
from importlib.util import find_spec
from typing import Annotated

import typer

from theanine.cli.coding_agents.configure import Change, plan_install, plan_uninstall
from theanine.cli.coding_agents.hosts import find_host, load_hosts
from theanine.cli.detached import own_command
from theanine.cli.memory_options import KEY_VARIABLE, PlaceOptions
from theanine.cli.options import expand_options
from theanine.cli.text import visible
from theanine.errors import MissingExtra, SettingsError


def _complete_hosts(incomplete: str) -> list[str]:
    return [name for name in load_hosts() if name.startswith(incomplete)]


@expand_options
def install(
    host: Annotated[
        str,
        typer.Argument(
            metavar="AGENT",
            help=f"One of {', '.join(load_hosts())}.",
            autocompletion=_complete_hosts,
        ),
    ],
    options: PlaceOptions,
    command: Annotated[
        str,
        typer.Option(
            metavar="COMMAND",
            help="Command that starts theanine, such as `uvx --from theanine[mcp] theanine` "
            "(default: this installation).",
        ),
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what would be changed.")
    ] = False,
    uninstall: Annotated[
        bool, typer.Option("--uninstall", help="Take out what was installed.")
    ] = False,
) -> None:
    """Give a coding agent the memory of a user.

    Adds theanine to the agent's MCP servers and, where it has hooks, has them recall when a session
    starts and before a prompt, and record what was said. Other settings and comments stay; a
    backup of each file is kept beside it. Run again, it changes nothing. Models and other settings
    of memory are those of `theanine config`.

    \b
    theanine install claude-code --user ana --dry-run
    theanine install codex --user ana
    theanine install cursor --url https://memory.example --user ana
    theanine install claude-code --uninstall
    """
    chosen = find_host(host)
    if uninstall:
        changes = plan_uninstall(chosen)
    else:
        words = shlex.split(command) if command else own_command()
        if not words:
            raise SettingsError("--command is empty")
        environment = [KEY_VARIABLE] if options.url else []
        # Another command may start another installation.
        if not command and not (find_spec("theanine_server") and find_spec("mcp")):
            missing = MissingExtra("mcp", "the MCP server")
            if not dry_run:
                raise missing
            print(visible(f"nothing would be changed: {missing}"), file=sys.stderr)
        changes = plan_install(chosen, words, options.arguments(), environment)
    for change in changes:
        if dry_run:
            print(visible(_diff(change)))
            continue
        backup = change.write()
        done = "removed" if change.after is None else "changed"
        kept = f" (before: {backup})" if backup else ""
        print(visible(f"{done} {change.file}{kept}"))
    if not changes:
        state = "has nothing of theanine" if uninstall else "uses theanine already"
        print(f"{chosen.title} {state}.")
    elif not dry_run and not uninstall:
        print(chosen.next_step)


def _diff(change: Change) -> str:
    before, after = change.before or "", change.after or ""
    lines = unified_diff(
        before.splitlines(), after.splitlines(), str(change.file), str(change.file), lineterm=""
    )
    return "\n".join(lines)
