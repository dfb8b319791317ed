"""The frame of the page: signing in, whose memory, views, settings, and what fails."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from server.conftest import running

import theanine
from page.conftest import PHONE, OpenPage
from support.browser import needs_browser
from theanine_server import ServerOptions

pytestmark = [pytest.mark.browser, needs_browser]
Serve = Callable[[str | Path], OpenPage]


def test_the_link_signs_in_and_leaves_no_trace_in_the_address(
    serve_page: Serve, demo_store: str
) -> None:
    page = serve_page(demo_store)("?user=ana")
    expect(page.get_by_role("heading", name="Ana", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("/#/[?]user=ana$"))
    assert page.evaluate("document.cookie") == ""
    expect(page).to_have_title("Home – ana – theanine")


def test_a_browser_without_the_link_sees_how_to_get_one(browser: Browser, demo_store: str) -> None:
    options = ServerOptions(theanine.OpenOptions(demo_store), link="secret")
    with running(options) as service, browser.new_context() as context:
        page = context.new_page()
        page.goto(service.url)
        expect(page.get_by_role("alert")).to_contain_text("Open the link")
        page.goto(f"{service.url}/#/?link=wrong")
        page.reload()
        expect(page.get_by_role("alert")).to_contain_text("used before")


def test_a_key_signs_in_to_what_it_opens(browser: Browser, demo_store: str) -> None:
    options = ServerOptions(theanine.OpenOptions(demo_store))
    with running(options) as service, browser.new_context(locale="en-US") as context:
        page = context.new_page()
        page.goto(service.url)
        page.get_by_label("Key").fill("theanine_0_0")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("unknown, expired or revoked")
        with ThreadPoolExecutor() as other:  # where no event loop runs
            key = other.submit(service.key, user="ana", rights=["read"]).result()
        page.get_by_label("Key").fill(key)
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("header .who")).to_have_text("ana")
        page.get_by_role("button", name="Settings").click()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Key")).to_be_visible()


def test_languages_and_colors_are_chosen_and_kept(serve_page: Serve, demo_store: str) -> None:
    page = serve_page(demo_store)(language="de-DE")
    expect(page.get_by_role("link", name="Verläufe")).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "de"
    page.get_by_role("button", name="Einstellungen").click()
    page.get_by_label("Sprache").select_option("en")
    page.get_by_label("Colors").select_option("dark")
    page.keyboard.press("Escape")
    page.reload()
    expect(page.get_by_role("link", name="Timelines")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 26)"


def test_users_are_chosen_and_the_back_button_returns(serve_page: Serve, tmp_path: Path) -> None:
    location = str(tmp_path / "memory.db")
    with theanine.open(location) as client:
        for name in ("ana", "bo"):
            client.user(name).add(f"I live in {name}town.")
            client.user(name).remember()
    page = serve_page(location)("timelines?as=list", size=PHONE)
    expect(page.get_by_text("anatown").first).to_be_visible()
    page.get_by_label("Whose memory").select_option(label="bo")
    expect(page.get_by_text("botown").first).to_be_visible()
    page.go_back()
    expect(page.get_by_text("anatown").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE[0]


def test_an_empty_store_says_what_to_do(serve_page: Serve, tmp_path: Path) -> None:
    page = serve_page(tmp_path / "memory.db")()
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()
    expect(page.get_by_role("link", name="Import your conversations")).to_be_visible()
    page.get_by_role("link", name="Try it with an invented conversation").click()
    page.get_by_role("button", name="Import for ana").click()
    expect(page.get_by_text("new messages in 10 conversations")).to_be_visible()


def test_a_service_that_is_gone_is_said_plainly(browser: Browser, demo_store: str) -> None:
    options = replace(ServerOptions(theanine.OpenOptions(demo_store)), dev=True)
    with browser.new_context(locale="en-US") as context:
        page = context.new_page()
        # The page holds a stream of changes open, which only the process of a service ends.
        with running(options, timeout_graceful_shutdown=1) as service:
            page.goto(service.url)
            expect(page.get_by_role("searchbox")).to_be_visible()
        page.get_by_role("searchbox").fill("ships")
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("theanine can’t be reached")
        expect(alert.get_by_role("button", name="Try again")).to_be_visible()
