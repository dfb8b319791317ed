"""Options that say whose memory a program that runs beside a client uses, and where it is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from typing import Annotated, cast

import typer

import theanine
from theanine.cli.options import HostedOptions, MaybeUser, StoreOption, make_default_folder
from theanine.client import AsyncClient, Client
from theanine.store import store_file

KEY_VARIABLE = "THEANINE_KEY"


@dataclass(frozen=True, kw_only=True)
class PlaceOptions:
    """Options that say whose memory it is, in a store or at a service."""

    store: StoreOption = ""
    user: MaybeUser = None
    agent: Annotated[
        str, typer.Option(envvar="THEANINE_AGENT", metavar="NAME", help="Agent whose memory it is.")
    ] = "default"
    url: Annotated[
        str,
        typer.Option(
            envvar="THEANINE_URL",
            metavar="URL",
            help="Service that has the memory, in place of a store; its key is in THEANINE_KEY.",
        ),
    ] = ""

    @property
    def user_name(self) -> str:
        """The user; by default, whoever is logged in."""
        return self.user or getuser()

    def arguments(self) -> list[str]:
        """Return the options on a command line, for a program that runs in any folder."""
        arguments = ["--user", self.user_name]
        if self.agent != "default":
            arguments += ["--agent", self.agent]
        if self.url:
            return [*arguments, "--url", self.url]
        if self.store:
            file = store_file(self.store)
            place = self.store if file is None else str(Path(file).expanduser().resolve())
            arguments += ["--store", place]
        return arguments


@dataclass(frozen=True, kw_only=True)
class MemoryOptions(HostedOptions, PlaceOptions):
    """Options of a command that uses the memory of one user."""

    def open(self, *, create: bool = True) -> Client:
        """Open the store or the service. Raises NotFound for no store, unless it is created."""
        if self.url:
            return theanine.connect(self.url, key=os.environ.get(KEY_VARIABLE, ""))
        return super().open(create=create)

    def client(self) -> AsyncClient:
        """Return the client of the store or the service, to be entered."""
        if self.url:
            remote = theanine.aconnect(self.url, key=os.environ.get(KEY_VARIABLE, ""))
            return cast("AsyncClient", remote)  # it has the same face
        options = self.open_options()
        make_default_folder(str(options.location))
        return AsyncClient(options)
