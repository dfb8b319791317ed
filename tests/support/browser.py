"""A real Chromium for tests of pages; without one, these tests are skipped."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
needs_browser = pytest.mark.skipif(
    not CHROMIUM.exists(), reason=f"there is no Chromium at {CHROMIUM}"
)
LIMIT = 60_000
"""Milliseconds that an act or an expectation may take: a machine of a CI can be busy."""
expect.set_options(timeout=LIMIT)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def chromium() -> Generator[Browser]:
    """Yield a headless Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()
