"""``theanine chat``: a conversation in the terminal that the next run remembers."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import suppress
from threading import RLock, Timer
from typing import Annotated

import typer

from theanine import LiveSession, UserMemory
from theanine.cli.options import (
    ChatOptions,
    UserOption,
    expand_options,
    notify_if_local,
)
from theanine.cli.rendering import console, pluralize, show_recollection
from theanine.cli.selection import SelectionOptions
from theanine.client.options import RecallArguments
from theanine.errors import ModelError, RememberingFailed
from theanine.importers.source import STANDARD_INPUT, decode

PAUSE_MINUTES = 30.0


@expand_options
def chat(
    user: UserOption,
    options: ChatOptions,
    selection: SelectionOptions,
    pause: Annotated[
        float, typer.Option(min=0.01, metavar="MINUTES", help="Silence that ends a session.")
    ] = PAUSE_MINUTES,
    why: Annotated[
        bool, typer.Option("--why", help="Show what was recalled, with sources.")
    ] = False,
) -> None:
    """Chat in the terminal; the next run remembers it.

    A session ends on exit (Ctrl-D or /exit) or after a pause; then it is remembered.

    \b
    theanine chat --user ana --why
    theanine chat --user ana --model openai:gpt-4o-mini
    theanine chat --user ana --model llama3.2 --base-url http://localhost:11434/v1
    """
    with options.open(create=True) as client:
        notify_if_local(options.model, options.base_url)
        memory = client.user(user)
        memory.remember()
        chat = _Chat(memory, pause * 60, why, selection.arguments())
        try:
            for line in _read_lines(user):
                chat.hear(line)
        finally:
            chat.close()
    if chat.failed:
        raise typer.Exit(1)


class _Chat:
    """Chat whose session a timer ends after a silence, also while input is awaited."""

    def __init__(
        self, memory: UserMemory, pause: float, why: bool, arguments: RecallArguments
    ) -> None:
        self._memory, self._pause, self._why = memory, pause, why
        self._arguments = arguments
        self._session: LiveSession | None = None
        self._timer: Timer | None = None
        self._lock = RLock()
        self.failed = False

    def hear(self, line: str) -> None:
        """Log a line and reply to it."""
        with self._lock:
            self._stop_timer()
            if self._session is None:
                self._session = self._memory.session()
            self._session.hear(line)
            self._reply(self._session)
            self._timer = Timer(self._pause, self._end)
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        """End and remember the current session, if there is one."""
        self._stop_timer()
        self._end()

    def _reply(self, session: LiveSession) -> None:
        reply = self._print_pieces if sys.stdout.isatty() else self._print_whole
        try:
            reply(session)
        except ModelError as error:
            self.failed = True
            reason = str(error).rstrip(".")
            console().print(f"(No reply: {reason}. Your message is saved.)", markup=False)

    def _print_whole(self, session: LiveSession) -> None:
        reply = session.reply(**self._arguments)
        if self._why:
            show_recollection(reply.recollection)
        console().print(reply.text, markup=False, style="bold")

    def _print_pieces(self, session: LiveSession) -> None:
        """Print a reply as it arrives, if the model streams it, and then what was recalled."""
        begun = False
        with session.reply(stream=True, **self._arguments) as stream:
            try:
                for piece in stream:
                    console().print(piece, markup=False, style="bold", end="", soft_wrap=True)
                    begun = True
            finally:
                if begun:
                    console().print()
        if self._why and stream.reply is not None:
            show_recollection(stream.reply.recollection)

    def _end(self) -> None:
        with self._lock:
            session, self._session = self._session, None
            if session is None:
                return
            try:
                for report in session.end():
                    memories = pluralize(report.memories, "memories")
                    links = pluralize(report.links, "links")
                    console().print(f"(Session {report.session} remembered: {memories}, {links}.)")
            except RememberingFailed as error:
                self.failed = True
                console().print(f"({error})", markup=False)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _read_lines(user: str) -> Iterator[str]:
    with suppress(ImportError):  # Windows has line editing of its own
        importlib.import_module("readline")  # gives input() line editing and history
    while True:
        try:
            line = input(f"{user}> ").strip()
        except (EOFError, KeyboardInterrupt):
            print()
            return
        # A byte that isn't UTF-8 was read as half of a character.
        line = decode(line.encode("utf-8", "surrogateescape"), STANDARD_INPUT)
        if line in ("/exit", "/quit"):
            return
        if line:
            yield line
