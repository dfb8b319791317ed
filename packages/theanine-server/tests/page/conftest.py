"""The page in Debian's Chromium, on a service of this process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request
from server.conftest import running

import theanine
from support.browser import LIMIT, chromium
from theanine.demo import HARBOUR
from theanine.importers import read_histories
from theanine_server import ServerOptions

LINK = "the-secret-of-the-link"
DESKTOP, PHONE = (1400, 900), (390, 780)

OpenPage = Callable[..., Page]
"""Opens a hash of the page: ``open_page("timelines?user=ana", size=PHONE, scheme="dark")``."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def demo_store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with the bundled conversation, remembered; only for reading."""
    location = str(tmp_path_factory.mktemp("page") / "demo.db")
    with theanine.open(location) as client:
        ana = client.user("ana")
        ana.log(read_histories(HARBOUR).histories[0])
        ana.remember()
    return location


@pytest.fixture
def serve_page(browser: Browser) -> Generator[Callable[[str | Path], OpenPage]]:
    """Serve a store with its page; nothing may be logged to the console or asked of others."""
    with ExitStack() as opened:
        faults: list[str] = []

        def serve(location: str | Path, **settings: Any) -> OpenPage:
            options = ServerOptions(theanine.OpenOptions(str(location), **settings), link=LINK)
            service = opened.enter_context(running(options))
            contexts: list[BrowserContext] = []

            def note(message: ConsoleMessage) -> None:
                refused = "the server responded with a status of 422" in message.text
                if message.type in ("error", "warning") and not refused:  # the page says so
                    faults.append(message.text)

            def note_request(request: Request) -> None:
                if not request.url.startswith(service.url):
                    faults.append(request.url)

            def open_page(
                route: str = "",
                *,
                size: tuple[int, int] = DESKTOP,
                scheme: str = "light",
                language: str = "en-US",
            ) -> Page:
                state = contexts[0].storage_state() if contexts else None
                context = browser.new_context(
                    viewport={"width": size[0], "height": size[1]},
                    color_scheme=scheme,  # pyright: ignore[reportArgumentType]
                    reduced_motion="reduce",
                    locale=language,
                    storage_state=state,
                )
                opened.callback(context.close)
                context.set_default_timeout(LIMIT)
                page = context.new_page()
                page.on("console", note)
                page.on("pageerror", lambda error: faults.append(str(error)))
                page.on("request", note_request)
                mark = "&" if "?" in route else "?"
                page.goto(f"{service.url}/#/{route}{'' if contexts else f'{mark}link={LINK}'}")
                page.wait_for_selector("header.bar nav")
                contexts.append(context)
                return page

            return open_page

        yield serve
        assert faults == []
