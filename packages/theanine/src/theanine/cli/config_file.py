"""The configuration file: defaults of options, for all commands or in named profiles.

::

    user = "ana"
    model = "openai:gpt-4o-mini"

    [profile.work]
    store = "~/office.db"

A setting is the default of the environment variable of its name, such as ``THEANINE_MODEL``, so
that it holds in the commands of all packages: the command line comes first, then the environment,
then the profile, then the settings outside of profiles.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from theanine.errors import SettingsError
from theanine.suggestion import suggest

SETTINGS: dict[str, type[str] | type[int] | type[float]] = {
    "user": str,
    "store": str,
    "method": str,
    "model": str,
    "base_url": str,
    "memory_model": str,
    "memory_base_url": str,
    "timeout": float,
    "redact": str,
    "embedder": str,
    "reranker": str,
    "rerank_depth": int,
    "budget": int,
    "limit": int,
    "min_relevance": float,
    "judge": str,
    "judge_base_url": str,
    "resident": str,
}
"""Types of the settings by name; each is also an environment variable."""


def config_path() -> Path:
    """Return where the file is: ``THEANINE_CONFIG``, or ``theanine/config.toml`` for the user."""
    if path := os.environ.get("THEANINE_CONFIG"):
        return Path(path).expanduser()
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "theanine" / "config.toml"


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"THEANINE_{name.upper()}"


def read_config() -> dict[str, Any]:
    """Return the file's content; empty if there is no file. Raises SettingsError."""
    path = config_path()
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:  # ValueError: also of a huge number
        raise SettingsError(f"{path}: can't be read ({error}); correct or delete it") from None
    profiles = content.get("profile", {})
    if not isinstance(profiles, dict):
        raise SettingsError(f"{path}, profile: write it as tables, such as [profile.work]")
    tables = {"": {name: value for name, value in content.items() if name != "profile"}}
    for profile, values in (tables | cast("dict[str, Any]", profiles)).items():
        where = f"{path}, profile {profile}" if profile else str(path)
        if not isinstance(values, dict):
            raise SettingsError(f"{where}: write it as a table, [profile.{profile}]")
        for name, value in cast("dict[str, Any]", values).items():
            check_name(name, where)
            _check_value(value, SETTINGS[name], f"{where}, {name}")
    return content


def _check_value(value: object, kind: type[str] | type[int] | type[float], where: str) -> None:
    """Raise SettingsError for what no environment variable can hold, or of another type."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise SettingsError(f"{where}: write a text or a number")
    try:
        text = str(value)
        kind(text)
    except ValueError:  # also of a number of more than 4,300 digits
        expected = "a whole number" if kind is int else "a number"
        raise SettingsError(f"{where}: write {expected} that can be read") from None
    if "\0" in text:
        raise SettingsError(f"{where}: write a text without NUL characters")


def check_name(name: str, where: str = "") -> None:
    """Raise SettingsError for a name that is no setting."""
    if name not in SETTINGS:
        raise SettingsError(
            f"{f'{where}: ' if where else ''}no setting {name!r}{suggest(name, SETTINGS)}; there "
            f"are: {', '.join(SETTINGS)}"
        )


def profile_values(config: Mapping[str, Any], profile: str) -> dict[str, str]:
    """Return the settings that hold in a profile; '' for no profile. Raises SettingsError."""
    profiles = config.get("profile", {})
    if profile and profile not in profiles:
        known = f"; there are: {', '.join(profiles)}" if profiles else ""
        raise SettingsError(
            f"{config_path()} has no profile {profile!r}{suggest(profile, profiles)}{known}; "
            "`theanine config set --profile NAME SETTING VALUE` makes one"
        )
    values = {name: value for name, value in config.items() if name != "profile"}
    if profile:
        values |= profiles[profile]
    return {name: str(value) for name, value in values.items()}


@contextmanager
def applied_config(profile: str) -> Generator[None]:
    """Set the environment variables that aren't set from the file while the block runs."""
    missing = {
        variable(name): value
        for name, value in profile_values(read_config(), profile).items()
        if variable(name) not in os.environ
    }
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)
