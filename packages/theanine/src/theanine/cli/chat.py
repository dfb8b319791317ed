"""`theanine chat`: a conversation in the terminal that the next run remembers."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import suppress
from threading import RLock, Timer
from typing import TYPE_CHECKING, Annotated

import typer

from theanine.cli.options import (
    BaseUrlOption,
    EmbedderOption,
    MethodOption,
    ModelOption,
    RerankedOption,
    RerankerOption,
    SettingsOption,
    StoreOption,
    UserOption,
    notify_if_local,
    open_client,
    undated,
)
from theanine.cli.rendering import console, pluralize, show_recollection

if TYPE_CHECKING:
    from theanine.client.sync import Client, LiveSession

PAUSE = 30.0


def chat(
    user: UserOption,
    store: StoreOption = "",
    model: ModelOption = "local",
    base_url: BaseUrlOption = None,
    embedder: EmbedderOption = "local",
    reranker: RerankerOption = None,
    reranked: RerankedOption = None,
    method: MethodOption = None,
    settings: SettingsOption = None,
    pause: Annotated[
        float,
        typer.Option(min=0.01, metavar="MINUTES", help="A silence that ends the session."),
    ] = PAUSE,
    why: Annotated[
        bool, typer.Option("--why", help="Show what was recalled, and from which turns.")
    ] = False,
) -> None:
    """Talk in the terminal; the next run remembers.

    A session ends on exit (Ctrl-D or /exit) or after a pause, and is then remembered.

    \b
    theanine chat --user ana --why
    theanine chat --user ana --model openai:gpt-4o-mini
    theanine chat --user ana --model llama3.2 --base-url http://localhost:11434/v1
    """
    with open_client(
        store,
        model,
        base_url,
        embedder,
        method,
        settings,
        begins=True,
        reranker=reranker,
        reranked=reranked,
    ) as agent:
        notify_if_local(model, base_url)
        agent.remember(user)
        chatting = _Chat(agent, user, pause * 60, why)
        try:
            for line in _lines(user):
                chatting.hear(line)
        finally:
            chatting.close()
    if chatting.failed:
        raise typer.Exit(1)


class _Chat:
    """The session under way; a timer ends it after a silence, also while input is awaited."""

    def __init__(self, agent: Client, user: str, pause: float, why: bool) -> None:
        self._agent, self._user, self._pause, self._why = agent, user, pause, why
        self._talk: LiveSession | None = None
        self._timer: Timer | None = None
        self._lock = RLock()
        self.failed = False

    def hear(self, line: str) -> None:
        """Log a line and answer it."""
        with self._lock:
            self._stop_timer()
            if self._talk is None:
                self._talk = self._agent.session(user=self._user)
            self._talk.hear(line)
            self._reply(self._talk)
            self._timer = Timer(self._pause, self._end)
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        """End the session, if one is under way, and remember it."""
        self._stop_timer()
        self._end()

    def _reply(self, talk: LiveSession) -> None:
        from theanine.errors import ModelError

        try:
            reply = talk.reply()
        except ModelError as error:
            self.failed = True
            said = str(error).rstrip(".")
            console().print(f"(No reply: {said}. What you said is kept.)", markup=False)
            return
        if self._why:
            show_recollection(reply.recollection, undated(self._agent, self._user))
        console().print(reply.text, markup=False, style="bold")

    def _end(self) -> None:
        from theanine.errors import RememberingFailed

        with self._lock:
            talk, self._talk = self._talk, None
            if talk is None:
                return
            try:
                for report in talk.end():
                    made = pluralize(report.memories, "memories")
                    console().print(
                        f"(Session {report.session} is remembered: {made}, "
                        f"{pluralize(report.links, 'links')}.)"
                    )
            except RememberingFailed as error:
                self.failed = True
                console().print(f"({error})", markup=False)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _lines(user: str) -> Iterator[str]:
    with suppress(ImportError):  # Windows edits lines by itself
        importlib.import_module("readline")  # gives input() its line editing and history
    while True:
        try:
            line = input(f"{user}> ").strip()
        except (EOFError, KeyboardInterrupt):
            print()
            return
        if line in ("/exit", "/quit"):
            return
        if line:
            yield line
