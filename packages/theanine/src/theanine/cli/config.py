"""``theanine config``: show and change the defaults of options."""

from __future__ import annotations

import os
from typing import Annotated, Any, cast

import tomlkit
import typer
from tomlkit.container import Container

from theanine.cli.config_file import (
    SETTINGS,
    check_name,
    config_path,
    profile_values,
    read_config,
    variable,
)
from theanine.cli.options import JsonOption
from theanine.cli.output import check_writable, show_json, write_text
from theanine.cli.rendering import show_table
from theanine.errors import NotFound, SettingsError
from theanine.private_files import make_folder


def _complete_settings(incomplete: str) -> list[str]:
    return [name for name in SETTINGS if name.startswith(incomplete)]


SettingArgument = Annotated[
    str, typer.Argument(metavar="NAME", autocompletion=_complete_settings, help="The setting.")
]
ProfileOption = Annotated[
    str, typer.Option("--profile", metavar="NAME", help="Only in this profile.")
]

config = typer.Typer(rich_markup_mode=None, no_args_is_help=False)


@config.callback(invoke_without_command=True)
def show(context: typer.Context, as_json: JsonOption = False) -> None:
    """Show or change the defaults of options.

    The command line comes first, then environment variables, then the profile (--profile before
    the command, or THEANINE_PROFILE), then the settings outside of profiles.

    \b
    theanine config
    theanine config set user ana
    theanine config get user
    theanine config set --profile work store ~/office.db
    theanine --profile work recall "Where does she live?"
    theanine config unset user
    """
    if context.invoked_subcommand is not None:
        return
    content = read_config()
    own = profile_values(content, context.find_root().params["profile"])
    rows = [
        [name, value, "config file" if own.get(name) == value else variable(name)]
        for name in SETTINGS
        if (value := os.environ.get(variable(name)))
    ]
    if as_json:
        show_json([dict(zip(("setting", "value", "from"), row, strict=True)) for row in rows])
        return
    if rows:
        show_table(["setting", "value", "from"], rows)
    else:
        print(f"Nothing is set. Settings: {', '.join(SETTINGS)}")
    if profiles := content.get("profile"):
        print(f"Profiles: {', '.join(profiles)}")


@config.command()
def path() -> None:
    """Print where the configuration file is."""
    print(config_path())


@config.command()
def get(name: SettingArgument) -> None:
    """Print the value of a setting that is in effect. Exits with 1 if there is none.

    \b
    theanine config get user
    """
    check_name(name)
    # The main command has put what the file sets into the environment.
    value = os.environ.get(variable(name))
    if not value:
        raise typer.Exit(1)
    print(value)


@config.command("set")
def set_(
    name: SettingArgument,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Its value.")],
    profile: ProfileOption = "",
) -> None:
    """Set the default of an option.

    \b
    theanine config set user ana
    theanine config set --profile work model openai:gpt-4o-mini
    """
    check_name(name)
    try:
        typed = SETTINGS[name](value)
    except ValueError:
        raise SettingsError(f"{name}: {value!r} is not a number") from None
    document = _load()
    table = document
    if profile:
        profiles = document.setdefault("profile", tomlkit.table(is_super_table=True))
        table = cast("dict[str, Any]", profiles).setdefault(profile, tomlkit.table())
    table[name] = typed
    _save(document)


@config.command()
def unset(name: SettingArgument, profile: ProfileOption = "") -> None:
    """Remove a setting from the file.

    \b
    theanine config unset user
    """
    check_name(name)
    document = _load()
    content = cast("dict[str, Any]", document)
    table = content.get("profile", {}).get(profile, {}) if profile else content
    if name not in table:
        raise NotFound(f"{config_path()} doesn't set {name}{f' in {profile}' if profile else ''}")
    del table[name]
    _save(document)


def _load() -> Container:
    read_config()  # checks it
    file = config_path()
    return tomlkit.parse(file.read_text("utf-8") if file.exists() else "")


def _save(document: Container) -> None:
    file = config_path()
    try:
        make_folder(file.parent)
    except OSError as error:
        raise SettingsError(f"{file.parent} can't be made ({error.strerror})") from None
    check_writable(file)
    write_text(file, document.as_string())
