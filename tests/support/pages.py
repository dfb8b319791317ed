"""Helpers for tests of the report pages."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from support.browser import chromium

EVIL = "</script><script>alert(1)</script><!-- & 'quotes' \"here\" @@SCRIPTS@@"


def page_data(page: str) -> Any:
    found = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


@contextmanager
def opened(file: Path, scheme: str, width: int = 1200) -> Generator[Page]:
    """Open the page in a browser; it must log nothing, request nothing and fit the width."""
    with chromium() as browser:
        dark = scheme == "dark"
        size = {"width": width, "height": 900}
        page = browser.new_page(color_scheme="dark" if dark else "light", viewport=size)  # pyright: ignore[reportArgumentType]
        heard: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (int(re.findall(r"\d+", paper)[0]) < 128) == dark
        yield page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert heard == []
        assert asked == [file.as_uri()]
