"""Write cli.md next to this file from the help of all commands: `make docs`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from typer.main import get_command

from theanine.cli.app import app
from theanine.cli.lazy import LazyCommand

HEAD = """# The command line

<!-- Written by docs/generate.py from the commands themselves; run `make docs` to update it. -->

`theanine COMMAND --help` shows the same. Every command exits with 0 when all went well, with 2 for
a mistake in the call (nothing was changed), and with 1 for a failure at run time (a model, a
disk); `recall` and `search` also where nothing was found, as `grep` does. Those that read or
write a store take `--store FILE` or the environment variable `THEANINE_STORE`; without either the
store is `$XDG_DATA_HOME/theanine/memory.db`, by default in `~/.local/share`.

Options that you always give can be set once, for all commands or in profiles:
`theanine config set user ana`, `theanine config set --profile work store ~/office.db`, then
`theanine recall "…"` or `theanine --profile work recall "…"`. Each has an environment variable
too. The file is `~/.config/theanine/config.toml` (`theanine config path`).
While the [resident process](integrations/coding-agents.md#the-resident-process) that hooks of
coding agents start is there, `add`, `log`, `profile` and `recall` are run by it, in a fraction of
the time, unless the setting `resident`, or `THEANINE_RESIDENT`, is `off`.
`theanine --install-completion` completes commands and options in bash, zsh, fish and PowerShell.
"""


def pages() -> Iterator[str]:
    """The page, command by command."""
    yield HEAD
    for name, command in _commands(get_command(app)):
        text, _, examples = (command.help or "").partition("\b\n")
        yield f"## theanine {name}\n\n{_paragraphs(text)}\n"
        if examples.strip():
            yield f"```\n{examples.strip()}\n```\n"
        yield from _parameters(command)


def _commands(group: Any) -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(None):
        command = group.commands[name]
        if isinstance(command, LazyCommand):
            command = command.load()
        if hasattr(command, "commands"):
            yield from ((f"{name} {inner}", one) for inner, one in _commands(command))
        else:
            yield name, command


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


def _parameters(command: Any) -> Iterator[str]:
    rows = [
        _row(parameter)
        for parameter in command.params
        if parameter.name != "help" and not getattr(parameter, "hidden", False)
    ]
    if rows:
        yield "\n".join(["| | |", "| --- | --- |", *rows]) + "\n"


def _values(parameter: Any) -> str:
    """Return what stands for the value of an option that names no such word."""
    choices = get_args(parameter.type_descriptor.annotation)
    return "{" + ",".join(map(str, choices)) + "}" if choices else "N"


def _is_flag(parameter: Any) -> bool:
    return bool(getattr(parameter, "is_flag", False))  # arguments have none


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = f"`{(parameter.metavar or parameter.name).upper()}`"
    else:
        value = "" if parameter.is_flag else f" {parameter.metavar or _values(parameter)}"
        other = "".join(f" / {opt}" for opt in parameter.secondary_opts)
        short = "".join(f"{opt}, " for opt in parameter.opts[1:])
        name = f"`{short}{parameter.opts[0]}{other}{value}`"
    notes = [parameter.help or ""]
    if parameter.required:
        notes.append("Required.")
    elif parameter.secondary_opts:
        notes.append(f"Default: `{parameter.opts[0] if parameter.default else '--no'}`.")
    elif parameter.default not in (None, False, "", []) and not _is_flag(parameter):
        notes.append(f"Default: `{parameter.default}`.")
    if getattr(parameter, "envvar", None):
        notes.append(f"Environment: `{parameter.envvar}`.")
    return f"| {name} | {' '.join(filter(None, notes)).replace('|', '¦')} |"


if __name__ == "__main__":
    Path(__file__).with_name("cli.md").write_text("\n".join(pages()), "utf-8")
