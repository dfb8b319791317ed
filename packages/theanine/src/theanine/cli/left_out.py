"""Commands for all users, which go on without those whose data is damaged."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import typer

from theanine.cli.text import visible
from theanine.client import Client, UserMemory
from theanine.errors import DamagedData
from theanine.remembering.left_out import LeftOut

T = TypeVar("T")


def read_each_user(
    client: Client, names: Sequence[str], read: Callable[[UserMemory], T]
) -> tuple[dict[str, T], list[LeftOut]]:
    """Read something of each user; return it by name, and those whose data is damaged."""
    values: dict[str, T] = {}
    left_out: list[LeftOut] = []
    for name in names:
        user = client.user(name)
        try:
            values[name] = read(user)
        except DamagedData as error:
            left_out.append(LeftOut(user.scope, str(error)))
    return values, left_out


def exit_if_left_out(left_out: Iterable[object]) -> None:
    """Print one line for each user who was left out, and exit with 1 if there are any."""
    if lines := [visible(str(each)) for each in left_out]:
        print("\n".join(lines), file=sys.stderr)
        raise typer.Exit(1)
