"""The page in Debian's Firefox: what people see first, by pointer and keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from server.conftest import running

import theanine
from page.conftest import LINK, PHONE
from support.firefox import Firefox, firefox, needs_firefox
from theanine_server import ServerOptions

pytestmark = [pytest.mark.browser, needs_firefox]
TEXT = "return document.querySelector(arguments[0])?.innerText.includes(arguments[1])"
NO_LOADING = "return !document.querySelector('.loading')"
OWN = r"(?!\w*Error)[\w.-]+: "
"""The beginning of messages that a module of Firefox itself writes."""
DRAWN = "return performance.getEntriesByName('theanine-drawn').length > 0"


@pytest.fixture(scope="module")
def window() -> Iterator[tuple[Firefox, Path]]:
    with firefox() as started:
        yield started


@pytest.fixture(scope="module")
def page(window: tuple[Firefox, Path], demo_store: str) -> Iterator[Firefox]:
    """The page of the bundled conversation; nothing may be written to the console."""
    started, log = window
    with running(ServerOptions(theanine.OpenOptions(demo_store), link=LINK)) as service:
        started.open(f"{service.url}/#/?user=ana&link={LINK}")
        started.wait_for(TEXT, "main", "I moved to Ljubljana")
        yield started
        started.open("about:blank")
    written = log.read_text("utf-8", "replace")
    heard = re.findall(
        rf"^console\.(?:error|warn): (?!{OWN}).*|^JavaScript error: http.*", written, re.M
    )
    assert heard == []


def go(page: Firefox, route: str) -> None:
    page.run("location.hash = arguments[0]", f"#/{route}")
    page.wait_for("return location.hash === arguments[0]", f"#/{route}")


def test_home_leads_to_who_comes_up_and_to_where_it_was_said(page: Firefox) -> None:
    go(page, "home?user=ana")
    page.click("a[href*='entity=Lucija']")
    page.wait_for(TEXT, "main", "sister · last mentioned Feb 8, 2025")
    page.click(".mentions .memory-item")
    page.wait_for(TEXT, ".said.source", "Lucija will look after her")


def test_words_are_found_as_they_are_typed(page: Firefox) -> None:
    go(page, "home?user=ana")
    page.wait_for(TEXT, "main", "I moved to Ljubljana")
    page.type("body", "/")
    page.wait_for("return document.activeElement.type === 'search'")
    page.type("input[type=search]", "ships")
    page.wait_for(TEXT, ".count", "9 messages")
    assert page.run("return document.querySelector('.results mark').textContent") == "ships"


def test_timelines_are_drawn_and_read_as_text(page: Firefox) -> None:
    go(page, "timelines?user=ana")
    page.wait_for(DRAWN)
    page.wait_for(TEXT, ".summary", "73 memories")
    go(page, "timelines?user=ana&as=matter&topic=5")
    page.wait_for(TEXT, "main", "Latest that holds")
    assert page.run("return document.querySelectorAll('.story .memory-item').length") == 12


@pytest.mark.parametrize("route", ["home", "conversations?session=6", "timelines", "talk"])
def test_it_fits_a_phone(page: Firefox, route: str) -> None:
    page.resize(*PHONE)
    go(page, route)
    page.wait_for(NO_LOADING)
    width = page.run("return innerWidth")  # Firefox has a least width
    assert page.run("return document.documentElement.scrollWidth") <= width
